"""A replay puts right what a decoder with faults has written, and nothing else.

Beside a stream, and killed, it is shown by `python tests/long/replays.py`.
"""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.setup import ensure_tables
from pipelines.errors import MissingTable, NothingToDo
from pipelines.jobs.replay import job as replay_pushes
from pipelines.jobs.replay.results import Differences
from pipelines.settings import CONF_PATH
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    QUARANTINE,
    TELEMETRY_CONTRACTS,
)
from pipelines.time_ranges import TimeRange
from tests.bench.generated_pushes import java_push
from tests.integration.test_docs import PATIENCE_S
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.jobs.job_support import make_settings, read_rows
from tests.support.spark.older_tables import make_older
from tests.support.spark.table_rows import append_rows

ROOT = CONF_PATH.parent
COMMAND = [sys.executable, "-P", "-m", "pipelines"]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROWS_AT_ONCE = "spark.sql.parquet.columnarReaderBatchSize"
SPAN = TimeRange(NOON, NOON + timedelta(hours=1))
THREE_POINTS = java_push(1, 3)
WHOLE = java_push(2, 5)


def test_a_range_without_pushes_and_tables_that_are_not_there_are_named(
    spark, tmp_path
):
    settings = make_settings("127.0.0.1:1", "t", tmp_path)
    with pytest.raises(MissingTable, match="client_metrics`: there is none"):
        replay_pushes.run(spark, settings, SPAN)
    ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    with pytest.raises(NothingToDo, match="2026-03-01T12:00:00Z to 2026-03-01T13"):
        replay_pushes.run(spark, settings, SPAN)


def append_push(settings, body=THREE_POINTS, **values):
    """Put a push into the ledger, and none of its points anywhere."""
    known = {"received_at": NOON, "event_date": NOON.date(), "body": body}
    known |= {"body_bytes": len(body), "compression_type": "none"}
    append_rows(settings.tables, CLIENT_PUSHES, known | values)


def test_the_command_says_what_differs_and_puts_it_right(spark, tmp_path, capsys):
    settings = make_settings("127.0.0.1:1", "t", tmp_path)
    # As a program has left them that did not know clusters; it has widened one already.
    older = [make_older(one) for one in (CLIENT_INSTANCES, CLIENT_PUSHES)]
    ensure_tables(spark, settings.tables, [*older, CLIENT_METRICS, QUARANTINE])
    ensure_tables(spark, settings.tables, [CLIENT_PUSHES])
    append_push(settings, cluster_id="c1", broker_id=3)
    metrics = identify_table(spark, settings.tables, CLIENT_METRICS)
    asked = find_block("docs/operations/replay.md", "replay").commands
    run_line(spark, asked[0], f"tables.root_path={settings.tables.root_path}")
    said = capsys.readouterr().out
    assert "client_metrics: would replace 0 rows of 1 push by 3 decoded anew" in said
    assert "nothing was written, for this was a dry run" in said
    assert spark.table(metrics).count() == 0
    run_line(spark, asked[1], f"tables.root_path={settings.tables.root_path}")
    printed = capsys.readouterr().out
    assert "client_metrics: replaced 0 rows of 1 push by 3 decoded anew" in printed
    assert spark.table(metrics).count() == 3
    ledger = spark.table(identify_table(spark, settings.tables, CLIENT_PUSHES))
    decoded = "decode_status", "point_count", "client_type"
    row = ledger.select(*decoded, "cluster_id", "broker_id").collect()[0]
    assert tuple(row) == ("ok", 3, "consumer", "c1", 3)


@pytest.mark.long
def test_large_bodies_are_read_few_at_a_time_and_by_the_replay_alone(spark, tmp_path):
    settings = make_settings("127.0.0.1:1", "t", tmp_path)
    ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    append_push(settings)
    before = spark.conf.get(ROWS_AT_ONCE)
    seen = set()
    replay_pushes.run(
        *(spark, settings, SPAN),
        observer=lambda _: seen.add(spark.conf.get(ROWS_AT_ONCE)),
    )
    assert [int(rows) < 100 for rows in seen] == [True]
    assert spark.conf.get(ROWS_AT_ONCE) == before


@pytest.mark.long
def test_a_minute_with_more_pushes_than_a_commit_may_have_is_cut(
    spark, tmp_path, caplog
):
    settings = make_settings(
        "127.0.0.1:1", "t", tmp_path, "replay_pushes.max_pushes_per_commit=1"
    )
    ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    for second in range(2):
        at = NOON + timedelta(seconds=second)
        append_push(settings, b"", push_id=f"p{second}", received_at=at)
    with caplog.at_level("INFO", replay_pushes.__name__):
        result = replay_pushes.run(spark, settings, SPAN, is_dry_run=True)
    assert result.pushes == 2
    assert [" 1 push," in line for line in caplog.messages] == [True, True]


@pytest.mark.long
def test_pushes_of_a_topic_made_anew_are_told_from_those_of_the_former_one(
    spark, tmp_path
):
    """All have the same coordinates, and were received in the same minute."""
    settings = make_settings("127.0.0.1:1", "t", tmp_path)
    ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    append_push(settings, push_id="former")
    replay_pushes.run(spark, settings, SPAN)
    # A record without a push_id is in quarantine alone.
    nameless = {"received_at": NOON, "kafka_timestamp": NOON}
    nameless |= {"event_date": NOON.date()}
    append_rows(settings.tables, QUARANTINE, nameless)
    before = read_texts(spark, settings)
    later = NOON + timedelta(seconds=1)
    for push_id, body in (("whole", WHOLE), ("cut", WHOLE[:-1])):
        append_push(settings, body, push_id=push_id, received_at=later)
    result = replay_pushes.run(spark, settings, SPAN)
    assert result.differences == {
        "client_metrics": Differences(1, 0, 5),
        "quarantine": Differences(1, 0, 1),
        "client_pushes": Differences(2, 2, 2),
    }
    assert read_texts(spark, settings) == before
    columns = ("push_id", "group_id", "point_index")
    points = [("former", "group-1", n) for n in range(3)]
    points += [("whole", "group-2", n) for n in range(5)]
    assert read_rows(spark, settings, CLIENT_METRICS, *columns) == points
    columns = ("reason", "push_id", F.expr("kafka_timestamp = received_at"))
    rejected = [("truncated_otlp", "cut", True), ("x", None, True)]
    assert read_rows(spark, settings, QUARANTINE, *columns) == rejected
    columns = ("push_id", "decode_status", "point_count")
    pushes = [("cut", "truncated_otlp", 0), ("former", "ok", 3), ("whole", "ok", 5)]
    assert read_rows(spark, settings, CLIENT_PUSHES, *columns) == pushes


def read_texts(spark, settings):
    """Return the rows of each table as texts, those of the later pushes left out."""
    tables = (
        spark.table(identify_table(spark, settings.tables, contract))
        for contract in replay_pushes.REPLACED
    )
    is_kept = "push_id IS NULL OR push_id = 'former'"
    return [sorted(map(str, table.where(is_kept).collect())) for table in tables]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--from", "2026-03-01"], "arguments are required: --to"),
        (["--from", "2026-03-01", "--to", "2026-03-01"], "--to must be later than"),
        (["--from", "yesterday", "--to", "2026-03-01"], "'yesterday' is not a date"),
    ],
    ids=["no end", "nothing between", "no time"],
)
def test_wrong_words_end_with_the_usage(words, reason):
    done = subprocess.run(
        [*COMMAND, "replay_pushes", *words],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert "usage: ./spark-submit.sh replay_pushes" in done.stderr
    assert reason in done.stderr
