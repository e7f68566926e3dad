"""State tables: rows are found by any columns, and committed once."""

import dataclasses
import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import lookups
from pipelines.delta_tables.locations import has_table
from pipelines.delta_tables.retry import StaleVersion, is_conflict
from pipelines.delta_tables.transactions import Transaction
from pipelines.delta_tables.writers import open_writer
from pipelines.errors import MissingTable
from pipelines.settings import load_settings
from pipelines.tables.columns import Column, required
from pipelines.tables.contract import (
    STATISTICS_PROPERTY,
    TableContract,
    create_statement,
)

CONTRACT = TableContract(
    name="things",
    comment="Things.",
    columns=(
        required("id", "STRING", "Key."),
        required("at", "TIMESTAMP", "Key."),
        Column("kind", "STRING", "Kind."),
        Column("number", "INT", "Number."),
        Column("nested", "ARRAY<STRUCT<name: STRING, value: DOUBLE>>", "Values."),
        Column("tags", "MAP<STRING, STRING>", "Tags."),
    ),
    merge_key=("id", "at"),
    contract_version=1,
    properties={STATISTICS_PROPERTY: "id,at"},
)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WRITERS = pytest.mark.parametrize("writer", ["files", "spark"])


def at(second):
    return NOON + timedelta(seconds=second, microseconds=123)


@pytest.fixture
def open_by(spark, tmp_path):
    """Return what opens the table by a writer."""
    root = f"{tmp_path}/with a space"
    settings = load_settings("local", [f"tables.root_path={root}"]).tables

    def make(writer, contract=CONTRACT, observer=lambda _point, _rows: None):
        table = f"delta.`{root}/{contract.name}`"
        if not has_table(spark, table):
            spark.sql(create_statement(contract, table))
        chosen = dataclasses.replace(settings, writer=writer)
        return open_writer(spark, chosen, (contract,), observer)

    return make


def open_state(spark, writer, batch_id, contract=CONTRACT, query_id="query"):
    transaction = Transaction(query_id=query_id, batch_id=batch_id)
    return writer.open_state(spark, contract, transaction)


def rows_of(state, *rows):
    """Return rows of (id, second, kind, number)."""
    made = [
        {
            "id": key,
            "at": at(second),
            "kind": kind,
            "number": number,
            "nested": [{"name": "n", "value": 0.5}] if kind else None,
            "tags": [("a", "b")] if kind else None,
        }
        for key, second, kind, number in rows
    ]
    return pa.Table.from_pylist(made, schema=state.schema)


def keys_of(state, names, *rows):
    schema = pa.schema([state.schema.field(name) for name in names])
    made = [dict(zip(names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(made, schema=schema)


def read(spark, writer):
    rows = writer.read(spark, CONTRACT).select("id", "kind", "number").collect()
    return sorted(map(tuple, rows), key=str)


def find(state, names, *rows):
    found = state.find(keys_of(state, names, *rows), ["id", "number"])
    return sorted((row["id"], row["number"]) for row in found.to_pylist())


@WRITERS
def test_commit_of_new_changed_and_gone_rows_happens_once(spark, open_by, writer):
    told = []
    tables = open_by(writer, observer=lambda *point: told.append(point))
    state = open_state(spark, tables, 0)
    new = rows_of(state, ("a", 1, "k", 1), ("b", 1, None, 2), ("c", 1, "k", 3))
    assert state.commit(new)
    state = open_state(spark, tables, 1)
    changed = rows_of(state, ("b", 1, "k", 20))
    gone = keys_of(state, ("id", "at"), ("c", at(1)))
    more = rows_of(state, ("d", 1, "k", 4))
    assert state.commit(more, changed, gone)
    expected = [("a", "k", 1), ("b", "k", 20), ("d", "k", 4)]
    assert read(spark, tables) == expected
    again = open_state(spark, tables, 1)
    assert not again.commit(rows_of(again, ("e", 1, "k", 5)), changed, gone)
    again = open_state(spark, open_by(writer), 0)
    assert not again.commit(
        again.schema.empty_table(), rows_of(again, ("a", 1, "x", 9))
    )
    assert read(spark, tables) == expected
    assert told[:4] == [
        ("before things", 3),
        ("after things", 3),
        ("before things", 3),
        ("after things", 3),
    ]


@WRITERS
def test_find_with_nulls_and_several_columns_agrees_with_a_join(spark, open_by, writer):
    tables = open_by(writer)
    for batch in range(2):
        state = open_state(spark, tables, batch)
        state.commit(
            rows_of(
                state,
                *(
                    (f"{n % 5}", n + 50 * batch, None if n % 3 else f"k{n % 2}", n)
                    for n in range(50)
                ),
            )
        )
    state = open_state(spark, tables, 2)
    state.commit(state.schema.empty_table(), rows_of(state, ("1", 1, "new", 1000)))
    state = open_state(spark, tables, 3)
    table = state.read()
    cases = [
        (("id",), [("1",), ("9",)]),
        (("kind",), [(None,)]),
        (("kind",), [("new",), (None,)]),
        (("id", "kind"), [("1", None), ("2", "k0"), ("3", "new")]),
        (("id", "at"), [("1", at(1)), ("2", at(1)), ("2", at(52))]),
        (("kind", "number", "id"), [("k0", 6, "1"), ("k0", 6, "2"), (None, 7, "2")]),
    ]
    for names, rows in cases:
        keys = spark.createDataFrame(keys_of(state, names, *rows)).toDF(
            *(f"k_{name}" for name in names)
        )
        agrees = [F.col(name).eqNullSafe(F.col(f"k_{name}")) for name in names]
        joined = table.join(keys, agrees, "left_semi").select("id", "number").collect()
        found = find(state, names, *rows)
        assert found == sorted(map(tuple, joined)), (names, rows)
        assert found, (names, rows)
    assert find(state, ("id",)) == []
    [row] = state.find(keys_of(state, ("id", "at"), ("1", at(1)))).to_pylist()
    assert row["nested"] == [{"name": "n", "value": 0.5}]
    assert row["tags"] == [("a", "b")]
    assert row["at"] == at(1)


def test_find_in_a_table_with_vectors_or_many_rows_is_joined(
    spark, open_by, monkeypatch
):
    tables = open_by("files")
    state = open_state(spark, tables, 0)
    state.commit(rows_of(state, *((f"{n}", n, "k", n) for n in range(20))))
    joined = []
    join = lookups.join_rows
    monkeypatch.setattr(
        "pipelines.delta_tables.states.join_rows",
        lambda *given: joined.append(1) or join(*given),
    )
    assert find(open_state(spark, tables, 1), ("id",), ("7",)) == [("7", 7)]
    assert not joined
    monkeypatch.setattr("pipelines.delta_tables.states.MAX_ROWS", 10)
    assert find(open_state(spark, tables, 1), ("id",), ("7",)) == [("7", 7)]
    assert len(joined) == 1
    # Statistics leave out every file, so that no row is counted.
    late = (("7", at(999)),)
    assert find(open_state(spark, tables, 1), ("id", "at"), *late) == []
    assert len(joined) == 1
    monkeypatch.undo()
    table = tables.names["things"]
    spark.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    )
    DeltaTable.forName(spark, table).delete("id = '7'")
    assert find(open_state(spark, tables, 1), ("id",), ("7",), ("8",)) == [("8", 8)]


def test_commit_after_another_commit_is_a_conflict(spark, open_by):
    tables = open_by("files")
    state = open_state(spark, tables, 0)
    state.commit(rows_of(state, ("a", 1, "k", 1)))
    late, later = (open_state(spark, tables, 0, query_id=name) for name in ("x", "y"))
    other = open_state(spark, tables, 1)
    other.commit(rows_of(other, ("b", 1, "k", 2)))
    with pytest.raises(Py4JJavaError, check=is_conflict):
        late.commit(rows_of(late, ("b", 1, "late", 3)))
    with pytest.raises(StaleVersion):
        later.commit(later.schema.empty_table(), rows_of(later, ("a", 1, "late", 3)))
    assert read(spark, tables) == [("a", "k", 1), ("b", "k", 2)]


def test_commit_of_new_rows_is_one_append_without_a_plan(spark, open_by):
    tables = open_by("files")
    state = open_state(spark, tables, 0)
    state.commit(rows_of(state, ("a", 1, "k", 1)))
    log = Path(tables.folders["things"].removeprefix("file:"), "_delta_log")
    [text] = [path.read_text() for path in log.glob("*1.json")]
    actions = [json.loads(line) for line in text.splitlines()]
    [info] = [one["commitInfo"] for one in actions if "commitInfo" in one]
    assert info["engineInfo"].startswith("Kernel")
    [seen] = [one["txn"] for one in actions if "txn" in one]
    assert (seen["appId"], seen["version"]) == ("query/things/merge", 0)


@WRITERS
def test_a_column_of_the_user_keeps_its_value(spark, open_by, writer):
    tables = open_by(writer)
    state = open_state(spark, tables, 0)
    state.commit(rows_of(state, ("a", 1, "k", 1)))
    table = tables.names["things"]
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (price DECIMAL(9, 2))")
    DeltaTable.forName(spark, table).update(set={"price": F.lit("1.5")})
    state = open_state(spark, tables, 1)
    [row] = state.find(keys_of(state, ("id",), ("a",))).to_pylist()
    assert row["number"] == 1
    state.commit(rows_of(state, ("b", 1, "k", 2)), rows_of(state, ("a", 1, "k", 3)))
    state = open_state(spark, tables, 2)
    state.commit(rows_of(state, ("c", 1, "k", 4)))
    rows = spark.table(table).select("id", "number", F.col("price").cast("string"))
    assert sorted(map(tuple, rows.collect())) == [
        ("a", 3, "1.50"),
        ("b", 2, None),
        ("c", 4, None),
    ]


def test_a_column_that_old_files_lack_is_null(spark, open_by):
    tables = open_by("files")
    state = open_state(spark, tables, 0)
    state.commit(rows_of(state, ("a", 1, "k", 1)))
    spark.sql(f"ALTER TABLE {tables.names['things']} ADD COLUMNS (since TIMESTAMP)")
    since = Column("since", "TIMESTAMP", "Since when.")
    newer = dataclasses.replace(CONTRACT, columns=(*CONTRACT.columns, since))
    state = open_state(spark, tables, 1, newer)
    [row] = state.find(keys_of(state, ("id", "since"), ("a", None))).to_pylist()
    assert (row["id"], row["since"]) == ("a", None)
    assert state.find(keys_of(state, ("since",), (NOON,))).num_rows == 0


def test_a_table_that_was_deleted_gets_no_file(spark, open_by):
    tables = open_by("files")
    state = open_state(spark, tables, 0)
    rows = rows_of(state, ("a", 1, "k", 1))
    folder = tables.folders["things"].removeprefix("file:")
    shutil.rmtree(folder)
    with pytest.raises(MissingTable):
        state.commit(rows)
    assert not Path(folder).exists()


@pytest.mark.long
def test_many_small_files_are_compacted_by_a_later_commit(spark, open_by, monkeypatch):
    monkeypatch.setattr("pipelines.delta_tables.states.MAX_SMALL_FILES", 3)
    compacting = {"delta.autoOptimize.autoCompact": "true"}
    contract = dataclasses.replace(
        CONTRACT, properties=CONTRACT.properties | compacting
    )
    tables = open_by("files", contract)
    spark.conf.set("spark.databricks.delta.autoCompact.minNumFiles", "3")
    try:
        for batch in range(6):
            state = open_state(spark, tables, batch, contract)
            state.commit(rows_of(state, (f"{batch}", 1, "k", batch)))
    finally:
        spark.conf.unset("spark.databricks.delta.autoCompact.minNumFiles")
    files = spark.table(tables.names["things"]).select("_metadata.file_path").distinct()
    assert files.count() < 4
    assert [row[0] for row in read(spark, tables)] == [f"{n}" for n in range(6)]
