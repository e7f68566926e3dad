"""Rejected records of each topic, compared with its own records."""

from datetime import UTC, datetime, timedelta

from pipelines.reading.quality_overview import (
    count_records,
    select_records,
    select_rejected_share,
)

START = datetime(2026, 3, 1, tzinfo=UTC)


def test_rejected_records_are_a_part_of_the_records_of_their_own_topic(spark):
    at = [START + timedelta(seconds=number) for number in (1, 61)]
    quarantine = spark.createDataFrame(
        [
            *(("telemetry", at[1], "wrong_codec"),) * 10,
            *(("configs", at[0], "too_large"),) * 3,
            *(("traffic", at[0], "too_large"),),
        ],
        "topic STRING, kafka_timestamp TIMESTAMP, reason STRING",
    )
    schema = "topic STRING, received_at TIMESTAMP, decode_status STRING"
    pushes = [("telemetry", at[1], "wrong_codec"), ("quiet", at[1], "ok")]
    pushes += [("telemetry", moment, "ok") for moment in at for _ in range(495)]
    config_pushes = [("configs", at[0], "ok")]
    ledgers = {
        "client_pushes": spark.createDataFrame(pushes, schema),
        "client_config_pushes": spark.createDataFrame(config_pushes, schema),
    }
    records = select_records(quarantine, ledgers)
    found = {row["topic"]: tuple(row)[1:] for row in count_records(records).collect()}
    assert found == {
        "configs": (1, 3, 75.0),
        "telemetry": (990, 10, 1.0),
        "quiet": (1, 0, 0.0),
        "traffic": (None, 1, None),
    }
    share = select_rejected_share(records, window_s=60).collect()
    assert [(row["topic"], round(row["percent"], 2)) for row in share] == [
        *(("configs", 75.0), ("telemetry", 0.0), ("telemetry", 1.98)),
    ]
