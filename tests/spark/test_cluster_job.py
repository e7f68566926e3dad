"""The tables of a cluster are functions of its topic, however it is read and written."""

import pytest

from pipelines.delta_tables.noted_offsets import Note
from pipelines.jobs.cluster.batch import read_sets
from pipelines.jobs.cluster.states import Extent
from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    CLIENT_METRICS_SUBSCRIPTIONS,
    CLIENT_QUOTAS,
    CLUSTER_CHANGES,
)
from pipelines.tables.telemetry import QUARANTINE
from tests.support.cluster_records import (
    METRICS,
    broker,
    config,
    full_set,
    gone,
    place,
    quota,
    random_records,
    sent,
)
from tests.support.cluster_tables import Cluster
from tests.support.spark.cluster_job import ClusterJob, Stop, canonical
from udfs.cluster.cluster_records import ClusterRecord

BOTH = pytest.mark.parametrize("job", ["spark", "files"], indirect=True)
# That both write is shown by the tests of both; that both are cut off, by long ones.
WIDE = pytest.mark.parametrize(
    "job", [pytest.param("spark", marks=pytest.mark.long), "files"], indirect=True
)
LEDGER_COLUMNS = ("offset", "record_type", "entity", "change", "decode_status")


@pytest.fixture
def job(request, spark, tmp_path):
    return ClusterJob(spark, tmp_path, f"tables.writer={request.param}")


def expected(records):
    """Return what the histories make of records at once."""
    cluster = Cluster()
    cluster.write(*records)
    tables = {
        name: canonical(list(table.values())) for name, table in cluster.tables.items()
    }
    ledger = [tuple(row[name] for name in LEDGER_COLUMNS) for row in cluster.ledger]
    return tables, sorted(ledger, key=repr)


def found(job):
    return job.states(), job.rows(CLUSTER_CHANGES, *LEDGER_COLUMNS)


@pytest.mark.long
@WIDE
def test_micro_batches_make_the_rows_that_all_records_make_at_once(job):
    records = random_records(seed=7)
    rows = place(records)
    job.write(rows[:30])
    job.write(rows[30:31])
    job.write(rows[31:])
    assert found(job) == expected(records)
    assert all(job.changed)


BATCHES = [
    [
        broker(1, 0, {"a": "1"}, static_configs="described"),
        broker(2, 0, {"a": "1"}, static_configs="described"),
        quota({"user": "a"}, "producer_byte_rate", 1.0, 0),
        config(METRICS, "s", "metrics", "x.", 0),
    ],
    [
        quota({"user": "a"}, "producer_byte_rate", 1.0, 1),
        quota({"user": "a"}, "producer_byte_rate", None, 2),
        config(4, "1", "a", "2", 2),
        gone(2, 3),
        config(METRICS, "s", "interval.ms", "1000", 3),
        *full_set([broker(1, 4, {"a": "1"}, static_configs="described")], 5),
        quota({"user": "a"}, "producer_byte_rate", 1.0, 6),
    ],
]
POINTS = ["after broker_registrations", "before cluster_changes"]
ALL = expected([one for batch in BATCHES for one in batch])
FIRST = len(BATCHES[0])


def stop_in_second(job, point):
    rows = place([one for batch in BATCHES for one in batch])
    job.write(rows[:FIRST])
    job.stop_at = point
    with pytest.raises(Stop):
        job.try_write(rows[FIRST:])
    job.stop_at = None
    return rows


@pytest.mark.long
@WIDE
@pytest.mark.parametrize("point", POINTS)
def test_a_batch_that_was_cut_off_is_written_once(job, point):
    rows = stop_in_second(job, point)
    job.restart()
    job.try_write(rows[FIRST:])
    # Once more, as after a commit log that was lost.
    job.restart()
    job.write(rows[FIRST:])
    assert found(job) == ALL


@BOTH
@pytest.mark.long
def test_another_query_takes_back_what_is_ahead_of_the_ledger(job):
    rows = stop_in_second(job, "before client_quotas")
    first = job.begin_anew()
    assert first == FIRST
    # It cuts the records otherwise, and is cut off itself.
    job.write(rows[first : first + 2])
    job.stop_at = "before cluster_changes"
    with pytest.raises(Stop):
        job.try_write(rows[first + 2 : first + 5])
    job.stop_at = None
    again = job.begin_anew()
    assert again == first + 2
    job.write(rows[again : again + 1])
    job.write(rows[again + 1 :])
    assert found(job) == ALL


@WIDE
def test_what_cannot_be_read_is_in_quarantine_and_the_ledger_knows_it(job):
    good = quota({"user": "a"}, "producer_byte_rate", 1.0, 0)
    records = [
        sent(good.key, good.value[:-3]),
        sent("x", b"x" * 10_001),
        sent(good.key, good.value, source="nobody"),
        sent(good.key, None),
        sent("full_set/1", b"[]"),
        sent("x", b"\x01\x02\x00"),
        good,
    ]
    job.write(place(records))
    columns = ("offset", "reason", "detail", "source_job", "body")
    assert job.rows(QUARANTINE, *columns) == [
        (0, "truncated_metadata_record", None, "cluster_metadata_to_delta", None),
        (1, "too_large", None, "cluster_metadata_to_delta", None),
        (2, "invalid_header", "source", "cluster_metadata_to_delta", None),
        (3, "null_value", None, "cluster_metadata_to_delta", None),
        (4, "malformed_full_set", None, "cluster_metadata_to_delta", None),
    ]
    statuses = job.rows(CLUSTER_CHANGES, "offset", "decode_status")
    assert statuses == [
        *((0, "truncated"), (1, "too_large"), (4, "malformed_full_set")),
        *((5, "unknown_record"), (6, "ok")),
    ]
    assert job.changed == [frozenset({"client_quotas"})]
    # What is only broken changes no table.
    job.write(place(records[:1], first=7))
    assert len(job.changed) == 1
    assert job.read(BROKER_REGISTRATIONS).count() == 0


def test_read_sets_finds_members_next_to_their_end_and_far_from_it(spark):
    """Another writer of the topic may have put its records between those of a set."""
    rows = [
        *(("t", "near", offset, "Config", f"k{offset}") for offset in (8, 9)),
        *(("t", "far", offset, "Config", f"k{offset}") for offset in (1, 7)),
        *(("t", "near", 2, "full_set", "end"), ("other", "near", 8, "Config", "no")),
    ]
    names = "topic STRING, set_id STRING, offset BIGINT, record_type STRING, "
    ledger = spark.createDataFrame(rows, f"{names} record_key STRING")

    def record(set_id, offset, record_type, **fields):
        return ClusterRecord(
            topic="t", partition=0, offset=offset, key=f"k{offset}", cluster_id="c",
            source="metadata_log", at=0, set_id=set_id, record_type=record_type,
            fields=fields,
        )  # fmt: skip

    records = [
        *(record("near", 10, "Config"), record("near", 11, "full_set", records=3)),
        *(record("far", 12, "full_set", records=2), record("whole", 13, "Config")),
        record("whole", 14, "full_set", records=1),
    ]
    note = Note(topic="t", topic_id=None, offset=14, query_id="query")
    extent = Extent(note=note, first=10, earliest_us=0, cluster_ids=["c"])
    keys = read_sets(ledger, records, extent)
    assert {name: sorted(found) for name, found in keys.items()} == {
        "near": ["k8", "k9"], "far": ["k1", "k7"], "whole": [],
    }  # fmt: skip


@pytest.mark.long
@BOTH
def test_columns_of_states_keep_their_types(job):
    job.write(
        place([broker(1, 0, {"a": None}), config(METRICS, "s", "match", "client_id=x")])
    )
    row = job.read(CLIENT_METRICS_SUBSCRIPTIONS).collect()[0]
    assert row["match"] == {"client_id": "x"}
    assert row["properties"] == {"match": "client_id=x"}
    (registration,) = job.read(BROKER_REGISTRATIONS).collect()
    assert registration["endpoints"][0].port == 9091
    assert job.read(CLIENT_QUOTAS).count() == 0
