"""Texts as numbers, and back."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from udfs.text_codes import CodedTexts, code_texts, combine_codes, texts_at

texts = st.one_of(st.none(), st.sampled_from(["", "a", "b"]), st.text(max_size=2))


@given(st.lists(st.tuples(texts, texts, texts), max_size=20))
def test_combinations_lead_back_to_the_texts_of_each_row(rows):
    columns = [
        code_texts(pa.array([r[at] for r in rows], pa.string())) for at in (0, 1, 2)
    ]
    first, places = combine_codes(columns)
    different = list(texts_at(first, columns))
    assert len(set(different)) == len(different)
    assert [different[place] for place in places.tolist()] == [
        tuple(text or "" for text in row) for row in rows
    ]


def test_combinations_are_right_where_their_numbers_would_not_fit():
    many = pa.array([str(number) for number in range(3)])
    codes = np.array([0, 1, 2, 0], np.int64)
    columns = [CodedTexts(codes, many) for _ in range(45)]
    first, places = combine_codes(columns)
    assert first.tolist() == [0, 1, 2]
    assert places.tolist() == [0, 1, 2, 0]


def test_a_dictionary_column_is_taken_as_it_is():
    coded = code_texts(pa.array(["a", "b", None, "a"]).dictionary_encode())
    assert coded.texts.to_pylist()[coded.codes[2]] == ""
    assert coded.codes[0] == coded.codes[3]
    assert code_texts(coded) is coded
