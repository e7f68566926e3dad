"""Takes dynamic client configs that the rules hide out of their tables.

A value that is hidden has no row, as where the job hides it: its row goes. Lines of the
ledger are judged by themselves, so that a value is found wherever it stands.
"""

from collections.abc import Mapping
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.erase import merge_purged
from pipelines.delta_tables.noted_offsets import read_newest_note
from pipelines.delta_tables.retry import repeat_on_conflict
from pipelines.errors import PipelineError
from pipelines.settings.records import Settings
from pipelines.settings.rules import list_software
from pipelines.tables.contract import IS_DELETED, TableContract
from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
    DYNAMIC_CONFIG_CHANGES,
)
from udfs.sensitive.sensitive_keys import SensitiveKeyRules
from udfs.spark_configs import with_shown_dynamic_configs

from .client_ids import ADVICE
from .steps.entries import FOUND

_JUDGED: tuple[tuple[TableContract, str], ...] = (
    (DYNAMIC_CLIENT_CONFIGS, "config_value"),
    (CLIENT_SUPPORTED_CONFIGS, "config_keys"),
    (DYNAMIC_CONFIG_CHANGES, "change"),
)
"""Tables, and the column of each that rules may hide something of."""


class UnfinishedBatch(PipelineError):
    """Raised when a job needs an older version of a table, which a purge deletes."""


class DynamicPurge:
    """The tables of dynamic client configs, judged by the rules in force."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        tables: Mapping[str, str],
        rules: SensitiveKeyRules,
    ) -> None:
        """Take what is there.

        Args:
            tables: SQL identifiers by the names of contracts.
            rules: Those in force.
        """
        self._spark, self._tables, self._rules = spark, tables, rules
        self._software = list_software(settings.sensitive_keys)
        self._judged = [one for one in _JUDGED if one[0].name in tables]

    def check_finished(self) -> None:
        """Refuse tables that are ahead of their ledger.

        Their job would read what they were before the records that it was cut off in.

        Raises: UnfinishedBatch.
        """
        notes = {
            contract.name: read_newest_note(self._spark, self._tables[contract.name])
            for contract, _ in self._judged
        }
        ledger = notes.pop(DYNAMIC_CONFIG_CHANGES.name, None)
        for name, note in notes.items():
            if note and (ledger is None or ledger.is_before(note)):
                raise UnfinishedBatch(
                    f"{name} is ahead of {DYNAMIC_CONFIG_CHANGES.name}: "
                    f"dynamic_configs_to_delta was cut off in a micro-batch; start it, "
                    f"stop it when it has caught up, and run the same command again"
                )

    def find(self) -> dict[str, DataFrame]:
        """Return the rows of each table that rules hide something of, with FOUND."""
        return {c.name: self._find(c, column) for c, column in self._judged}

    def rewrite(self, names: set[str]) -> None:
        """Rewrite these tables.

        Raises: TooManyConflicts.
        """
        for contract, column in self._judged:
            if contract.name in names:
                repeat_on_conflict(
                    partial(self._purge, contract, column),
                    what=f"table {self._tables[contract.name]}",
                    advice=ADVICE,
                )

    def _find(self, contract: TableContract, column: str) -> DataFrame:
        rows = self._spark.table(self._tables[contract.name])
        judged = rows.transform(
            with_shown_dynamic_configs, column, self._rules, self._software
        )
        is_list = contract is CLIENT_SUPPORTED_CONFIGS
        count = F.size(column) - F.size("shown") if is_list else F.lit(1)
        hidden = judged.where(~F.col("shown").eqNullSafe(F.col(column)))
        return hidden.withColumn(FOUND, count)

    def _purge(self, contract: TableContract, column: str) -> None:
        key = contract.merge_key
        rows = self._find(contract, column).select(
            *key,
            F.col("shown").alias(column),
            # Of a value that is hidden nothing is left that could be null.
            F.col("shown").isNull().alias(IS_DELETED),
        )
        with transactions.persisted(rows) as made:
            merge_purged(made, self._tables[contract.name], key, (column,))
