"""What becomes of rows whose client ids the rules for sensitive entries hide.

Client ids that are hidden become one, and with them their logical clients do; so rows
that were apart may fall together. Rows come in with the new client id, its hashes and
the old ones beside them.
"""

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.traffic_sums import add_up
from pipelines.tables.configs import CLIENT_CONFIG_HISTORY
from pipelines.tables.contract import IS_DELETED, TableContract
from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
)
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from .entries import select_new_violations
from .history import merge_times

HIDING_RULE = "hiding_rule"
OLD = "old_"
"""Before the name of a column: what the table has now."""


def rename_clients(found: DataFrame, stand_in: str) -> DataFrame:
    """Put the stand-in in the place of client ids; keep what was under old names.

    Args:
        found: Rows of a table, with HIDING_RULE.
        stand_in: For client_id.
    """
    changed = ("client_id", "logical_client", "wire_client")
    kept = {OLD + name: F.col(name) for name in changed if name in found.columns}
    return found.withColumns({"client_id": F.lit(stand_in)} | kept)


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
    rows = renamed.select(*columns).unionByName(there)
    put = _keep_greatest(rows, contract.merge_key, F.struct(*contract.newest_by))
    return _with_gone(put, renamed, there, contract)


def select_renamed_traffic(renamed: DataFrame, traffic: DataFrame) -> DataFrame:
    """Return rows of client_traffic to put or to delete: of one key they are added up.

    Args:
        renamed: Rows whose client ids are hidden, renamed.
        traffic: The table.
    Returns: Its columns and IS_DELETED.
    """
    key = CLIENT_TRAFFIC.merge_key

    def add(rows: DataFrame) -> DataFrame:
        return rows.groupBy(*key).agg(*add_up())

    return _fall_together(renamed, traffic, CLIENT_TRAFFIC, key, add)


def select_renamed_registrations(
    renamed: DataFrame, registrations: DataFrame
) -> DataFrame:
    """Return rows of client_supported_configs to put or to delete: the last one stays.

    Args:
        renamed: Rows whose client ids are hidden, renamed.
        registrations: The table.
    Returns: Its columns and IS_DELETED.
    """
    contract = CLIENT_SUPPORTED_CONFIGS
    key = contract.merge_key

    def keep(rows: DataFrame) -> DataFrame:
        return _keep_greatest(rows, key, F.struct("registered_at", "offset"))

    return _fall_together(renamed, registrations, contract, key, keep)


def select_renamed_dynamic_configs(renamed: DataFrame, configs: DataFrame) -> DataFrame:
    """Return rows of dynamic_client_configs to put or to delete.

    Args:
        renamed: Rows whose client ids are hidden, renamed.
        configs: The table.
    Returns: Its columns and IS_DELETED; values that fall to one key of an entity end
        where the next one begins, of those that begin at once the last one stays.
    """
    contract = DYNAMIC_CLIENT_CONFIGS
    *thing, valid_from = contract.merge_key
    order = Window.partitionBy(*thing).orderBy(valid_from)

    def cut(rows: DataFrame) -> DataFrame:
        kept = _keep_greatest(rows, contract.merge_key, F.struct("offset"))
        ends = F.least("valid_to", F.lead(valid_from).over(order))
        ended = kept.withColumn("valid_to", ends)
        return ended.withColumn("is_current", F.col("valid_to").isNull())

    return _fall_together(renamed, configs, contract, thing, cut)


def with_entity_client(changes: DataFrame) -> DataFrame:
    """Add client_id to rows of dynamic_client_config_changes, null where there is none.

    Args:
        changes: The table; its entities are paths as `quota_entity_path` makes them.
    """
    part = "nullif(get(split(entity, '/'), 3), '<default>')"
    return changes.withColumn("client_id", F.expr(f"url_decode({part})"))


def rename_entities(found: DataFrame, stand_in: str) -> DataFrame:
    """Put the stand-in in the place of the client ids of entities.

    Args:
        found: Rows with a client id in their entity.
        stand_in: Percent-encoded.
    """
    parts = F.slice(F.split("entity", "/"), 1, 3)
    return found.withColumn("entity", F.concat_ws("/", parts, F.lit(stand_in)))


def _keep_greatest(rows: DataFrame, key: Sequence[str], by: Column) -> DataFrame:
    order = Window.partitionBy(*key).orderBy(by.desc())
    placed = rows.withColumn("place", F.row_number().over(order))
    return placed.where("place = 1").drop("place")


def _fall_together(
    renamed: DataFrame,
    table: DataFrame,
    contract: TableContract,
    thing: Sequence[str],
    combine: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """Combine rows with those that the table has of the same thing."""
    columns = contract.column_names
    things = renamed.select(*thing).distinct()
    there = table.join(things, [*thing], "left_semi").select(*columns)
    put = combine(renamed.select(*columns).unionByName(there)).select(*columns)
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
