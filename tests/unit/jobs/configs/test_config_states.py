"""Rules of the folds, case by case, on tables in memory."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from tests.support.jobs.memory_tables import MemoryJob
from tests.support.spark.config_records import START_MS, entry, make_record

DAY_MS = 86_400_000
FIRST, SECOND, THIRD = (f"AAAAAAAAAAAAAAAAAAAAA{end}" for end in "Agw")


def push(offset, second, *entries, instance=FIRST, **changes):
    return make_record(
        offset,
        *entries,
        client_instance_id=instance,
        received_at_ms=str(START_MS + second * 1000),
        push_id=changes.pop("push_id", f"push-{offset}"),
        **changes,
    )


def find_statuses(job, key):
    return {
        row["client_instance_id"]: row["configs"][key]["status"]
        for row in job.read(CLIENT_CONFIGS)
    }


def find_spans(job):
    return [
        (row["config_key"], row["config_value"], row["is_current"])
        for row in job.read(CLIENT_CONFIG_HISTORY)
    ]


def test_default_reported_later_changes_rows_of_other_instances():
    job = MemoryJob()
    job.write(push(0, 0, entry("acks", "1"), entry("linger.ms", "5", "LONG")))
    assert find_statuses(job, "acks") == {FIRST: "overridden"}
    job.write(push(1, 1, entry("acks", "1", is_default=True), instance=SECOND))
    assert find_statuses(job, "acks") == {FIRST: "set_to_default", SECOND: "default"}
    older = entry("acks", "all", is_default=True)
    job.write(push(2, -1, older, instance=THIRD))
    assert find_statuses(job, "acks")[FIRST] == "overridden"
    (row,) = job.read(CONFIG_DEFAULTS)
    assert (row["default_value"], row["evidence_count"]) == ("all", 2)
    assert row["conflicting_values"] == ["1"]


def test_default_of_another_client_type_changes_nothing():
    job = MemoryJob()
    job.write(push(0, 0, entry("client.id", "a")))
    shared = entry("client.id", "a", is_default=True)
    job.write(push(1, 1, shared, entry("acks", "1"), instance=SECOND))
    assert find_statuses(job, "client.id")[FIRST] == "overridden"
    job.write(push(2, 2, shared, instance=THIRD))
    assert find_statuses(job, "client.id")[FIRST] == "set_to_default"


def test_known_default_may_be_stored_without_its_value():
    job = MemoryJob(has_references=True)
    same = entry("acks", "all", is_default=True)
    job.write(push(0, 0, same), push(1, 1, same, instance=SECOND))
    held = [row["configs"]["acks"] for row in job.read(CLIENT_CONFIGS)]
    assert [one["config_value"] for one in held] == [None, None]
    job.write(push(2, -1, entry("acks", "1", is_default=True), instance=THIRD))
    held = [row["configs"]["acks"] for row in job.read(CLIENT_CONFIGS)]
    assert sorted(one["config_value"] or "-" for one in held) == ["-", "all", "all"]


def test_repeated_push_commits_nothing_but_its_evidence():
    job = MemoryJob()
    record = push(0, 0, entry("acks", "all", is_default=True))
    job.write(record)
    before = len(job.tables.commits)
    job.write(record)
    assert [one[0] for one in job.tables.commits[before:]] == [CONFIG_DEFAULTS.name]


def test_first_copy_of_a_repeated_record_counts():
    job = MemoryJob()
    job.write(*(push(one, 0, entry("acks", "all"), push_id="a") for one in (3, 1, 2)))
    assert [row["offset"] for row in job.read(CLIENT_CONFIGS)] == [1]


def test_late_push_determines_the_type_of_the_newest_one():
    job = MemoryJob()
    job.write(push(0, 2, entry("client.id", "a")))
    assert [row["client_type"] for row in job.read(CLIENT_CONFIGS)] == [None]
    job.write(push(1, 1, entry("client.id", "a"), entry("acks", "1")))
    (row,) = job.read(CLIENT_CONFIGS)
    assert (row["client_type"], row["push_id"]) == ("producer", "push-0")
    types = {row["client_type"] for row in job.read(CLIENT_CONFIG_HISTORY)}
    assert types == {"producer"}


def test_another_principal_does_not_determine_the_type():
    job = MemoryJob()
    job.write(push(0, 0, entry("client.id", "a"), principal="User:owner"))
    job.write(push(1, 1, entry("acks", "1"), principal="User:other"))
    rows = {
        row["principal"]: row["client_type"] for row in job.read(CLIENT_CONFIG_HISTORY)
    }
    assert rows == {"User:owner": None, "User:other": "producer"}


@pytest.mark.parametrize(("days", "expected"), [(0, 3), (100, 2)])
def test_ended_rows_that_retention_deleted_do_not_come_back(days, expected):
    recent = datetime.now(tz=UTC) - timedelta(days=1)
    recent_ms = round(recent.timestamp() * 1000)
    job = MemoryJob(kept_closed_days=days)
    job.write(
        make_record(0, entry("acks", "0"), push_id="a"),
        make_record(
            1, entry("acks", "1"), push_id="b", received_at_ms=str(START_MS + 1)
        ),
        make_record(
            2, entry("acks", "all"), push_id="c", received_at_ms=str(recent_ms)
        ),
    )
    assert len(find_spans(job)) == expected
    assert ("acks", "all", True) in find_spans(job)
    assert ("acks", "1", False) in find_spans(job)


def test_batch_without_usable_pushes_changes_nothing():
    job = MemoryJob()
    assert job.write(make_record(0, body=b"\x05cut"))
    assert job.tables.commits == []
