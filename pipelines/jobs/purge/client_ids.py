"""Takes client ids that the rules hide out of the tables that purge_secrets reaches.

A table is judged and rewritten by itself, the ledger last, as with entries; what was
cut off is done by the next run.
"""

from collections.abc import Callable, Mapping
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables import transactions
from pipelines.delta_tables.erase import merge_history, merge_purged
from pipelines.delta_tables.retry import repeat_on_conflict
from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.contract import TableContract
from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
    DYNAMIC_CONFIG_CHANGES,
)
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from udfs.cluster.record_keys import sanitize
from udfs.sensitive.client_ids import CLIENT_ID_KEY, HIDDEN_CLIENT_ID
from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.spark_configs import with_client_id_rules, with_text_hash

from .steps import client_ids as steps

ADVICE = "stop the job that writes it, and run the same command again"
"""What to do where a running job changes the same files each time."""
_LOGICAL_CLIENT = ("principal", "client_id", "client_type")
_WIRE_CLIENT = (*_LOGICAL_CLIENT, "client_source_address")
_REPLACED = (
    (CLIENT_CONFIG_HISTORY, steps.select_renamed_history),
    (CLIENT_WIRE_CONFIGS, steps.select_renamed_wire_configs),
    (CLIENT_TRAFFIC, steps.select_renamed_traffic),
    (DYNAMIC_CLIENT_CONFIGS, steps.select_renamed_dynamic_configs),
    (CLIENT_SUPPORTED_CONFIGS, steps.select_renamed_registrations),
)
"""Tables of which rows may fall together, and what becomes of them."""


class ClientIdPurge:
    """The client ids of the tables, judged by the rules in force."""

    def __init__(
        self,
        spark: SparkSession,
        tables: Mapping[str, str],
        rules: SensitiveKeyRules,
    ) -> None:
        """Take what is there.

        Args:
            tables: SQL identifiers by the names of contracts.
            rules: Those in force.
        """
        self._spark, self._tables, self._rules = spark, tables, rules
        self._writers: tuple[tuple[TableContract, Callable[[], None]], ...] = (
            (CONFIG_VIOLATIONS, self._purge_violations),
            (CLIENT_CONFIGS, self._purge_configs),
            *(
                (contract, partial(self._replace, contract, select))
                for contract, select in _REPLACED
            ),
            (DYNAMIC_CONFIG_CHANGES, self._purge_changes),
            (CLIENT_CONFIG_PUSHES, self._purge_pushes),
        )

    def count(self) -> dict[str, int]:
        """Return how many rows of each table have a client id that the rules hide."""
        return {
            contract.name: self._find(contract).count()
            for contract, _ in self._writers
            if contract.name in self._tables
        }

    def rewrite(self, names: set[str]) -> None:
        """Rewrite these tables.

        Raises: TooManyConflicts.
        """
        if CLIENT_CONFIG_PUSHES.name in names:
            names = names | {CONFIG_VIOLATIONS.name}
        for contract, write in self._writers:
            if contract.name in names:
                table = self._tables[contract.name]
                repeat_on_conflict(write, what=f"table {table}", advice=ADVICE)

    def _find(self, contract: TableContract) -> DataFrame:
        rows = self._spark.table(self._tables[contract.name])
        if contract is DYNAMIC_CONFIG_CHANGES:
            rows = rows.transform(steps.with_entity_client)
        judged = rows.where("client_id IS NOT NULL").transform(
            with_client_id_rules, self._rules
        )
        return judged.where(f"{steps.HIDING_RULE} IS NOT NULL")

    def _rename(self, contract: TableContract) -> DataFrame:
        """Return the rows to change, as they will be, with their old hashes."""
        rows = self._find(contract).transform(steps.rename_clients, HIDDEN_CLIENT_ID)
        hashed = {"logical_client": _LOGICAL_CLIENT, "wire_client": _WIRE_CLIENT}
        for name, columns in hashed.items():
            if name in contract.column_names:
                rows = rows.transform(with_text_hash, name, columns)
        return rows

    def _purge_violations(self) -> None:
        table = self._tables[CONFIG_VIOLATIONS.name]
        key = CONFIG_VIOLATIONS.merge_key
        rows = self._rename(CONFIG_VIOLATIONS).select(*key, "client_id")
        with transactions.persisted(rows) as made:
            merge_purged(made, table, key, ("client_id",))
        new = steps.select_client_id_violations(
            self._rename(CLIENT_CONFIG_PUSHES), self._spark.table(table), CLIENT_ID_KEY
        )
        new.writeTo(table).append()

    def _purge_configs(self) -> None:
        self._merge(CLIENT_CONFIGS, ("client_instance_id", "push_id"))

    def _purge_pushes(self) -> None:
        contract = CLIENT_CONFIG_PUSHES
        self._merge(contract, (*contract.merge_key, *contract.partition_by))

    def _merge(self, contract: TableContract, key: tuple[str, ...]) -> None:
        updated = ("client_id", "logical_client")
        rows = self._rename(contract).select(*key, *updated)
        with transactions.persisted(rows) as made:
            merge_purged(made, self._tables[contract.name], key, updated)

    def _purge_changes(self) -> None:
        contract = DYNAMIC_CONFIG_CHANGES
        stand_in = sanitize(HIDDEN_CLIENT_ID)
        found = self._find(contract).transform(steps.rename_entities, stand_in)
        with transactions.persisted(
            found.select(*contract.merge_key, "entity")
        ) as made:
            table = self._tables[contract.name]
            merge_purged(made, table, contract.merge_key, ("entity",))

    def _replace(
        self,
        contract: TableContract,
        select: Callable[[DataFrame, DataFrame], DataFrame],
    ) -> None:
        table = self._tables[contract.name]
        rows = select(self._rename(contract), self._spark.table(table))
        with transactions.persisted(rows) as made:
            merge_history(made, table, contract.merge_key, contract.column_names)
