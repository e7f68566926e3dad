"""Takes out of the tables what the rules for sensitive entries hide now.

For use after a rule was tightened. Every table of client configurations, and of what
clients produce and fetch, is judged by itself and rewritten where it has to be,
violations are told, and files of older versions are deleted. A purge that was cut off
is run again: what is right already is not written, and the files that are left over
are deleted then.

The jobs that write these tables keep the rules that they were started with, so they
are stopped before. Nothing breaks where they were not: whoever
loses a conflict repeats its work, and the look at the end names what was written
meanwhile.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.erase import (
    erase_old_files,
    merge_history,
    merge_purged,
)
from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.retry import repeat_on_conflict
from pipelines.delta_tables.setup import ensure_tables
from pipelines.errors import MissingTable, PipelineError
from pipelines.jobs.purge.steps.history import (
    select_purged_history,
    with_history_entries,
)
from pipelines.settings.loading import load_config_catalogs
from pipelines.settings.records import Settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.contract import TableContract
from pipelines.tables.dynamic_configs import DYNAMIC_CONFIG_CONTRACTS
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from udfs.cluster.published_records import BROKER_SOFTWARE
from udfs.sensitive.config_key_names import KEYS_SOFTWARE
from udfs.spark_configs import REDACTED_ID, with_purge_verdicts

from .client_ids import ADVICE, ClientIdPurge
from .dynamic_configs import DynamicPurge
from .steps import entries as steps

UNREACHED = """\
out of reach:
  records of topic {topic}, until its retention deletes them{dynamic}
  client ids in client_pushes, client_metrics, client_instances and quarantine, and
  labels inside pushed metrics
  client_findings (client ids, values that rules of findings have quoted), and keys of
  rows in quality_results
  configs, quotas and client ids in the tables of the cluster
  copies and clones of the tables, backups, checkpoints of jobs of your own
  files that no commit names and that are younger than an hour: run this again then
  Delta's log, until its retention deletes old entries: it names keys and client ids,
  never a value"""

UNREACHED_DYNAMIC = """
  records of topic {topic}, until their configs are altered and it is compacted
  records of topic {registrations}, until bridges forget them"""
OPTIONAL = (CLIENT_WIRE_CONFIGS, CLIENT_TRAFFIC, *DYNAMIC_CONFIG_CONTRACTS)
"""Tables that are not everywhere, since each has a job of its own."""

_logger = logging.getLogger(__name__)


class SecretsRemain(PipelineError):
    """Raised when the tables hold again what was just taken out of them."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one table holds that the rules hide."""

    rows: int
    entries: int


def run(
    spark: SparkSession,
    settings: Settings,
    *,
    is_dry_run: bool,
    say: Callable[[str], None],
) -> None:
    """Purge all tables of client configurations, and what else is reached.

    Args:
        settings: Hold the rules that are in force.
        is_dry_run: Only say what is found.
        say: Prints a line.
    Raises: MissingTable, IncompatibleTable, TooManyConflicts, SecretsRemain,
        UnfinishedBatch.
    """
    tables = _find_tables(spark, settings)
    purge = _Purge(spark, settings, tables)
    clients = ClientIdPurge(spark, tables, purge.rules)
    before, client_ids = purge.count(), clients.count()
    _say_found(before, client_ids, "would be" if is_dry_run else "are", say)
    if is_dry_run:
        return
    purge.dynamic.check_finished()
    # What a version before this one made lacks columns that are written anew.
    contracts = (*CLIENT_CONFIG_CONTRACTS, *OPTIONAL)
    there = [one for one in contracts if one.name in tables]
    ensure_tables(spark, settings.tables, there)
    clients.rewrite({name for name, count in client_ids.items() if count})
    purge.rewrite({name for name, found in before.items() if found.rows})
    for table in tables.values():
        _logger.info("%s: deleting the files of older versions", table)
        erase_old_files(spark, table)
    left = {name for name, found in purge.count().items() if found.rows}
    left |= {name for name, count in clients.count().items() if count}
    if left:
        raise SecretsRemain(
            f"{', '.join(sorted(left))}: a job that was started with other rules wrote "
            f"what was taken out; stop it, and run the same command again"
        )
    say(_tell_unreached(settings, tables))


def _find_tables(spark: SparkSession, settings: Settings) -> dict[str, str]:
    """Return SQL identifiers of the tables that there are, by names of contracts.

    Raises: MissingTable.
    """
    tables = {
        contract.name: identify_table(spark, settings.tables, contract)
        for contract in CLIENT_CONFIG_CONTRACTS
    }
    for table in tables.values():
        if not has_table(spark, table):
            raise MissingTable(f"table {table}: there is none")
    for contract in OPTIONAL:
        table = identify_table(spark, settings.tables, contract)
        if has_table(spark, table):
            tables[contract.name] = table
    return tables


def _say_found(
    found: Mapping[str, Found],
    client_ids: Mapping[str, int],
    done: str,
    say: Callable[[str], None],
) -> None:
    """Say of each table what is taken out."""
    for name in {**found, **client_ids}:
        one, clients = found.get(name), client_ids.get(name)
        if one and one.rows:
            say(f"{name}: {one.entries} entries in {one.rows} rows {done} taken out")
        elif one or not clients:
            say(f"{name}: nothing to take out")
        if clients:
            say(f"{name}: client ids of {clients} rows {done} taken out")


def _tell_unreached(settings: Settings, tables: Mapping[str, str]) -> str:
    """Say what nothing was taken out of."""
    topics = [settings.topics.configs]
    if CLIENT_WIRE_CONFIGS.name in tables:
        topics.append(settings.topics.wire_configs)
    if CLIENT_TRAFFIC.name in tables:
        topics.append(settings.topics.traffic)
    is_dynamic = any(one.name in tables for one in DYNAMIC_CONFIG_CONTRACTS)
    dynamic = UNREACHED_DYNAMIC.format(
        topic=settings.topics.client_configs,
        registrations=settings.topics.client_registrations,
    )
    return UNREACHED.format(
        topic=" and ".join(topics), dynamic=dynamic if is_dynamic else ""
    )


class _Purge:
    """The tables, judged by the rules in force."""

    def __init__(
        self, spark: SparkSession, settings: Settings, tables: Mapping[str, str]
    ) -> None:
        self._spark, self._tables = spark, tables
        self.rules = make_sensitive_key_rules(
            settings.sensitive_keys, load_config_catalogs()
        )
        self.dynamic = DynamicPurge(spark, settings, tables, self.rules)
        # No client is a broker, whose keys are others.
        self._software = sorted(
            {name for one in settings.sensitive_keys.software for name in one.names}
            - {BROKER_SOFTWARE}
        )
        self._writers: Mapping[str, Callable[[], None]] = {
            # The ledger last: what it holds tells the others' violations and software.
            CONFIG_VIOLATIONS.name: self._purge_violations,
            CLIENT_CONFIGS.name: self._purge_configs,
            CLIENT_CONFIG_HISTORY.name: self._purge_history,
            CONFIG_DEFAULTS.name: self._purge_defaults,
            CLIENT_CONFIG_PUSHES.name: self._purge_pushes,
            CLIENT_WIRE_CONFIGS.name: self._purge_wire_configs,
        }

    def count(self) -> dict[str, Found]:
        """Return what each table holds that the rules hide."""
        found = {
            name: rows.agg(F.count("*"), F.sum(steps.FOUND)).collect()[0]
            for name, rows in (
                (CLIENT_CONFIG_PUSHES.name, self._find_in_pushes()),
                (CLIENT_CONFIGS.name, self._find_in_configs()),
                (
                    CLIENT_CONFIG_HISTORY.name,
                    self._find_in_history().dropDuplicates(
                        list(CLIENT_CONFIG_HISTORY.merge_key)
                    ),
                ),
                (CONFIG_DEFAULTS.name, self._find_in_defaults()),
                *self._find_in_wire_configs(),
                *self.dynamic.find().items(),
            )
        }
        keys = self._find_in_keys().count()
        counts = {name: Found(row[0], row[1] or 0) for name, row in found.items()}
        return counts | {CONFIG_VIOLATIONS.name: Found(keys, keys)}

    def rewrite(self, names: set[str]) -> None:
        """Rewrite the tables that hold what the rules hide."""
        if CLIENT_CONFIG_PUSHES.name in names:
            names = names | {CONFIG_VIOLATIONS.name}
        for name, write in self._writers.items():
            if name in names:
                table = self._tables[name]
                repeat_on_conflict(write, what=f"table {table}", advice=ADVICE)
        self.dynamic.rewrite(names)

    def _read(self, contract: TableContract) -> DataFrame:
        return self._spark.table(self._tables[contract.name])

    def _judge(self, rows: DataFrame) -> DataFrame:
        return rows.transform(with_purge_verdicts, self.rules)

    def _find_in_pushes(self) -> DataFrame:
        pushes = self._read(CLIENT_CONFIG_PUSHES).transform(steps.with_pushed_entries)
        return pushes.transform(self._judge).transform(steps.filter_found)

    def _find_in_configs(self) -> DataFrame:
        configs = self._read(CLIENT_CONFIGS).transform(steps.with_held_entries)
        return configs.transform(self._judge).transform(steps.filter_found)

    def _find_in_history(self) -> DataFrame:
        columns = ("client_instance_id", "client_software_name")
        software = (
            self._read(CLIENT_CONFIG_PUSHES)
            .select(*columns)
            .union(self._read(CLIENT_CONFIGS).select(*columns))
            .distinct()
        )
        history = self._read(CLIENT_CONFIG_HISTORY).transform(
            with_history_entries, software, self._software
        )
        return history.transform(self._judge).transform(steps.filter_found)

    def _find_in_defaults(self) -> DataFrame:
        defaults = self._read(CONFIG_DEFAULTS).transform(steps.with_default_entries)
        return defaults.transform(self._judge).transform(steps.filter_found)

    def _find_in_wire_configs(self) -> Iterator[tuple[str, DataFrame]]:
        """Yield the table's name and rows, where there is that table."""
        contract = CLIENT_WIRE_CONFIGS
        if contract.name in self._tables:
            rows = self._read(contract).transform(
                steps.with_wire_entries, KEYS_SOFTWARE
            )
            found = rows.transform(self._judge).transform(steps.filter_found)
            yield contract.name, found

    def _find_in_keys(self) -> DataFrame:
        violations = self._read(CONFIG_VIOLATIONS).transform(steps.with_key_entries)
        return violations.transform(self._judge).transform(steps.select_shown_keys)

    def _purge_pushes(self) -> None:
        key = (*CLIENT_CONFIG_PUSHES.merge_key, *CLIENT_CONFIG_PUSHES.partition_by)
        rows = self._find_in_pushes().transform(steps.select_purged_pushes, key)
        self._merge(CLIENT_CONFIG_PUSHES, rows, key, ("configs", "content_hash"))

    def _purge_configs(self) -> None:
        rows = self._find_in_configs().transform(steps.select_purged_configs)
        key = ("client_instance_id", "push_id")
        self._merge(CLIENT_CONFIGS, rows, key, ("configs", "content_hash"))

    def _purge_defaults(self) -> None:
        key = CONFIG_DEFAULTS.merge_key
        rows = self._find_in_defaults().transform(steps.select_purged_defaults, key)
        self._merge(CONFIG_DEFAULTS, rows, key, ("conflicting_values",))

    def _purge_wire_configs(self) -> None:
        key = CLIENT_WIRE_CONFIGS.merge_key
        for _, found in self._find_in_wire_configs():
            rows = found.transform(steps.select_purged_wire_configs, key)
            self._merge(CLIENT_WIRE_CONFIGS, rows, key, ("config_value",))

    def _purge_history(self) -> None:
        rows = self._find_in_history().transform(
            select_purged_history, self._read(CLIENT_CONFIG_HISTORY), REDACTED_ID
        )
        table = self._tables[CLIENT_CONFIG_HISTORY.name]
        contract = CLIENT_CONFIG_HISTORY
        with transactions.persisted(rows) as made:
            merge_history(made, table, contract.merge_key, contract.column_names)

    def _purge_violations(self) -> None:
        rows = self._find_in_keys()
        key = CONFIG_VIOLATIONS.merge_key
        self._merge(CONFIG_VIOLATIONS, rows, key, ("config_key",))
        new = self._find_in_pushes().transform(
            steps.select_new_violations, self._read(CONFIG_VIOLATIONS)
        )
        new.writeTo(self._tables[CONFIG_VIOLATIONS.name]).append()

    def _merge(
        self,
        contract: TableContract,
        rows: DataFrame,
        key: tuple[str, ...],
        updated: tuple[str, ...],
    ) -> None:
        # Judged once: MERGE reads its source twice.
        with transactions.persisted(rows) as made:
            merge_purged(made, self._tables[contract.name], key, updated)
