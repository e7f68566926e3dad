"""Mutants that know protobuf's structure are read as protobuf reads them.

`python tests/fuzz/decode.py` feeds many more.
"""

from tests.fuzz.otlp_decoding import FuzzedDecoder
from tests.fuzz.otlp_seeds import seed_payloads
from tests.fuzz.otlp_trees import read_tree, write_tree
from tests.unit.udfs.otlp.comparison import expected_rows
from tests.unit.udfs.otlp.random_pushes import KINDS, seeded


def test_mutated_pushes_equal_protobuf_and_leave_their_neighbours_alone():
    decoder = FuzzedDecoder(0)
    decoder.run(60_000)
    assert decoder.statuses.total() == 60_000
    assert min(decoder.statuses.values()) > 300
    assert set(decoder.statuses) == {
        *("ok", "malformed_otlp", "truncated_otlp", "invalid_utf8"),
    }


def test_seeds_have_every_kind_and_are_written_as_they_were_read():
    payloads = seed_payloads(seeded(0))
    assert [write_tree(read_tree(payload)) for payload in payloads] == payloads
    kinds = {row["kind"] for payload in payloads for row in expected_rows(payload)}
    assert kinds == set(KINDS)
