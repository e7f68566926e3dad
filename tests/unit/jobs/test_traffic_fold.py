"""Records of client traffic become one row per client, broker and window, once."""

import itertools
from datetime import UTC, datetime

from pipelines.jobs.traffic.fold import RECORD_COLUMNS, fold

TIME = datetime(2026, 1, 1, tzinfo=UTC)
BLANK = dict.fromkeys(RECORD_COLUMNS, 0) | {
    "cluster_id": "c",
    "principal": "User:a",
    "client_id": "app",
    "broker_id": 1,
    "window_start": TIME,
    "received_at": TIME,
    "client_software_name": "x",
    "client_software_version": "1",
    "topic": "traffic",
    "api_versions": (),
}


def record(offset, **fields):
    return BLANK | {"offset": offset, "push_id": f"push-{offset}"} | fields


def versions(*pairs):
    return [{"api_key": key, "api_version": version} for key, version in pairs]


def test_fold_in_any_order_and_any_batches_leaves_the_same_row():
    records = [
        record(0, produced_bytes=5, window_ms=3, api_versions=versions((3, 1), (0, 9))),
        record(1, produced_bytes=20, throttle_ms_max=7, client_software_name="y"),
        record(2, produced_bytes=1, api_versions=versions((0, 9), (0, 8))),
    ]
    rows = []
    for order in itertools.permutations(records):
        for cut in range(4):
            new, changed = fold(order[:cut], ())
            assert not changed
            more, changed = fold(order[cut:], new)
            rows += changed or more or new
    assert all(row == rows[0] for row in rows)
    assert rows[0]["produced_bytes"] == 26
    assert (rows[0]["window_ms"], rows[0]["throttle_ms_max"]) == (3, 7)
    assert rows[0]["offset"] == 2
    assert rows[0]["push_ids"] == ["push-0", "push-1", "push-2"]
    assert rows[0]["api_versions"] == versions((0, 8), (0, 9), (3, 1))


def test_fold_of_a_record_that_is_known_changes_nothing():
    new, _ = fold([record(0), record(4, push_id="push-0"), record(1, broker_id=2)], ())
    assert len(new) == 2
    assert fold([record(0), record(1, broker_id=2)], new) == ([], [])
    more, changed = fold([record(5), record(6, broker_id=3)], new)
    assert [row["broker_id"] for row in more] == [3]
    assert [row["push_ids"] for row in changed] == [["push-0", "push-5"]]


def test_fold_of_sums_above_the_type_is_the_maximum():
    huge = {"connections": 2**31 - 1, "produced_bytes": 2**63 - 1}
    (row,), _ = fold([record(0, **huge), record(1, **huge)], ())
    assert (row["connections"], row["produced_bytes"]) == (2**31 - 1, 2**63 - 1)
