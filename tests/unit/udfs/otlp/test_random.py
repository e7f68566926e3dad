"""Random pushes, whole, in pieces and damaged, are read as protobuf reads them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.udfs.otlp.comparison import decode, differences, rows_of
from tests.unit.udfs.otlp.message_pieces import shuffled
from tests.unit.udfs.otlp.random_pushes import (
    captured_payloads,
    mutant,
    random_push,
    seeded,
)
from udfs.otlp.exact import plain_bytes

SEEDS = st.integers(0, 2**32)
few = settings(max_examples=12, deadline=None, derandomize=True, database=None)


@few
@given(SEEDS)
def test_random_pushes_and_their_mutants_equal_protobuf(seed):
    rng = seeded(seed)
    pushes = [random_push(rng) for _ in range(30)]
    mutants = [mutant(rng, rng.choice(pushes), pushes) for _ in range(120)]
    assert differences(pushes + mutants) == []


@few
@given(SEEDS)
def test_messages_in_pieces_and_out_of_order_equal_protobuf(seed):
    rng = seeded(seed)
    pushes = [random_push(rng) for _ in range(30)]
    pieces = [shuffled(rng, push) for push in pushes]
    mutants = [mutant(rng, piece, pushes) for piece in pieces]
    assert differences(pieces + mutants) == []


@settings(few, max_examples=4)
@given(SEEDS)
def test_mutants_of_captures_equal_protobuf(seed):
    rng = seeded(seed)
    payloads = rng.sample(captured_payloads(), 4)
    mutants = [mutant(rng, payload, payloads) for payload in payloads * 3]
    assert differences(mutants) == []


@few
@given(st.lists(st.binary(max_size=40), max_size=40))
def test_any_bytes_equal_protobuf(payloads):
    assert differences(payloads) == []


def test_the_plain_form_of_a_push_has_the_same_points():
    rng = seeded(3)
    pushes = [random_push(rng) for _ in range(50)]
    plain = [plain_bytes(shuffled(rng, push)) for push in pushes]
    kept = [(push, form) for push, form in zip(pushes, plain, strict=True) if form]
    assert differences([form for _, form in kept]) == []
    same = decode(pushes)
    again = decode([plain_bytes(push) for push in pushes])
    assert [rows_of(same, i) for i in range(50)] == [
        rows_of(again, i) for i in range(50)
    ]
