import pytest

from pipelines.bridge.proxy.rules.telemetry_gate import PublisherSigns, TelemetryGate


def signs(waits=None, acknowledged=None, refused=None, *, holds=False):
    return PublisherSigns(
        waits_since_s=waits,
        acknowledged_s=acknowledged,
        refused_s=refused,
        holds_records=holds or waits is not None,
    )


@pytest.mark.parametrize(
    ("seen", "tried"),
    [
        (signs(), 10 * [True]),
        (signs(waits=99.95), [True] + 9 * [False]),
        (signs(waits=99.8), 10 * [False]),
        (signs(waits=99.8, acknowledged=99.95), [True] + 9 * [False]),
        (signs(acknowledged=50, refused=40), 10 * [True]),
        (signs(acknowledged=40, refused=50), [True] + 9 * [False]),
        (signs(refused=50), [True] + 9 * [False]),
        (signs(refused=50, holds=True), 10 * [False]),
        (signs(acknowledged=50, refused=40, holds=True), 10 * [True]),
    ],
)
def test_while_kafka_is_silent_a_push_is_tried_only_where_nothing_else_would_tell(
    seen, tried
):
    gate = TelemetryGate(lambda: seen, answer_s=0.1)
    assert [gate.is_open(100.0 + tenth / 10) for tenth in range(10)] == tried
    if seen.refused_s == 50 and not seen.holds_records:
        assert gate.is_open(101.0)


def test_everything_is_tried_again_once_kafka_answers():
    seen = [signs(refused=50)]
    gate = TelemetryGate(lambda: seen[0], answer_s=0.1)
    assert gate.is_open(100.0)
    assert not gate.is_open(100.1)
    seen[0] = signs(acknowledged=100.15, refused=50)
    assert gate.is_open(100.2)
    assert gate.is_open(100.3)
