"""Tables are created, widened, or refused by name."""

import dataclasses
import threading

import pytest

from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.setup import ensure_tables
from pipelines.errors import IncompatibleTable, MissingTable
from pipelines.settings import load_settings
from pipelines.tables.columns import Column, required
from pipelines.tables.contract import CONTRACT_VERSION_PROPERTY, TableContract
from pipelines.tables.telemetry import TELEMETRY_CONTRACTS

OLD = TableContract(
    name="things",
    comment="It's a thing; `quoted` \\ too.",
    columns=(required("id", "BIGINT", "Key."), Column("day", "DATE", "Day; it's one.")),
    merge_key=("id",),
    contract_version=1,
    partition_by=("day",),
    properties={"delta.logRetentionDuration": "interval 60 days"},
)
NEW = dataclasses.replace(
    OLD, columns=(*OLD.columns, Column("text", "STRING", "Text.")), contract_version=2
)


@pytest.fixture(params=["path", "catalog"])
def tables(tmp_path, request):
    schema = f"contracts_{tmp_path.name.strip('_')}"
    # A dot parts the names of a catalog, and nothing in a path.
    root = tmp_path / ".tables" / "v1.2"
    place = {"path": f"root_path={root}", "catalog": f"catalog_schema={schema}"}
    return load_settings("base", [f"tables.{place[request.param]}"]).tables


@pytest.fixture
def path_tables(tmp_path):
    return load_settings("base", [f"tables.root_path={tmp_path}"]).tables


def read_property(spark, table, name):
    rows = spark.sql(f"SHOW TBLPROPERTIES {table}").collect()
    return {row["key"]: row["value"] for row in rows}.get(name)


def read_columns(spark, table):
    rows = spark.sql(f"DESCRIBE TABLE {table}").collect()
    listed = [(row["col_name"], row["comment"]) for row in rows]
    return listed[: len(spark.table(table).columns)]


def test_every_table_of_the_product_is_made_with_all_its_comments(spark, tables):
    ensure_tables(spark, tables, TELEMETRY_CONTRACTS)
    ensure_tables(spark, tables, TELEMETRY_CONTRACTS)
    for contract in TELEMETRY_CONTRACTS:
        table = identify_table(spark, tables, contract)
        assert read_columns(spark, table) == [
            (column.name, column.comment) for column in contract.columns
        ]
        detail = spark.sql(f"DESCRIBE DETAIL {table}").first()
        assert detail["description"] == contract.comment
        assert tuple(detail["partitionColumns"]) == contract.partition_by
        required_columns = {c.name for c in contract.columns if not c.is_nullable}
        fields = spark.table(table).schema.fields
        assert {f.name for f in fields if not f.nullable} == required_columns


def test_an_older_table_gets_the_new_columns_and_keeps_its_rows(spark, tables):
    ensure_tables(spark, tables, [OLD])
    table = identify_table(spark, tables, OLD)
    rows = spark.createDataFrame([(1, None)], "id BIGINT, day DATE")
    rows.writeTo(table).append()
    ensure_tables(spark, tables, [NEW])
    assert [tuple(row) for row in spark.table(table).collect()] == [(1, None, None)]
    assert read_columns(spark, table)[-1] == ("text", "Text.")
    assert read_property(spark, table, CONTRACT_VERSION_PROPERTY) == "2"


def test_widening_that_was_cut_off_is_finished(spark, path_tables):
    ensure_tables(spark, path_tables, [OLD])
    table = identify_table(spark, path_tables, OLD)
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (text STRING COMMENT 'Text.')")
    ensure_tables(spark, path_tables, [NEW])
    assert read_property(spark, table, CONTRACT_VERSION_PROPERTY) == "2"


def test_a_newer_table_is_refused_by_name(spark, path_tables):
    ensure_tables(spark, path_tables, [NEW])
    with pytest.raises(IncompatibleTable, match=r"things.*version 2 is newer than 1"):
        ensure_tables(spark, path_tables, [OLD])


STATED = "TBLPROPERTIES ('kafka_clientele.contract_version' = '1')"
BY_DAY = "USING DELTA PARTITIONED BY (day)"


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("(id BIGINT) USING DELTA", "another program wrote it"),
        (
            f"(id BIGINT) USING DELTA {STATED.replace('1', 'x')}",
            "another program wrote it",
        ),
        (
            f"(id STRING, day DATE) {BY_DAY} {STATED}",
            "column id is string, and the contract says BIGINT",
        ),
        (
            f"(text STRING, day DATE) {BY_DAY} {STATED}",
            "has a column id, and the table has none",
        ),
        (f"(id BIGINT, day DATE) USING DELTA {STATED}", "partitioned by"),
        (
            f"(id BIGINT, day DATE, x INT NOT NULL) {BY_DAY} {STATED}",
            "column x must not be null",
        ),
    ],
    ids=["no version", "no number", "type", "column", "partitions", "not null"],
)
def test_a_table_of_another_program_is_refused(spark, path_tables, statement, reason):
    table = identify_table(spark, path_tables, OLD)
    spark.sql(f"CREATE TABLE {table} {statement}")
    with pytest.raises(IncompatibleTable, match=reason):
        ensure_tables(spark, path_tables, [OLD])


def test_a_column_of_the_users_own_is_no_reason_to_refuse(spark, path_tables):
    ensure_tables(spark, path_tables, [OLD])
    table = identify_table(spark, path_tables, OLD)
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (note STRING)")
    ensure_tables(spark, path_tables, [OLD])
    assert "note" in spark.table(table).columns


def test_two_programs_that_start_at_once_both_go_on(spark, path_tables):
    faults = []

    def ensure():
        try:
            ensure_tables(spark, path_tables, [OLD])
            ensure_tables(spark, path_tables, [NEW])
        except IncompatibleTable as error:
            # The other one has widened the table in between: as it should.
            faults.append(str(error))

    threads = [threading.Thread(target=ensure) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table = identify_table(spark, path_tables, NEW)
    assert all("is newer than 1" in fault for fault in faults)
    assert spark.table(table).columns == ["id", "day", "text"]


def test_a_folder_without_a_log_is_no_table(spark, tmp_path):
    assert not has_table(spark, f"delta.`{tmp_path}`")
    assert not has_table(spark, f"delta.`{tmp_path}/nothing`")
    assert not has_table(spark, "`default`.`nothing`")
    assert not has_table(spark, "`nothing`.`nothing`")


def test_files_without_a_log_are_no_table(spark, path_tables, tmp_path):
    folder = tmp_path / OLD.name / "day=2026-03-01"
    folder.mkdir(parents=True)
    (folder / "left.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingTable, match=r"holds files and no _delta_log.*move it"):
        ensure_tables(spark, path_tables, [OLD])
    assert not (tmp_path / OLD.name / "_delta_log").exists()
