import pytest

from pipelines.bridge.publishing.health import (
    PROOF_LASTS_S,
    REFUSAL_LASTS_S,
    KafkaSigns,
    why_not_ready,
)

NOW = 500.0


@pytest.mark.parametrize(
    ("signs", "reason"),
    [
        ({}, "not answered yet"),
        ({"refused_s": NOW}, "not answered yet"),
        ({"answered_s": NOW - PROOF_LASTS_S}, None),
        ({"answered_s": NOW - PROOF_LASTS_S - 1}, "not answered for 11 s"),
        ({"acknowledged_s": NOW - PROOF_LASTS_S}, None),
        ({"acknowledged_s": NOW - PROOF_LASTS_S - 2, "answered_s": NOW}, None),
        ({"answered_s": NOW, "refused_s": NOW - 1}, "newest pushes"),
        ({"answered_s": NOW, "refused_s": NOW - REFUSAL_LASTS_S - 0.1}, None),
        ({"answered_s": NOW, "refused_s": NOW - 2, "acknowledged_s": NOW - 3}, "newest"),
        ({"answered_s": NOW, "refused_s": NOW - 2, "acknowledged_s": NOW - 2}, None),
    ],
)  # fmt: skip
def test_bridge_is_ready_while_kafka_answers_and_takes_pushes(signs, reason):
    said = why_not_ready(KafkaSigns(**signs), NOW)
    assert said is None if reason is None else reason in said
