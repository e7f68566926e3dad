import pytest

from pipelines.bridge.proxy.telemetry_gate import PublisherSigns, TelemetryGate


def signs(waits=None, acknowledged=None, refused=None):
    return PublisherSigns(
        waits_since_s=waits, acknowledged_s=acknowledged, refused_s=refused
    )


@pytest.mark.parametrize(
    ("seen", "is_silent"),
    [
        (signs(), False),
        (signs(waits=99.95), False),
        (signs(waits=99.8), True),
        (signs(waits=99.8, acknowledged=99.95), False),
        (signs(acknowledged=50, refused=40), False),
        (signs(acknowledged=40, refused=50), True),
        (signs(refused=50), True),
    ],
)
def test_a_push_is_tried_once_a_second_while_kafka_is_silent(seen, is_silent):
    gate = TelemetryGate(lambda: seen, answer_s=0.1)
    tried = [gate.is_open(100.0 + tenth / 10) for tenth in range(10)]
    still_fresh = seen.waits_since_s == 99.95 or seen.acknowledged_s == 99.95
    if is_silent:
        assert tried == [True] + 9 * [False]
        assert gate.is_open(101.0)
    elif not still_fresh:
        assert all(tried)


def test_everything_is_tried_again_once_kafka_answers():
    seen = [signs(refused=50)]
    gate = TelemetryGate(lambda: seen[0], answer_s=0.1)
    assert gate.is_open(100.0)
    assert not gate.is_open(100.1)
    seen[0] = signs(acknowledged=100.15, refused=50)
    assert gate.is_open(100.2)
    assert gate.is_open(100.3)
