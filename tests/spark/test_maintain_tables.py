"""Maintenance: what goes, what stays, and what becomes of runs that are cut off."""

import dataclasses
import os
import time
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from pipelines.commands.maintain_tables import list_ledgers
from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.noted_offsets import Note, noting
from pipelines.delta_tables.stored_files import list_stored_files
from pipelines.delta_tables.transactions import Transaction
from pipelines.delta_tables.writers import open_writer
from pipelines.errors import TablesInUse
from pipelines.jobs.maintain import job, steps
from pipelines.jobs.maintain.context import Request
from pipelines.jobs.maintain.results import LEFT_ALONE
from pipelines.jobs.maintain.retention import write_moment
from pipelines.jobs.telemetry.instances import InstanceWriter
from pipelines.reading.client_states import states_query
from pipelines.streaming.stored_offsets import read_stored_offsets
from pipelines.streaming.table_claims import claim_tables
from pipelines.tables.cluster import CLIENT_QUOTAS, CLUSTER_CHANGES
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.contract import CONTRACT_VERSION_PROPERTY
from pipelines.tables.maintenance import MAINTENANCE_RUNS
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_METRICS, CLIENT_PUSHES
from tests.support.jobs.given_calls import run_line
from tests.support.spark.aged_tables import (
    CONTRACTS,
    NOW,
    OLD,
    RECENT,
    SMALL_FILES,
    STAYING,
    TOPIC,
    copy_tables,
    fill,
    read_left,
    record,
    settings_of,
)
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.instance_tables import at, make_push, make_pushes
from tests.support.spark.table_rows import append_rows
from udfs.envelopes.deciding_pushes import select_deciding

LEDGERS = list_ledgers()
TELEMETRY = LEDGERS[0]
MINUTES = (NOW - at(0)) // timedelta(minutes=1)
"""What make_push takes for now: who pushed long ago and is silent may go."""


@pytest.fixture(scope="module")
def original(spark, tmp_path_factory):
    """Tables with rows of all ages, not to be written to."""
    settings = settings_of(tmp_path_factory.mktemp("aged") / "tables")
    fill(spark, settings.tables)
    return settings.tables


@pytest.fixture
def settings(original, tmp_path):
    copy_tables(original, tmp_path / "tables")
    return settings_of(tmp_path / "tables")


def maintain(spark, settings, observer=lambda _: None, **request):
    said = []
    outcome = job.run(
        spark,
        settings,
        Request(**request),
        ledgers=LEDGERS,
        say=said.append,
        observer=observer,
    )
    return outcome, said


def find_positions(spark, settings):
    return read_stored_offsets(spark, settings.tables, TELEMETRY, TOPIC)


def list_versions(spark, settings):
    return [
        spark.sql(
            f"DESCRIBE HISTORY {identify_table(spark, settings.tables, one)} LIMIT 1"
        ).first()["version"]
        for one in CONTRACTS
    ]


@pytest.mark.long
def test_what_may_go_goes_once_and_jobs_still_know_where_they_stand(
    spark, settings, capsys
):
    positions, versions = (
        find_positions(spark, settings),
        list_versions(spark, settings),
    )
    overrides = (
        f"tables.root_path={settings.tables.root_path}",
        "maintain_tables.quiet_minutes=0",
    )
    line = "./spark-submit.sh maintain_tables --without-topics --no-checks"
    run_line(spark, f"{line} --dry-run", *overrides)
    told = capsys.readouterr().out
    day = f"{RECENT:%Y-%m-%d}"
    assert f"client_metrics: would compact {day} 10 files of " in told
    assert ": 10 files where 1 would do\n" in told
    assert "client_metrics: would delete 4 rows" in told
    assert list_versions(spark, settings) == versions
    run_line(spark, line, *overrides)
    told = capsys.readouterr().out
    assert f"client_metrics: compacted {day} 10 files of " in told
    assert read_left(spark, settings.tables) == STAYING
    assert find_positions(spark, settings) == positions
    versions = list_versions(spark, settings)
    run_line(spark, line, *overrides)
    told = capsys.readouterr().out
    (whole,) = [one for one in told.splitlines() if ": nothing to do" not in one]
    assert whole == "8 tables, 0 actions done"
    assert list_versions(spark, settings) == versions
    runs = spark.table(identify_table(spark, settings.tables, MAINTENANCE_RUNS))
    metrics = runs.where("table_name = 'client_metrics' AND action = 'compaction'")
    (row,) = metrics.collect()
    assert (row["files_before"], row["files_after"]) == (10, 1)
    assert row["outcome"] == "done"
    assert row["bytes_rewritten"] == row["bytes_after"] > 0
    assert runs.where("action = 'run'").count() == 2


def test_select_ended_with_recent_config_push_keeps_client(spark, original):
    tables = (CLIENT_INSTANCES, CLIENT_PUSHES, CLIENT_CONFIGS)
    for one in tables:
        rows = spark.table(identify_table(spark, original, one))
        rows.createOrReplaceTempView(one.name)
    names, now = [one.name for one in tables], write_moment(NOW)
    query = states_query(names, now=now, expire_after_hours=24 * 60)
    moment = write_moment(NOW - timedelta(days=60))
    ended = spark.sql(query).transform(steps.select_ended, moment).collect()
    assert {row["client_instance_id"] for row in ended} == {"ended", "silent"}


class CutOffError(Exception):
    """Ends a run where it stands."""


@pytest.mark.long
def test_a_run_that_is_cut_off_anywhere_is_run_again(spark, settings):
    """In one run after the other, each ends at a point where none has ended before."""
    points = []

    def end_once(point):
        if point not in points:
            points.append(point)
            raise CutOffError(point)

    positions = find_positions(spark, settings)
    names = ["client_metrics", "client_configs", "client_instances"]
    while True:
        try:
            maintain(spark, settings, end_once, tables=names)
        except CutOffError:
            continue
        break
    assert {"before retention client_metrics", "after retention client_instances"} <= {
        *points
    }
    assert f"after compaction client_metrics {RECENT:%Y-%m-%d}" in points
    left = read_left(spark, settings.tables)
    assert {name: left[name] for name in names} == {
        name: STAYING[name] for name in names
    }
    assert find_positions(spark, settings) == positions


@pytest.mark.long
@pytest.mark.parametrize("writer", ["spark", "files"])
def test_writers_and_readers_beside_it_go_on(spark, settings, writer):
    """At each point others write to the tables, or read what they have begun to read."""
    tables = dataclasses.replace(settings.tables, writer=writer)
    instances = InstanceWriter(tables=open_writer(spark, tables, CONTRACTS))
    folder = f"{tables.root_path}/{CLIENT_METRICS.name}"
    # A DataFrame of a table is of its newest version, each time that it is asked.
    whole = spark.read.format("delta").option("versionAsOf", 1 + SMALL_FILES)
    begun = whole.load(folder)
    before, added = begun.count(), []

    def write(point):
        if "client_metrics" in point:
            offset = 1_000 + len(added)
            append_rows(tables, CLIENT_METRICS, record(RECENT, 0, offset))
            added.append((0, offset))
            assert begun.count() == before
        if "client_instances" in point:
            name = f"new {len(added)}"
            instances.write(
                spark,
                select_deciding(make_pushes(spark, make_push(name, MINUTES))),
                Transaction(query_id="beside", batch_id=len(added)),
            )
            added.append(name)

    names = ["client_metrics", "client_configs", "client_instances"]
    outcome, _ = maintain(spark, settings, write, tables=names)
    assert not outcome.has_failed
    left = read_left(spark, tables)
    for name in ("client_metrics", "client_instances"):
        kind = tuple if name == "client_metrics" else str
        came = {one for one in added if isinstance(one, kind)}
        assert came
        assert left[name] == STAYING[name] | came


@pytest.mark.long
@pytest.mark.parametrize("writer", ["spark", "files"])
def test_a_client_instance_is_looked_up_again_where_maintenance_came_between(
    spark, settings, writer
):
    """Between each look and its commit files are put together, or rows deleted."""
    # It goes by what the JVM has seen of a table, and would come before OPTIMIZE.
    spark.conf.set("spark.databricks.delta.autoCompact.enabled", "false")
    tables = dataclasses.replace(settings.tables, writer=writer)
    table = identify_table(spark, tables, CLIENT_INSTANCES)
    waiting, looks = [], []

    def come_between(place, _):
        if place == "before client_instances":
            looks.append(place)
            if waiting:
                waiting.pop()()

    opened = open_writer(spark, tables, CONTRACTS, come_between)
    instances = InstanceWriter(tables=opened)

    def push(batch_id, *names, **fields):
        told = make_pushes(
            spark, *(make_push(one, MINUTES + batch_id, **fields) for one in names)
        )
        named = Transaction(query_id="beside", batch_id=batch_id)
        instances.write(spark, select_deciding(told), named)

    def delete():
        # The other table goes first, or nobody would know of its rows.
        names = ["client_configs", "client_instances"]
        _, said = maintain(spark, settings, tables=names)
        assert "client_instances: deleted 2 rows" in " ".join(said)

    expected = {"just ended": "x", "configures": "x"}
    for number, between in enumerate(
        (
            delete,  # of silent, too, which pushes again
            lambda: spark.sql(f"OPTIMIZE {table}").collect(),
            lambda: spark.sql(
                f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.logRetentionDuration' "
                f"= 'interval 900 hours')"
            ),
        )
    ):
        waiting.append(between)
        names = ["live", "silent", "new 0", f"new {number}"]
        push(number, *dict.fromkeys(names), principal=f"User:bob {number}")
        expected |= dict.fromkeys(names, f"User:bob {number}")
        found = spark.table(table).collect()
        told = {row["client_instance_id"]: row for row in found}
        assert {name: row["principal"] for name, row in told.items()} == expected
        assert len(found) == len(expected)
        assert told["live"]["first_seen"].astimezone(UTC) == OLD
    assert not waiting
    # Each commit of direct met what came between, and was made anew; MERGE looks itself.
    assert len(looks) == (6 if writer == "files" else 3)


def test_nobody_else_is_let_in_and_the_first_one_is_named(spark, settings):
    claim = claim_tables(spark, settings.tables, job.JOB_NAME, None)
    with pytest.raises(TablesInUse, match=r"maintain_tables on .*, process \d+, since"):
        maintain(spark, settings)
    maintain(spark, settings, is_dry_run=True, tables=["client_quotas"])
    claim.release()


def test_files_go_when_no_version_that_is_kept_needs_them(spark, settings, tmp_path):
    tables = settings.tables
    folder = Path(tables.root_path) / CLIENT_QUOTAS.name
    table = identify_table(spark, tables, CLIENT_QUOTAS)
    held = next(folder.glob("*.parquet"))
    orphan = folder / f"part-00000-{'0' * 32}.snappy.parquet"
    orphan.write_bytes(held.read_bytes())
    long_ago = time.time() - timedelta(days=8).total_seconds()
    os.utime(orphan, (long_ago, long_ago))
    note = Note(topic=settings.topics.cluster, topic_id=None, offset=7, query_id="q")
    with noting(spark, note):
        row = spark.table(table).where("entity_path = 'open'")
        row.selectExpr("* EXCEPT (entity_path)", "'noted' AS entity_path").writeTo(
            table
        ).append()
    make_tables(spark, tables, [CLUSTER_CHANGES])
    outcome, said = maintain(spark, settings, tables=["client_quotas"])
    assert [(a.action, a.outcome) for a in outcome.actions][-1] == (
        "vacuum",
        LEFT_ALONE,
    )
    assert "ahead of cluster_changes: cluster_metadata_to_delta" in said[-1]
    assert orphan.exists()
    append_rows(
        tables, CLUSTER_CHANGES, {"topic": settings.topics.cluster, "offset": 7}
    )
    outcome, said = maintain(spark, settings, tables=["client_quotas"])
    assert said == [one for one in said if one.startswith("client_quotas: vacuumed 1 ")]
    assert not orphan.exists()
    names = spark.table(table).select("entity_path").collect()
    assert {row[0] for row in names} == {"closed", "open", "noted"}
    assert (
        list_stored_files(spark, CLIENT_QUOTAS, table, str(folder)).sizes()
        == list_stored_files(spark, CLIENT_QUOTAS, table, None).sizes()
    )
    del tmp_path


@pytest.mark.long
def test_a_table_keeps_versions_as_it_is_told_and_never_less_than_its_owner_says(
    spark, settings, tmp_path
):
    own = tmp_path / "mine.toml"
    own.write_text("[every_table]\nvacuum_hours = 100\nlog_hours = 800\n")
    mine = settings_of(
        settings.tables.root_path, f"maintain_tables.retention_location={own}"
    )
    pushes = identify_table(spark, mine.tables, CLIENT_PUSHES)
    owners = "delta.deletedFileRetentionDuration"
    spark.sql(
        f"ALTER TABLE {pushes} SET TBLPROPERTIES ('{owners}' = 'interval 30 days', "
        f"'delta.setTransactionRetentionDuration' = 'interval 1 day')"
    )
    outcome, said = maintain(spark, mine, tables=["client_pushes", "client_metrics"])
    assert outcome.has_failed
    assert any("client_pushes: properties failed" in one for one in said)
    found = {
        one.name: {
            row["key"]: row["value"]
            for row in spark.sql(
                f"SHOW TBLPROPERTIES {identify_table(spark, mine.tables, one)}"
            ).collect()
        }
        for one in (CLIENT_PUSHES, CLIENT_METRICS)
    }
    assert found["client_pushes"][owners] == "interval 30 days"
    assert found["client_metrics"][owners] == "interval 100 hours"
    assert found["client_metrics"]["delta.logRetentionDuration"] == "interval 800 hours"
    # Nothing was said of rows: all are there.
    assert len(read_left(spark, mine.tables)["client_metrics"]) == 15


def test_a_table_that_cannot_be_maintained_is_told_and_the_others_go_on(
    spark, settings
):
    newer = identify_table(spark, settings.tables, CLIENT_METRICS)
    spark.sql(
        f"ALTER TABLE {newer} SET TBLPROPERTIES ('{CONTRACT_VERSION_PROPERTY}' = '99')"
    )
    log = Path(settings.tables.root_path) / CLIENT_QUOTAS.name / "_delta_log"
    for entry in log.glob("*.*"):
        entry.unlink()
    (log / f"{0:020}.json").write_text("{")
    names = ["client_metrics", "client_quotas", "client_pushes"]
    rows = len(spark.table(newer).collect())
    outcome, said = maintain(spark, settings, tables=names)
    assert outcome.has_failed
    failed = [one.table for one in outcome.actions if one.outcome == "failed"]
    assert sorted(failed) == ["client_metrics", "client_quotas"]
    assert any("contract version 99 is newer than" in one for one in said)
    assert "client_pushes" in {one.table for one in outcome.actions}
    assert len(spark.table(newer).collect()) == rows
