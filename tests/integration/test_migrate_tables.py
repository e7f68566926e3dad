"""Tables of an older contract become those of this one."""

import re
import threading
from pathlib import Path

import pytest

from pipelines.delta_tables.found_tables import read_found_table
from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.setup import ensure_tables
from pipelines.errors import IncompatibleTable, MissingTable
from pipelines.jobs.migrate import job
from pipelines.reading import views
from pipelines.settings import load_settings
from pipelines.tables.changes import list_all
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.contract import CONTRACT_VERSION_PROPERTY
from pipelines.tables.registry import ALL_CONTRACTS
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_PUSHES,
    TELEMETRY_CONTRACTS,
)
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.jobs.job_support import (
    PushProducer,
    create_topic,
    make_settings,
    run_once,
)
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.older_tables import WIDENED, make_older
from tests.support.spark.table_rows import append_rows

FORMER_TOPIC = "former"


@pytest.fixture
def settings(spark, tmp_path):
    """Settings, after tables of the version before have got a row each."""
    settings = load_settings("local", [f"tables.root_path={tmp_path}/tables"])
    older = [make_older(one) for one in WIDENED]
    ensure_tables(spark, settings.tables, older)
    for contract in older:
        known = {
            "topic": FORMER_TOPIC,
            "configs": {} if contract.name == CLIENT_CONFIGS.name else None,
        }
        row = {k: v for k, v in known.items() if k in contract.column_names}
        append_rows(settings.tables, contract, row)
    return settings


def list_files(settings, pattern):
    """Return the files of each table."""
    return {
        one.name: sorted(Path(settings.tables.root_path, one.name).rglob(pattern))
        for one in WIDENED
    }


def list_data_files(settings):
    found = list_files(settings, "*.parquet")
    return {k: [f for f in v if "_delta_log" not in f.parts] for k, v in found.items()}


def list_commits(settings):
    return list_files(settings, "*.json")


def read_rows(spark, settings, columns):
    """Return the rows of all tables: those columns, as text that can be sorted."""
    return {
        one.name: sorted(
            str(row.asDict(recursive=True))
            for row in spark.table(identify_table(spark, settings.tables, one))
            .select(*columns[one.name])
            .collect()
        )
        for one in WIDENED
    }


def list_columns(spark, settings):
    return {
        one.name: spark.table(identify_table(spark, settings.tables, one)).columns
        for one in WIDENED
    }


def describe(spark, settings, contract):
    """Return all that a table says of itself and its contract knows."""
    table = identify_table(spark, settings.tables, contract)
    found = read_found_table(spark, table, with_comment=True)
    stated = {*contract.properties, CONTRACT_VERSION_PROPERTY}
    return (
        spark.table(table).schema.json(),
        found.partition_by,
        found.comment,
        {k: v for k, v in found.properties.items() if k in stated},
    )


def migrate(spark, settings, *words):
    place = f"tables.root_path={settings.tables.root_path}"
    run_line(spark, " ".join(["./spark-submit.sh migrate_tables", *words]), place)


@pytest.mark.long
def test_every_table_becomes_what_this_release_would_have_made(
    spark, settings, capsys, tmp_path
):
    columns = list_columns(spark, settings)
    assert "cluster_id" not in columns[CLIENT_PUSHES.name]
    rows, files = read_rows(spark, settings, columns), list_data_files(settings)
    assert all(rows.values())
    commits = list_commits(settings)
    dry_run, for_good = find_block("docs/operations/upgrade.md", "migrate").commands
    place = f"tables.root_path={settings.tables.root_path}"

    run_line(spark, dry_run, place)
    told = capsys.readouterr().out
    assert "\nclient_pushes: contract version 1 would become 2\n" in told
    assert "  add column cluster_id STRING\n  add column broker_id INT\n" in told
    assert "client_traffic: no table yet" in told
    assert told.endswith(f"{job.DRY_RUN}\n")
    assert list_commits(settings) == commits

    # Cut off behind the first statement of a table.
    table = identify_table(spark, settings.tables, CLIENT_PUSHES)
    found = read_found_table(spark, table, with_comment=True)
    spark.sql(list_all(CLIENT_PUSHES, found)[0].statement)

    run_line(spark, for_good, place)
    told = capsys.readouterr().out
    rest = re.search(r"^client_pushes: .*\n((?:  .*\n)*)", told, re.MULTILINE)[1]
    assert "add column" not in rest
    assert "state contract version 2" in rest
    assert told.endswith(f"{job.UNTOUCHED}\n")
    assert list_data_files(settings) == files
    assert read_rows(spark, settings, columns) == rows
    fresh = load_settings("local", [f"tables.root_path={tmp_path}/fresh"])
    make_tables(spark, fresh.tables, WIDENED)
    for contract in WIDENED:
        made = describe(spark, fresh, contract)
        assert describe(spark, settings, contract) == made, contract.name

    commits = list_commits(settings)
    run_line(spark, for_good, place)
    told = capsys.readouterr().out
    assert told.count("nothing to do") == len(WIDENED)
    assert list_commits(settings) == commits


@pytest.mark.long
@pytest.mark.parametrize(
    "is_migrated",
    [
        pytest.param(True, id="migrated"),
        pytest.param(False, id="by the job", marks=pytest.mark.long),
    ],
)
def test_the_job_goes_on_in_tables_of_the_version_before(
    spark, kafka, settings, tmp_path, is_migrated
):
    topic = f"after-{tmp_path.name.strip('_')}"
    create_topic(kafka.bootstrap_servers, topic)
    PushProducer(kafka.bootstrap_servers, topic, seed=1).send(20)
    columns = list_columns(spark, settings)
    before = read_rows(spark, settings, columns)
    if is_migrated:
        migrate(spark, settings)
    run_once(spark, make_settings(kafka.bootstrap_servers, topic, tmp_path))
    after = read_rows(spark, settings, columns)
    ledger = before[CLIENT_PUSHES.name], after[CLIENT_PUSHES.name]
    assert set(ledger[0]) < set(ledger[1])
    session = spark.newSession()
    assert "clients" in views.register(session, settings)
    assert session.table("clients").count() >= len(before[CLIENT_INSTANCES.name])
    told = session.sql(
        "select distinct topic, cluster_id is null as is_null from client_pushes"
    )
    assert set(map(tuple, told.collect())) == {
        (FORMER_TOPIC, True),
        (topic, False),
    }


def test_what_a_job_cannot_write_it_names_with_the_command_that_mends_it(
    spark, settings
):
    table = identify_table(spark, settings.tables, CLIENT_PUSHES)
    spark.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('{CONTRACT_VERSION_PROPERTY}' = '2')"
    )
    with pytest.raises(IncompatibleTable, match="client_pushes") as refused:
        ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    command = re.search(r"`(\S+ migrate_tables [^`]*)` would add", str(refused.value))[
        1
    ]
    run_line(spark, command, f"tables.root_path={settings.tables.root_path}")
    ensure_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    assert "cluster_id" in spark.table(table).columns


@pytest.mark.long
def test_one_table_that_is_newer_keeps_all_as_they_are(spark, settings, capsys):
    table = identify_table(spark, settings.tables, CLIENT_PUSHES)
    spark.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('{CONTRACT_VERSION_PROPERTY}' = '99')"
    )
    commits = list_commits(settings)
    with pytest.raises(IncompatibleTable, match=r"client_pushes.*99 is newer than 2"):
        migrate(spark, settings)
    assert list_commits(settings) == commits
    migrate(spark, settings, "--table", "client_configs", "--table", "client_configs")
    told = capsys.readouterr().out
    assert told.count("client_configs: contract version 2 becomes 3") == 1
    assert "client_instances" not in told


def test_two_at_once_both_end(spark, settings):
    faults = []

    def run():
        try:
            job.run(
                spark,
                settings,
                [CLIENT_WIRE_CONFIGS],
                is_dry_run=False,
                say=lambda _line: None,
            )
        except Exception as error:  # noqa: BLE001 - told below
            faults.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    table = identify_table(spark, settings.tables, CLIENT_WIRE_CONFIGS)
    found = read_found_table(spark, table, with_comment=True)
    assert list_all(CLIENT_WIRE_CONFIGS, found) == []


def test_without_tables_there_is_nothing_to_migrate(spark, tmp_path):
    empty = load_settings("local", [f"tables.root_path={tmp_path}/none"])
    with pytest.raises(MissingTable, match=f"{tmp_path}/none: none of these tables"):
        job.run(spark, empty, ALL_CONTRACTS, is_dry_run=False, say=print)
