"""One run of checks: which tables and rows, what came of it, where that is kept."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.locations import has_table, identify_table
from pipelines.delta_tables.merging import read_version
from pipelines.delta_tables.noted_offsets import read_at
from pipelines.delta_tables.session_settings import session_settings
from pipelines.delta_tables.setup import ensure_tables
from pipelines.errors import ChecksNotInstalled, MissingTable
from pipelines.settings.records import Settings
from pipelines.settings.retention import FOR_EVER, find_first_date, load_retention
from pipelines.tables.contract import TableContract
from pipelines.tables.quality import QUALITY_RESULTS

from . import HOW_TO_INSTALL, is_installed
from .frames import FRAMES, since
from .results import Outcome, format_key
from .suites import CHECKED, VIEW_PREFIX, key_of, read_suite

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult

_DATE = "event_date"
_FEW_ROWS = 20_000
_FOR_FEW_ROWS = {"spark.sql.adaptive.enabled": "false"}
"""There is nothing to adapt to, and each stage would be planned anew."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be checked."""

    tables: Collection[str] = ()
    """Names of contracts; none: all that there are."""
    since: date | None = None
    """First date, where a table has dates; null: the newest one of each table."""
    is_all: bool = False
    """All dates."""
    html: Path | None = None
    """Folder for great-expectations' Data Docs."""


EVERYTHING = Request()
"""All tables, and the newest date of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Rows that a suite is about."""

    suite: str
    table: str
    """What its failures are told of."""
    rows: DataFrame
    key: Sequence[str]
    scope: str
    """Which rows, in words."""
    is_small: bool
    """Whether it is made of few rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """What one run has found."""

    run_id: str
    outcomes: Sequence[Outcome]

    @property
    def failures(self) -> list[Outcome]:
        """Return the expectations that do not hold."""
        return [one for one in self.outcomes if not one.success]


def run(
    spark: SparkSession,
    settings: Settings,
    now: datetime,
    request: Request = EVERYTHING,
) -> CheckRun:
    """Check tables, and append what came of it to quality_results.

    Args:
        now: When the run begins; knows its zone.
    Raises: MissingTable where there is no table to check, ChecksNotInstalled.
    """
    if not is_installed():
        raise ChecksNotInstalled(f"checks need great-expectations: {HOW_TO_INSTALL}")
    from .data_docs import write_docs
    from .validation import quiet_context, validate

    if request.html is not None:
        # Where it cannot be, that is said before anything is looked at.
        request.html.mkdir(parents=True, exist_ok=True)
    parameters = _list_parameters(settings, now)
    kept_from = _list_kept_from(settings, now)
    with (
        opened_tables(spark, settings, request) as (tables, few),
        quiet_context() as context,
    ):
        subjects = list(list_subjects(tables, request, few, kept_from))
        results = []
        for subject in subjects:
            with held(spark, subject) as rows:
                results.append(
                    validate(
                        context,
                        read_suite(subject.suite),
                        rows,
                        key=subject.key,
                        parameters=parameters,
                        examples=settings.check_tables.examples,
                    )
                )
        outcomes = [
            outcome
            for subject, result in zip(subjects, results, strict=True)
            for outcome in _tell(subject, result)
        ]
        outcomes += _tell_missing(tables, request)
        made = CheckRun(run_id=str(uuid4()), outcomes=outcomes)
        _keep(spark, settings, made, now)
        if request.html is not None:
            write_docs(context, results, request.html, now)
    return made


def _list_parameters(settings: Settings, now: datetime) -> dict[str, int]:
    """Return what `$PARAMETER` may name in a suite."""
    checks = settings.check_tables
    return {
        "now_ms": round((now - _EPOCH).total_seconds() * 1000),
        "stale_intervals": checks.stale_intervals,
        "stale_grace_ms": checks.stale_grace_ms,
        "time_bound_ms": checks.time_bound_ms,
        "full_set_ms": settings.cluster.full_set_ms,
    }


def _list_kept_from(settings: Settings, now: datetime) -> dict[str, date]:
    """Return the first date of each table from whose neighbours nothing has gone.

    Nulls: Tables that keep everything are not there.
    """
    retention = load_retention(settings.maintain_tables.retention_location)
    days = {one.name: retention.of(one.name).days for one in CHECKED}
    return {
        # Records of a date stand among those of the date before.
        name: find_first_date(kept, now) + timedelta(days=1)
        for name, kept in days.items()
        if kept != FOR_EVER
    }


@contextmanager
def opened_tables(
    spark: SparkSession, settings: Settings, request: Request
) -> Iterator[tuple[Mapping[str, DataFrame], Collection[str]]]:
    """Yield the tables that there are, by name, each as it is now until the end.

    Few rows are read once: a question of Delta begins with a look at a table's files,
    which takes longer than they do. The names of these tables come second.

    Raises: MissingTable where one that is asked for is not there, or none is.
    """
    tables: dict[str, DataFrame] = {}
    few: set[str] = set()
    looked_at = _list_looked_at(request)
    # Against the order in which jobs write, so that what is read first is only about
    # what is in the others by then.
    for contract in reversed(CHECKED):
        table = identify_table(spark, settings.tables, contract)
        if has_table(spark, table):
            # Delta counts whole tables by their files.
            is_asked = contract.name in looked_at
            if is_asked and spark.table(table).count() <= _FEW_ROWS:
                few.add(contract.name)
                rows = spark.table(table).localCheckpoint()
            else:
                rows = read_at(spark, table, read_version(spark, table))
            tables[contract.name] = _widened(rows, contract)
    missing = sorted(set(request.tables) - tables.keys())
    if missing or not tables:
        where = settings.tables.catalog_schema or settings.tables.root_path
        asked = ", ".join(missing) or "of the product"
        raise MissingTable(f"there is no table {asked} in {where} to be checked")
    for name, rows in tables.items():
        rows.createOrReplaceTempView(VIEW_PREFIX + name)
    try:
        yield tables, few
    finally:
        for name in tables:
            spark.catalog.dropTempView(VIEW_PREFIX + name)


def _list_looked_at(request: Request) -> set[str]:
    """Return the names of tables that suites go through, where they are there."""
    asked = set(request.tables) or {one.name for one in CHECKED}
    frames = (frame for frame in FRAMES.values() if asked & set(frame.needs))
    return asked.union(*(frame.needs for frame in frames))


@contextmanager
def held(spark: SparkSession, subject: Subject) -> Iterator[DataFrame]:
    """Yield rows that a suite may go through often: few of them stay in memory."""
    if not subject.is_small:
        yield subject.rows
        return
    with session_settings(spark, _FOR_FEW_ROWS):
        yield subject.rows.localCheckpoint()


def _widened(rows: DataFrame, contract: TableContract) -> DataFrame:
    """Add, as nulls, the columns that a table of an older contract lacks."""
    missing = {
        one.name: F.lit(None).cast(one.sql_type)
        for one in contract.columns
        if one.name not in rows.columns
    }
    return rows.withColumns(missing) if missing else rows


def list_subjects(
    tables: Mapping[str, DataFrame],
    request: Request,
    few: Collection[str],
    kept_from: Mapping[str, date],
) -> Iterator[Subject]:
    """Return what is to be checked, table by table.

    Args:
        few: Names of tables that are known to be small.
        kept_from: The first date of tables that is whole. Tables are compared with each
            other from there on: what one has lost the other need not have.
    """
    asked = set(request.tables or tables)
    frames = {
        name: frame
        for name, frame in FRAMES.items()
        if asked & set(frame.needs) and tables.keys() >= set(frame.needs)
    }
    dated = asked.union(*(frame.needs for frame in frames.values()))
    firsts = {
        name: _find_first(rows, request)
        for name, rows in tables.items()
        if name in dated
    }
    small = {
        name
        for name, first in firsts.items()
        if name in few or _is_small(since(tables[name], first))
    }
    for contract in CHECKED:
        if contract.name in asked & tables.keys():
            first = firsts[contract.name]
            yield Subject(
                suite=contract.name,
                table=contract.name,
                rows=since(tables[contract.name], first),
                key=key_of(contract),
                scope=_tell_scope(first),
                is_small=contract.name in small,
            )
    for name, frame in frames.items():
        compared = (*frame.needs, *frame.beside)
        begun = [kept_from.get(one) for one in compared if len(compared) > 1]
        first = max(filter(None, (firsts[frame.needs[0]], *begun)), default=None)
        yield Subject(
            suite=name,
            table=frame.table,
            rows=frame.make(tables, first),
            key=frame.key,
            scope=_tell_scope(first),
            is_small=small >= set(frame.needs),
        )


def _is_small(rows: DataFrame) -> bool:
    return rows.limit(_FEW_ROWS + 1).count() <= _FEW_ROWS


def _find_first(rows: DataFrame, request: Request) -> date | None:
    """Return the first date that is looked at; null: all rows are."""
    if request.is_all or _DATE not in rows.columns:
        return None
    # A clock that is wrong makes dates to come, beside which no other would be seen.
    tomorrow = datetime.now(tz=UTC).date() + timedelta(days=1)
    is_past = F.col(_DATE) <= F.lit(tomorrow)
    dates = rows.agg(F.max(F.when(is_past, F.col(_DATE))), F.max(_DATE))
    ((past, newest),) = dates.collect()
    found: date | None = past or newest
    # The newest one always: it says whether anybody writes.
    return min(filter(None, (found, request.since)), default=None)


def _tell_scope(first: date | None) -> str:
    return "all" if first is None else f"{_DATE} from {first}"


def _tell_missing(
    tables: Mapping[str, DataFrame], request: Request
) -> Iterator[Outcome]:
    """Tell of tables that others are compared with and that are gone.

    The job that makes one of them makes them all.
    """
    asked = set(request.tables or tables)
    for suite, frame in FRAMES.items():
        missing = [name for name in frame.needs if name not in tables]
        if missing and asked & set(frame.needs):
            yield Outcome(
                table=frame.table,
                suite=suite,
                expectation="what_it_is_compared_with_is_there",
                expectation_type="table",
                meaning=f"{' and '.join(frame.needs)} are there together.",
                success=False,
                observed=f"not evaluated: there is no table {', '.join(missing)}",
                checked_rows=None,
                failed_rows=None,
                examples=[],
                scope="all",
            )


def _tell(
    subject: Subject, validated: "ExpectationSuiteValidationResult"
) -> Iterator[Outcome]:
    from .validation import KEYS, find_fault, name_of

    said = {
        one["meta"]["name"]: one for one in read_suite(subject.suite)["expectations"]
    }
    for one in validated.results:
        name, result = name_of(one), one.result
        fault = find_fault(one)
        rows, failed = result.get("element_count"), result.get("unexpected_count")
        counts = f"{failed} of {rows} rows"
        yield Outcome(
            table=subject.table,
            suite=subject.suite,
            expectation=name,
            expectation_type=said[name]["type"],
            meaning=said[name]["description"],
            success=bool(one.success),
            observed=f"not evaluated: {fault}"
            if fault
            else result.get("observed_value", counts),
            checked_rows=rows,
            failed_rows=failed,
            examples=[format_key(key) for key in result.get(KEYS, ())],
            scope=subject.scope,
        )


def _keep(
    spark: SparkSession, settings: Settings, run: CheckRun, now: datetime
) -> None:
    """Append a row for each expectation."""
    ensure_tables(spark, settings.tables, (QUALITY_RESULTS,))
    table = identify_table(spark, settings.tables, QUALITY_RESULTS)
    known: dict[str, Any] = {
        "run_id": run.run_id,
        "checked_at": now,
        "event_date": now.astimezone(UTC).date(),
    }
    rows = [
        tuple((known | asdict(one))[name] for name in QUALITY_RESULTS.column_names)
        for one in run.outcomes
    ]
    schema = spark.table(table).schema
    spark.createDataFrame(rows, schema).coalesce(1).writeTo(table).append()
