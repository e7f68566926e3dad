"""Texts of a column as numbers, so that each different combination is looked at once.

Strategy: Arrow's dictionary encoding gives each different text a number; the numbers of
several columns make one number a row, and the different ones of those are hashed again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_MAX_CODES = 2**62


@dataclass(frozen=True, slots=True)
class CodedTexts:
    """A column of texts."""

    codes: Codes
    """For each row the index of its text."""
    texts: pa.StringArray
    """Different texts; at least one."""

    def take(self, rows: Codes) -> "CodedTexts":
        """Return the same for some rows."""
        return CodedTexts(self.codes[rows], self.texts)


def code_texts(texts: pa.StringArray | pa.DictionaryArray | CodedTexts) -> CodedTexts:
    """Number the texts of a column.

    Args:
        texts: string, dictionary-encoded or not, or numbered before.
    Returns: The column in numbers.
    Shape: n rows in, n rows out, same order.
    Nulls: A null is the empty text.
    """
    if isinstance(texts, CodedTexts):
        return texts
    if not isinstance(texts, pa.DictionaryArray):
        texts = pc.fill_null(texts, "").dictionary_encode()
    elif texts.null_count or texts.dictionary.null_count:
        texts = pc.fill_null(texts.cast(pa.string()), "").dictionary_encode()
    codes = texts.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    different = texts.dictionary.cast(pa.string())
    return CodedTexts(codes, different if len(different) else pa.array([""]))


def combine_codes(columns: Sequence[CodedTexts]) -> tuple[Codes, Codes]:
    """Number the combinations of several columns.

    Args:
        columns: At least one; all of one length.
    Returns: For each different combination a row that has it; for each row the number
        of its combination.
    Shape: Combinations stand in the order in which they first appear.
    """
    codes, room = columns[0].codes, len(columns[0].texts)
    for one in columns[1:]:
        if room * len(one.texts) > _MAX_CODES:
            codes, room = _hash_codes(codes), len(codes)
        codes, room = codes * len(one.texts) + one.codes, room * len(one.texts)
    places = _hash_codes(codes)
    rows = np.arange(len(places))
    first = np.zeros(places.max(initial=-1) + 1, np.int64)
    first[places[::-1]] = rows[::-1]
    return first, places


def texts_at(rows: Codes, columns: Sequence[CodedTexts]) -> Iterator[tuple[str, ...]]:
    """Say what the columns have in some rows.

    Args:
        rows: Indices.
        columns: As combine_codes takes them.
    Returns: The texts of the columns, row by row.
    """
    parts = [one.texts.take(pa.array(one.codes[rows])).to_pylist() for one in columns]
    return zip(*parts, strict=True)


def _hash_codes(codes: Codes) -> Codes:
    """Return the same with numbers from 0 on, in the order in which they appear."""
    indices = pa.array(codes).dictionary_encode().indices
    return np.asarray(indices.to_numpy(zero_copy_only=False), np.int64)
