"""Eight kinds of bad records beside good pushes, from Kafka to the tables."""

import zlib
from datetime import UTC, datetime

import pytest
import zstandard
from confluent_kafka import Producer

from pipelines.reading import views
from pipelines.reading.views.view_names import find_names_in
from pipelines.settings import CONF_PATH
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    QUARANTINE,
)
from tests.support.jobs.job_support import (
    FLUSH_TIMEOUT_S,
    create_topic,
    make_settings,
    read_rows,
    run_once,
)
from tests.support.spark.telemetry_records import INSTANCE, make_headers

CAPTURES = CONF_PATH.parent / "tests" / "golden" / "telemetry"
TOPIC = "pushes-good-and-bad"
JAVA_ZSTD = (CAPTURES / "java_producer_push_c4.bin").read_bytes()
JAVA_POINTS = 110
OTLP = zstandard.ZstdDecompressor().stream_reader(JAVA_ZSTD).read()
MIB = 1 << 20
BOMB = zstandard.ZstdCompressor().compress(bytes(64 * MIB))
GOOD = {
    f"good-{number}-{name}": (name, (CAPTURES / file).read_bytes())
    for number, (name, file) in enumerate(
        [
            ("gzip", "java_producer_push_c1.bin"),
            ("snappy", "java_producer_push_c2.bin"),
            ("lz4", "java_producer_push_c3.bin"),
            ("zstd", "java_producer_push_c4.bin"),
            ("gzip", "librdkafka_producer_push_c1.bin"),
            ("snappy", "librdkafka_producer_push_c2.bin"),
            ("lz4", "librdkafka_producer_push_c3.bin"),
            ("zstd", "librdkafka_producer_push_c4.bin"),
        ]
    )
}
BAD = {
    "truncated_otlp": (OTLP[: len(OTLP) // 2 + 1], {"compression_type": "none"}),
    "wrong_codec": (zlib.compress(OTLP, wbits=31), {"compression_type": "zstd"}),
    "unknown_codec": (JAVA_ZSTD, {"compression_type": "brotli"}),
    "truncated_frame": (JAVA_ZSTD[:-7], {"compression_type": "zstd"}),
    "too_large": (BOMB, {"compression_type": "zstd"}),
    "null_value": (None, {}),
    "missing_header": (JAVA_ZSTD, {"client_software_name": None}),
    "header_not_utf8": (JAVA_ZSTD, {"principal": b"User:\xe9"}),
}
HAS_BODY_FAULT = {
    "truncated_otlp",
    "wrong_codec",
    "unknown_codec",
    "truncated_frame",
    "too_large",
}


@pytest.fixture(scope="module")
def coordinates(kafka):
    """Produce a good push before each bad record; return (partition, offset) by id."""
    create_topic(kafka.bootstrap_servers, TOPIC, partitions=2)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    placed = {}

    def send(push_id, value, headers):
        def note(error, record):
            assert error is None
            placed[push_id] = (record.partition(), record.offset())

        producer.produce(TOPIC, value, key=push_id, headers=headers, on_delivery=note)

    for (push_id, (codec, body)), (reason, (value, changes)) in zip(
        GOOD.items(), BAD.items(), strict=True
    ):
        send(push_id, body, make_headers(push_id=push_id, compression_type=codec))
        bad_headers = make_headers(**{"push_id": reason, **changes})
        send(reason, value, [(k, v) for k, v in bad_headers if v is not None])
    assert producer.flush(FLUSH_TIMEOUT_S) == 0
    return placed


@pytest.fixture(scope="module")
def settings(spark, kafka, coordinates, tmp_path_factory):
    """Settings of a job that has run over the topic, in several micro-batches."""
    assert len(coordinates) == len(GOOD) + len(BAD)
    settings = make_settings(
        kafka.bootstrap_servers,
        TOPIC,
        tmp_path_factory.mktemp("job"),
        "client_telemetry_to_delta.max_offsets_per_trigger=10",
    )
    query = run_once(spark, settings)
    assert query.exception() is None
    return settings


def test_each_bad_record_is_in_quarantine_with_its_reason(spark, settings, coordinates):
    rows = read_rows(spark, settings, QUARANTINE, "reason", "partition", "offset")
    assert rows == sorted((reason, *coordinates[reason]) for reason in BAD)


def test_quarantine_keeps_the_body_and_the_identity_that_could_be_read(spark, settings):
    rows = read_rows(
        spark, settings, QUARANTINE, "reason", "body", "principal", "source_job"
    )
    assert rows == sorted(
        (
            reason,
            None if value is None else bytearray(value),
            None if reason == "header_not_utf8" else "User:alice",
            "client_telemetry_to_delta",
        )
        for reason, (value, _) in BAD.items()
    )


def test_details_name_places_and_never_payload(spark, settings):
    rows = dict(read_rows(spark, settings, QUARANTINE, "reason", "detail"))
    assert rows["missing_header"] == "client_software_name"
    assert rows["header_not_utf8"] == "principal"
    assert rows["null_value"] is None
    assert all(rows[reason] for reason in HAS_BODY_FAULT)
    assert not any("org.apache.kafka" in (text or "") for text in rows.values())


def test_every_point_of_the_good_pushes_is_there_once(spark, settings):
    rows = read_rows(spark, settings, CLIENT_METRICS, "push_id", "point_index")
    pushes = dict(read_rows(spark, settings, CLIENT_PUSHES, "push_id", "point_count"))
    wanted = [(push_id, n) for push_id in GOOD for n in range(pushes[push_id])]
    assert rows == sorted(wanted)
    assert [pushes[p] for p in GOOD][:4] == [JAVA_POINTS] * 4
    assert all(pushes[push_id] for push_id in GOOD)


def test_the_ledger_holds_every_push_that_has_an_identity(spark, settings, coordinates):
    columns = ("push_id", "partition", "offset", "decode_status")
    rows = read_rows(spark, settings, CLIENT_PUSHES, *columns)
    wanted = [(push_id, *coordinates[push_id], "ok") for push_id in GOOD]
    wanted += [(name, *coordinates[name], name) for name in HAS_BODY_FAULT]
    assert rows == sorted(wanted)


def test_the_ledger_keeps_bodies_as_received(spark, settings):
    rows = dict(read_rows(spark, settings, CLIENT_PUSHES, "push_id", "body"))
    assert {push_id: bytes(rows[push_id]) for push_id in GOOD} == {
        push_id: body for push_id, (_, body) in GOOD.items()
    }


def test_the_client_instance_is_one_row(spark, settings):
    columns = ("client_instance_id", "client_type", "client_id", "first_seen")
    [row] = read_rows(spark, settings, CLIENT_INSTANCES, *columns)
    assert row[:3] == (INSTANCE, "producer", "orders")
    first_seen = row[3].astimezone(UTC)
    assert first_seen == datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC)


def test_the_view_counts_what_was_pushed(spark, settings):
    views.register(spark, settings, find_names_in("clients"))
    [row] = spark.table("clients").collect()
    pushes = dict(read_rows(spark, settings, CLIENT_PUSHES, "push_id", "point_count"))
    assert row["pushes"] == len(GOOD) + len(HAS_BODY_FAULT)
    assert row["points"] == sum(pushes.values())
    assert row["state"] == "expired"
