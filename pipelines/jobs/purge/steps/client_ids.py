"""What becomes of rows whose client ids the rules for sensitive entries hide.

Client ids that are hidden become one, and with them their logical clients do; so rows
that were apart may fall together. Rows come in with the new client id, its hashes and
the old ones beside them.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.wire_entries import rank
from pipelines.tables.configs import CLIENT_CONFIG_HISTORY
from pipelines.tables.contract import IS_DELETED, TableContract
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from .entries import select_new_violations
from .history import merge_times

HIDING_RULE = "hiding_rule"
OLD = "old_"
"""Before the name of a column: what the table has now."""


def rename_clients(found: DataFrame, stand_in: str) -> DataFrame:
    """Put the stand-in in the place of client ids; keep hashes under their old names.

    Args:
        found: Rows of a table, with HIDING_RULE.
        stand_in: For client_id.
    """
    hashes = [
        name for name in ("logical_client", "wire_client") if name in found.columns
    ]
    return found.withColumns(
        {"client_id": F.lit(stand_in)} | {OLD + name: F.col(name) for name in hashes}
    )


def select_client_id_violations(
    pushes: DataFrame, violations: DataFrame, client_id_key: str
) -> DataFrame:
    """Return a row of config_violations for each push whose client id is hidden.

    Args:
        pushes: Rows of client_config_pushes, renamed, with HIDING_RULE.
        violations: The table; what it says of a push already is not said again.
        client_id_key: Key of the violation.
    """
    entry = "named_struct('config_value', '')"
    verdict = (
        f"named_struct('rule', {HIDING_RULE}, 'action', 'redact', 'shown_key', "
        f"'{client_id_key}')"
    )
    hits = pushes.withColumns(
        {
            "entries": F.expr(f"array({entry})"),
            "purge": F.expr(f"named_struct('verdicts', array({verdict}))"),
        }
    )
    return select_new_violations(hits, violations)


def select_renamed_history(renamed: DataFrame, history: DataFrame) -> DataFrame:
    """Return rows of client_config_history to put or to delete.

    Args:
        renamed: Rows whose client ids are hidden, renamed and hashed anew.
        history: The table.
    Returns: Its columns and IS_DELETED; of deleted rows only the key counts.
    """
    columns = CLIENT_CONFIG_HISTORY.column_names
    there = _of_same_clients(history, renamed, "logical_client")
    put = merge_times(renamed.select(*columns).unionByName(there.select(*columns)))
    return _with_gone(put, renamed, there, CLIENT_CONFIG_HISTORY)


def select_renamed_wire_configs(renamed: DataFrame, wire: DataFrame) -> DataFrame:
    """Return rows of client_wire_configs to put or to delete.

    Args:
        renamed: Rows whose client ids are hidden, renamed and hashed anew.
        wire: The table.
    Returns: Its columns and IS_DELETED; of rows that fall together the one is put that
        the job would keep, nearly always the newest.
    """
    contract = CLIENT_WIRE_CONFIGS
    columns = contract.column_names
    there = _of_same_clients(wire, renamed, "wire_client").select(*columns)
    order = Window.partitionBy(*contract.merge_key).orderBy(rank().desc())
    put = (
        renamed.select(*columns)
        .unionByName(there)
        .withColumn("place", F.row_number().over(order))
        .where("place = 1")
        .drop("place")
    )
    return _with_gone(put, renamed, there, contract)


def _of_same_clients(table: DataFrame, renamed: DataFrame, client: str) -> DataFrame:
    """Return the rows that the table has of the clients that rows fall to."""
    clients = renamed.select(client).distinct()
    gone = renamed.select(F.col(OLD + client).alias(client)).distinct()
    # A client that is renamed has all its rows renamed.
    return table.join(clients, client, "left_semi").join(gone, client, "left_anti")


def _with_gone(
    put: DataFrame, renamed: DataFrame, there: DataFrame, contract: TableContract
) -> DataFrame:
    """Add the rows of the table that are not put again, as deleted ones."""
    key = list(contract.merge_key)
    old = renamed.select(*(_old(name, renamed).alias(name) for name in key))
    gone = (
        old.unionByName(there.select(*key))
        .distinct()
        .join(put.select(*key), key, "left_anti")
        .withColumn(IS_DELETED, F.lit(col=True))
    )
    return put.withColumn(IS_DELETED, F.lit(col=False)).unionByName(
        gone, allowMissingColumns=True
    )


def _old(name: str, renamed: DataFrame) -> Column:
    return F.col(OLD + name if OLD + name in renamed.columns else name)
