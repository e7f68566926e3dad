"""What the proxy has counted, as lines of `quotas explain` and `quotas top`."""

from datetime import UTC, datetime

from pyspark.sql import Row

from pipelines.commands.quotas.lines import show_use
from pipelines.commands.quotas.tops import MOST_LINES, describe_top

COUNTED = datetime(2026, 3, 1, 10, 36, tzinfo=UTC)
ROW = {
    "quota_key": "producer_byte_rate",
    "quota_id": "alice:",
    "principal": "User:alice",
    "client_id": "c1",
    "clients": 3,
    "limit": 1_000.0,
    "entity_path": "users/alice",
    "used_rate": 998.04,
    "use": 0.99804,
    "throttled_ms": 41.0,
    "basis": "proxy",
}


def test_a_client_is_told_what_is_used_with_it():
    assert show_use(ROW) == (
        "the proxy counts 998.0 bytes/s, 99.8% of what one broker allows; told to wait "
        "41 ms"
    )
    assert show_use({**ROW, "use": None}) == (
        "the proxy counts 998.0 bytes/s; told to wait 41 ms"
    )
    assert show_use({**ROW, "used_rate": None}) is None
    assert show_use({}) is None


def test_top_is_a_line_a_limit_and_says_what_is_left_out():
    alone = Row(**{**ROW, "limit": None, "use": None, "clients": 1, "quota_id": None})
    head, shared, single, counted = describe_top([Row(**ROW), alone], COUNTED)
    assert head.split() == [
        *("USE", "PRINCIPAL", "CLIENT-ID", "KEY", "LIMIT", "USED", "THROTTLED", "BY"),
        "MEASURED",
    ]
    assert counted == "The proxy last counted until 2026-03-01T10:36:00Z"
    assert " ".join(shared.split()) == (
        "99.8% User:alice c1 and 2 more producer_byte_rate 1000.0 998.0 41 ms "
        "users/alice proxy"
    )
    assert single.startswith("-  ")
    assert "unlimited" in single
    lines = list(describe_top([Row(**ROW)] * (MOST_LINES + 2), None))
    assert lines[-2:] == [
        "and 2 more",
        "The proxy has not counted any traffic in this cluster",
    ]
    first, _ = describe_top([], COUNTED)
    assert first == "No client is known to use any quota now"
