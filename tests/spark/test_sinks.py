"""A micro-batch that runs twice is written once."""

import json
import threading
from pathlib import Path

import pytest
from pyspark.testing import assertDataFrameEqual

from pipelines.delta_tables import merging, transactions
from pipelines.tables.columns import Column, required
from pipelines.tables.contract import TableContract, create_statement

CONTRACT = TableContract(
    name="things",
    comment="Things.",
    columns=(required("id", "BIGINT", "Key."), Column("text", "STRING", "Text.")),
    merge_key=("id",),
    contract_version=1,
)
SCHEMA = "id BIGINT, text STRING"
BARRIER_TIMEOUT_S = 120


@pytest.fixture(params=["path", "catalog"])
def table(spark, tmp_path, request):
    name = f"default.things_{tmp_path.name.strip('_')}"
    name = name if request.param == "catalog" else f"delta.`{tmp_path}/things`"
    spark.sql(create_statement(CONTRACT, name))
    return name


def make_rows(spark, *rows):
    return spark.createDataFrame(rows, SCHEMA)


def transaction(batch_id, query_id="query"):
    return transactions.Transaction(query_id=query_id, batch_id=batch_id)


def read_app_ids(folder):
    """Return the application ids that a table's log names, one per commit."""
    log = sorted(Path(folder, "_delta_log").glob("*.json"))
    lines = [line for file in log for line in file.read_text().splitlines()]
    actions = map(json.loads, lines)
    return [action["txn"]["appId"] for action in actions if "txn" in action]


@pytest.mark.long
def test_a_merge_of_the_same_batch_is_skipped(spark, table):
    merge = (CONTRACT, table)
    merging.merge_rows(make_rows(spark, (1, "a"), (2, "b")), *merge, transaction(0))
    merging.merge_rows(make_rows(spark, (1, "again")), *merge, transaction(0))
    merging.merge_rows(make_rows(spark, (2, "c"), (3, "d")), *merge, transaction(1))
    expected = make_rows(spark, (1, "a"), (2, "c"), (3, "d"))
    assertDataFrameEqual(spark.table(table), expected)


def test_a_merge_leaves_the_session_without_a_transaction(spark, table):
    merging.merge_rows(make_rows(spark, (1, "a")), CONTRACT, table, transaction(0))
    with pytest.raises(ValueError, match="not a number of a batch"):
        merging.merge_rows(_FailingRows(spark), CONTRACT, table, transaction(1))
    assert spark.conf.get(merging.TXN_APP_ID, None) is None
    assert spark.conf.get(merging.TXN_VERSION, None) is None


class _FailingRows:
    """Rows of a plan that fails while MERGE is built."""

    def __init__(self, spark):
        self.sparkSession = spark

    def alias(self, _name):
        raise ValueError("not a number of a batch")


def test_two_streams_at_once_keep_their_transactions_apart(spark, tmp_path):
    """MERGE reads its transaction from a session: each query must have its own."""
    source = tmp_path / "source"
    make_rows(spark, (1, "a")).write.format("delta").save(str(source))
    both_are_merging = threading.Barrier(2)
    queries = [
        _start_merging(spark, tmp_path, name, both_are_merging) for name in ("a", "b")
    ]
    for query in queries:
        query.awaitTermination()
    for name, query in zip(("a", "b"), queries, strict=True):
        assert read_app_ids(tmp_path / name) == [f"{query.id}/things/merge"]
    assert spark.conf.get(merging.TXN_APP_ID, None) is None


def _start_merging(spark, folder, name, both_are_merging):
    table = f"delta.`{folder}/{name}`"
    spark.sql(create_statement(CONTRACT, table))

    def write(rows, batch_id):
        txn = transactions.Transaction(
            query_id=transactions.read_query_id(rows), batch_id=batch_id
        )
        session = rows.sparkSession
        session.conf.set(merging.TXN_APP_ID, "set by this stream")
        both_are_merging.wait(BARRIER_TIMEOUT_S)
        merging.merge_rows(rows, CONTRACT, table, txn)
        both_are_merging.wait(BARRIER_TIMEOUT_S)

    records = spark.readStream.format("delta").load(str(folder / "source"))
    return transactions.start_batches(
        records,
        write,
        query_name=f"merging_{name}",
        checkpoint_location=str(folder / f"checkpoint_{name}"),
        trigger_interval_ms=None,
    )


def test_a_query_id_is_asked_for_inside_a_query_only(spark):
    with pytest.raises(RuntimeError, match="named by its query"):
        transactions.read_query_id(make_rows(spark, (1, "a")))
