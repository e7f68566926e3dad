"""Rules asked of the clients that live, and the table that keeps what they say.

Evaluated anew from the tables each time. Two that do this at once get in each other's
way and look again.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables import transactions
from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.retry import (
    LostRace,
    is_lost_race,
    repeat_on_conflict,
)
from pipelines.delta_tables.session_settings import session_settings
from pipelines.delta_tables.setup import ensure_tables
from pipelines.delta_tables.writers import TableWriter, open_writer
from pipelines.errors import MissingTable
from pipelines.findings import client_rows
from pipelines.findings.evaluating import FORGIVING, Evaluation, ask_rules
from pipelines.findings.rule_sql import INSTANCES
from pipelines.findings.silencing import with_silences
from pipelines.reading import views
from pipelines.reading.rule_coverage import SOFTWARE
from pipelines.settings.finding_rules import FindingRules
from pipelines.settings.records import Settings
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.findings import (
    CLIENT_FINDINGS,
    FINDING_CONTRACTS,
    FINDING_RUNS,
)
from pipelines.tables.telemetry import CLIENT_INSTANCES
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from . import steps

JOB_NAME = "client_findings"
_SEEN_IN = (CLIENT_INSTANCES, CLIENT_CONFIGS, CLIENT_WIRE_CONFIGS)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """What one evaluation has done."""

    holding: int
    """Findings that hold now, those among them that are not open yet."""
    opened: int
    closed: int
    open: int
    """Findings that are open now."""
    is_first: bool
    """Whether there was no evaluation before: none can be open yet."""


def evaluate(
    spark: SparkSession, settings: Settings, rules: FindingRules, now: datetime
) -> Evaluated:
    """Bring client_findings up to date.

    Args:
        now: The moment that it is about; knows its zone.
    Raises: InvalidSetting, naming file and rule; MissingTable where there is none that
        clients are seen in; TooManyConflicts.
    """
    _check_tables(spark, settings)
    ensure_tables(spark, settings.tables, FINDING_CONTRACTS)
    window = client_rows.window_of(settings.findings, now)
    with session_settings(spark, FORGIVING):
        client_rows.register_sources(spark, settings, rules.rules)
        clients = client_rows.open_clients(spark, rules.rules, window)
        times = client_rows.times_of(window)
        evaluation = ask_rules(spark, clients, rules.rules, times)
        return _keep(spark, settings, rules, evaluation, now)


def _check_tables(spark: SparkSession, settings: Settings) -> None:
    names = (identify_table(spark, settings.tables, one) for one in _SEEN_IN)
    if not any(has_table(spark, one) for one in names):
        raise MissingTable(views.explain_missing(CLIENT_INSTANCES.name, settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Times:
    """The moments of two evaluations."""

    now: datetime
    before: datetime | None


def _keep(
    spark: SparkSession,
    settings: Settings,
    rules: FindingRules,
    evaluation: Evaluation,
    now: datetime,
) -> Evaluated:
    times = _Times(now=now, before=_find_former(spark, settings))
    writer = open_writer(spark, settings.tables, [CLIENT_FINDINGS])
    told = with_silences(
        evaluation.findings, rules.silences, now.astimezone(UTC).date()
    )
    with transactions.persisted(told) as findings:
        done = repeat_on_conflict(
            lambda: _write(spark, writer, findings, evaluation, times),
            what=CLIENT_FINDINGS.name,
            advice="run it again when nothing else evaluates rules",
            is_expected=is_lost_race,
        )
        by_rule = _count_by_rule(findings)
    rows = _tell_run([one.name for one in rules.rules], evaluation, by_rule, now)
    table = identify_table(spark, settings.tables, FINDING_RUNS)
    schema = spark.table(table).schema
    spark.createDataFrame(rows, schema).coalesce(1).writeTo(table).append()
    _logger.info("%s: %s", JOB_NAME, done)
    return done


def _count_by_rule(findings: DataFrame) -> dict[str, int]:
    counts = findings.groupBy("rule").agg(F.count("*").alias("findings"))
    return {row["rule"]: row["findings"] for row in counts.collect()}


def _find_former(spark: SparkSession, settings: Settings) -> datetime | None:
    """Return the moment of the former evaluation; null: there was none."""
    runs = spark.table(identify_table(spark, settings.tables, FINDING_RUNS))
    # As a number: PySpark has times in the zone of the machine.
    ((micros,),) = runs.agg(F.unix_micros(F.max("evaluated_at"))).collect()
    if micros is None:
        return None
    return _EPOCH + timedelta(microseconds=micros)


def _write(
    spark: SparkSession,
    writer: TableWriter,
    findings: DataFrame,
    evaluation: Evaluation,
    times: _Times,
) -> Evaluated:
    # Each commit makes a version, so that no two writes have one number.
    transaction = transactions.Transaction(
        query_id=JOB_NAME, batch_id=writer.read_version(spark, CLIENT_FINDINGS)
    )
    state = writer.open_state(spark, CLIENT_FINDINGS, transaction)
    table = state.read()
    were_open = table.where("until IS NULL")
    unasked = evaluation.find_unjudged(
        were_open.select(*steps.KEY, INSTANCES, "group_id")
    )
    rows = steps.select_changed(
        findings, table, unasked, now=times.now, before=times.before
    )
    with transactions.persisted(rows) as changed:
        is_held = F.col("last_seen") == F.lit(times.now).cast("timestamp")
        counts = changed.agg(
            F.count("*").alias("rows"), F.count_if(is_held).alias("holding")
        )
        ((row_count, holding),) = counts.collect()
        before = were_open.count()
        if not state.merge(changed, row_count):
            # Another run read the same version: Delta skipped this commit.
            raise LostRace(CLIENT_FINDINGS.name)
    now_open = writer.read(spark, CLIENT_FINDINGS).where("until IS NULL").count()
    closed = row_count - holding
    return Evaluated(
        holding=holding,
        opened=now_open - before + closed,
        closed=closed,
        open=now_open,
        is_first=times.before is None,
    )


def _tell_run(
    rules: Sequence[str],
    evaluation: Evaluation,
    findings: Mapping[str, int],
    now: datetime,
) -> list[tuple[Any, ...]]:
    """Return a row of finding_runs for each rule: of whom it was asked, and not."""
    counted: dict[str, list[tuple[str, str | None, str, int]]] = {
        one: [] for one in rules
    }
    for row in evaluation.counts.collect():
        told = (row["family"], row["client_type"], row["lacks"], row["clients"])
        counted[row["rule"]].append(told)
    run_id, date = str(uuid4()), now.astimezone(UTC).date()
    rows = []
    for name, coverage in counted.items():
        by_lack: dict[str, int] = {}
        for _, _, lack, count in coverage:
            if lack != SOFTWARE:
                by_lack[lack] = by_lack.get(lack, 0) + count
        missing = {lack: count for lack, count in by_lack.items() if lack}
        total, unasked = sum(by_lack.values()), sum(missing.values())
        found = findings.get(name, 0)
        counts = (total, unasked, missing, found, sorted(coverage, key=str))
        rows.append((run_id, now, date, name, *counts))
    return rows
