"""Decoded pushes become the rows of client_metrics, client_pushes and quarantine."""

from datetime import UTC, date, datetime

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.testing import assertDataFrameEqual

from pipelines.jobs.replay.steps import (
    OF_THE_PUSH,
    filter_quarantined,
    select_client_metrics,
    select_quarantine,
    with_reason,
)
from pipelines.streaming.offsets import select_newest_offsets
from pipelines.tables.telemetry import CLIENT_METRICS, QUARANTINE
from tests.support.spark.telemetry_records import INSTANCE
from udfs.spark import POINT_TYPE

BEFORE_MIDNIGHT = datetime(2026, 3, 1, 23, 59, 59, 999000, tzinfo=UTC)
ENVELOPE = {
    "topic": "t",
    "partition": 0,
    "kafka_timestamp": BEFORE_MIDNIGHT,
    "body": b"\x0a\x00",
    "client_instance_id": INSTANCE,
    "client_id": None,
    "client_software_name": "franz-go",
    "client_software_version": "1.22.2",
    "principal": "User:alice",
    "listener": "PLAINTEXT",
    "client_source_address": "10.0.0.7",
    "client_source_port": 51234,
    "bridge_id": "bridge-1",
    "received_at": BEFORE_MIDNIGHT,
    "push_id": "p",
    "subscription_id": 1,
    "push_interval_ms": 1000,
    "compression_type": "none",
    "terminating": False,
    "compression_type_id": 0,
    "envelope_fault": None,
    "envelope_detail": None,
}
ENVELOPE_SCHEMA = (
    "topic STRING, partition INT, kafka_timestamp TIMESTAMP, body BINARY, "
    "client_instance_id STRING, client_id STRING, client_software_name STRING, "
    "client_software_version STRING, principal STRING, listener STRING, "
    "client_source_address STRING, client_source_port INT, bridge_id STRING, "
    "received_at TIMESTAMP, push_id STRING, subscription_id INT, "
    "push_interval_ms INT, compression_type STRING, terminating BOOLEAN, "
    "compression_type_id INT, envelope_fault STRING, envelope_detail STRING, "
    "offset BIGINT"
)
NO_POINT = dict.fromkeys(POINT_TYPE.names)


def make_point(index, **fields):
    known = {"point_index": index, "metric": "m", "kind": "gauge"}
    return tuple((NO_POINT | known | fields).values())


FAULTY = {
    "envelope_fault": "null_value",
    "body": None,
    "received_at": None,
    "push_id": None,
}


@pytest.fixture(scope="module")
def envelopes(spark):
    """Two pushes, a record without a value, and a push that cannot be decoded."""
    rows = [
        ENVELOPE | {"push_id": "p0"},
        ENVELOPE | {"push_id": "p1"},
        ENVELOPE | FAULTY,
        ENVELOPE | {"push_id": "p3"},
    ]
    pushes = [(*row.values(), offset) for offset, row in enumerate(rows)]
    return spark.createDataFrame(pushes, ENVELOPE_SCHEMA)


@pytest.fixture(scope="module")
def pushes(spark, envelopes):
    results = [(0, "ok", None), (1, "ok", None), (3, "truncated_otlp", "byte 2")]
    schema = "offset BIGINT, decode_status STRING, detail STRING"
    return envelopes.join(spark.createDataFrame(results, schema), "offset", "left")


def test_each_point_has_the_identity_and_the_date_of_its_push(spark, envelopes):
    rows = [make_point(0, value_double=0.5), make_point(1, value_long=None)]
    points = (
        envelopes.where("offset = 0")
        .select(*OF_THE_PUSH)
        .crossJoin(spark.createDataFrame(rows, POINT_TYPE))
        .transform(select_client_metrics)
    )
    assert tuple(points.columns) == CLIENT_METRICS.column_names
    shown = ["offset", "point_index", "event_date", "push_id", "client_id", "metric"]
    expected = spark.createDataFrame(
        [
            (0, 0, date(2026, 3, 1), "p0", None, "m", 0.5),
            (0, 1, date(2026, 3, 1), "p0", None, "m", None),
        ],
        "offset BIGINT, point_index INT, event_date DATE, push_id STRING, "
        "client_id STRING, metric STRING, value_double DOUBLE",
    )
    assertDataFrameEqual(points.select(*shown, "value_double"), expected)


def test_quarantine_holds_faults_of_envelope_and_body_with_their_reason(spark, pushes):
    rows = (
        pushes.transform(filter_quarantined)
        .transform(with_reason)
        .transform(select_quarantine, "job")
    )
    assert tuple(rows.columns) == QUARANTINE.column_names
    expected = spark.createDataFrame(
        [
            (2, date(2026, 3, 1), "job", "null_value", None, None, None),
            (
                *(3, date(2026, 3, 1), "job", "truncated_otlp", "byte 2", "p3"),
                b"\x0a\x00",
            ),
        ],
        "offset BIGINT, event_date DATE, source_job STRING, reason STRING, "
        "detail STRING, push_id STRING, body BINARY",
    )
    assertDataFrameEqual(rows.select(*expected.columns), expected)


def test_a_record_timestamp_out_of_the_calendar_still_has_a_date(pushes):
    """Producers choose timestamps; a partition folder must be a date."""
    far = pushes.withColumn(
        "kafka_timestamp",
        F.when(F.col("offset") == 2, F.timestamp_millis(F.lit(-1))).otherwise(
            F.timestamp_millis(F.lit(300_000_000_000_000))
        ),
    )
    rows = (
        far.transform(filter_quarantined)
        .transform(with_reason)
        .transform(select_quarantine, "job")
    )
    dates = dict(rows.select("offset", "event_date").collect())
    assert dates == {2: date(1970, 1, 1), 3: date(9999, 12, 31)}
    kept = rows.select("offset", F.col("kafka_timestamp").cast("string")).collect()
    assert dict(kept) == {2: "1970-01-01 00:00:00", 3: "9999-12-31 23:59:59.999"}


def test_select_quarantine_of_null_timestamp_keeps_null(pushes):
    rows = pushes.withColumn(
        "kafka_timestamp", F.lit(None).cast("timestamp")
    ).transform(filter_quarantined)
    rows = rows.transform(with_reason).transform(select_quarantine, "job")
    dates = rows.select("kafka_timestamp", "event_date").distinct().collect()
    assert [tuple(row) for row in dates] == [(None, None)]


def test_newest_offsets_are_those_of_the_topic_asked_for(spark):
    records = spark.createDataFrame(
        [("a", 0, 5), ("a", 0, 7), ("b", 0, 9), ("a", 1, 1)],
        "topic STRING, partition INT, offset BIGINT",
    )
    expected = spark.createDataFrame([(0, 7), (1, 1)], "partition INT, offset BIGINT")
    assertDataFrameEqual(records.transform(select_newest_offsets, "a"), expected)
