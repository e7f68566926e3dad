"""The entry that counts of each client and key, whatever the batches."""

import itertools
from datetime import UTC, datetime, timedelta

from pipelines.jobs.wire_configs.fold import ENTRY_COLUMNS, fold

TIME = datetime(2026, 1, 1, tzinfo=UTC)


def entry(second, value, key="acks", **fields):
    blank = dict.fromkeys(ENTRY_COLUMNS)
    at = TIME + timedelta(seconds=second)
    known = {"wire_client": "w", "config_key": key, "config_value": value}
    known |= {"is_exact": True, "received_at": at, "push_id": f"p{second}"}
    return blank | known | fields


def test_fold_in_any_order_and_any_batches_keeps_the_newest_exact_value():
    entries = [
        entry(0, "1"),
        entry(2, "all"),
        entry(3, "0", is_exact=False),
        entry(1, "zstd", "compression.type"),
        entry(4, "none", "compression.type", is_exact=False),
        entry(5, "9", wire_client="other"),
    ]
    for order in itertools.permutations(entries):
        new, _ = fold(order[:3], ())
        more, changed = fold(order[3:], new)
        rows = {(row["wire_client"], row["config_key"]): row for row in new}
        rows |= {(row["wire_client"], row["config_key"]): row for row in more + changed}
        assert {key: row["config_value"] for key, row in rows.items()} == {
            ("w", "acks"): "all",
            ("w", "compression.type"): "zstd",
            ("other", "acks"): "9",
        }


def test_fold_of_an_older_or_the_same_entry_changes_nothing():
    new, _ = fold([entry(1, "1")], ())
    assert fold([entry(1, "1"), entry(0, "2")], new) == ([], [])
    assert fold([entry(2, "2")], new) == ([], [entry(2, "2")])
