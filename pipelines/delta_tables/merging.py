"""One MERGE by key, named by a transaction, through public APIs of Delta and Spark."""

from collections.abc import Iterator
from contextlib import contextmanager

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession

from pipelines.tables.contract import TableContract

from .transactions import Transaction

TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"


def merge_rows(
    rows: DataFrame,
    contract: TableContract,
    table: str,
    transaction: Transaction,
    *,
    is_gone: str | None = None,
) -> bool:
    """Replace or insert one row per merge key, or take it away, once.

    Args:
        rows: The contract's columns, one row per merge key, only rows that differ.
        contract: What the table promises.
        table: SQL identifier of the table.
        transaction: The micro-batch; Delta skips one that it has.
        is_gone: Name of a column of rows: whether nothing comes in its place.
    Returns: Whether Delta ran the MERGE, instead of skipping it.
    """
    # Named one by one, so that a column that a user added stays as it is.
    values: dict[str, str | Column] = {
        f"`{name}`": f"source.`{name}`" for name in contract.column_names
    }
    session = rows.sparkSession
    with _named_transaction(session, contract, transaction):
        merge = (
            DeltaTable.forName(session, table)
            .alias("target")
            .merge(rows.alias("source"), contract.merge_condition)
        )
        comes = "true"
        if is_gone is not None:
            merge = merge.whenMatchedDelete(f"source.`{is_gone}`")
            comes = f"NOT source.`{is_gone}`"
        metrics = (
            merge.whenMatchedUpdate(set=values)
            .whenNotMatchedInsert(condition=comes, values=values)
            .execute()
        )
        # A MERGE that was skipped has no metrics.
        return not metrics.isEmpty()


@contextmanager
def _named_transaction(
    session: SparkSession, contract: TableContract, transaction: Transaction
) -> Iterator[None]:
    """Name the MERGE of a block, which takes its transaction from the session only.

    Spark gives each query a session of its own: there it is set, and taken away.
    """
    session.conf.set(TXN_APP_ID, transaction.merge_app_id(contract))
    session.conf.set(TXN_VERSION, str(transaction.batch_id))
    try:
        yield
    finally:
        session.conf.unset(TXN_VERSION)
        session.conf.unset(TXN_APP_ID)


def read_version(spark: SparkSession, table: str) -> int:
    """Return the number of a table's newest version."""
    newest = DeltaTable.forName(spark, table).history(1).select("version").collect()
    return int(newest[0]["version"])
