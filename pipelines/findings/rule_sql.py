"""The SQL of one rule, checked by Spark on rows that are not there."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from pipelines.errors import InvalidSetting
from pipelines.reading.reported_metrics import MIN_PUSHES
from pipelines.reading.rule_coverage import PUSHES, SOFTWARE
from pipelines.reading.subqueries import only_query
from pipelines.reading.views.client_config_views import CATALOG, DEFAULTS
from pipelines.reading.views.config_catalog_view import number_version
from pipelines.settings.finding_rules import (
    CLIENT_TYPES,
    EITHER,
    SEVERITIES,
    FindingRule,
)
from pipelines.settings.metric_semantics import FAMILIES

from .absences import find_semantics, is_left_out, list_unable

LEVELS = {name: len(SEVERITIES) - place for place, name in enumerate(SEVERITIES)}
"""Severity to a number; the greatest is the most severe, 1 the least."""
ENTITY, INSTANCES = "entity", "client_instance_ids"
"""What a query returns of a thing that is not one client."""
CLIENT = "client_instance_id"
_MARK = "\u0001"
"""Before a number among the texts: those of findings alone are made readable."""
SHOWN_TEXTS = f"""transform_values(texts, (name, text) ->
  IF(NOT startswith(text, '{_MARK}'), text, transform(array(double(substring(text, 2))),
    one -> CASE
      WHEN isnan(one) THEN NULL
      WHEN abs(one) = double('Infinity') THEN IF(one > 0, 'infinite', '-infinite')
      WHEN abs(one) < 1e15 AND (one = floor(one) OR abs(one) >= 1000)
        THEN string(bigint(round(one)))
      WHEN abs(one) < 0.1 THEN string(round(one, 6))
      ELSE string(round(one, 3)) END)[0]))"""
"""Over the column texts: the same, with numbers as people read them."""
_OWN_TIMES = {"from": "window_from", "window_seconds": "window_seconds"}
_TIME_TEXT = "date_format({0}, 'yyyy-MM-dd HH:mm:ss') || ' UTC'"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSql:
    """What is asked of a client's row, or of what a query returns, as SQL."""

    rule: FindingRule
    where: str
    """True where the rule holds; of a query always."""
    texts: str
    """Map of evidence, nulls left out."""
    level: str
    """Of LEVELS, before it is known whether the value is inferred."""
    answer: DataFrame | None
    """Rows that the query returns; None: the rule has no query."""

    @property
    def is_about_clients(self) -> bool:
        """Whether each finding is about one client."""
        return self.answer is None or CLIENT in self.answer.columns

    @property
    def is_meant(self) -> str:
        """SQL over a client's row: whether the rule is about clients of its type."""
        if not self.rule.client_types:
            return "true"
        return f"coalesce(client_type IN ({_listed(self.rule.client_types)}), false)"

    @property
    def is_for_software(self) -> str:
        """SQL over a client's row: whether the rule is for its software."""
        rule, parts = self.rule, ["true"]
        if rule.software:
            named = _listed(rule.software)
            parts.append(f"(family IN ({named}) OR client_software_name IN ({named}))")
        if rule.from_version:
            least = number_version(rule.from_version)
            parts.append(f"coalesce(core_version >= {least}, false)")
        if rule.before_version:
            most = number_version(rule.before_version)
            parts.append(f"coalesce(core_version < {most}, false)")
        if unable := self._list_unable():
            kind = "concat(family, '/', coalesce(client_type, ''))"
            parts.append(f"{kind} NOT IN ({_listed(unable)})")
        return " AND ".join(parts)

    def _list_unable(self) -> tuple[str, ...]:
        """Return `family/client_type` of software that lacks a needed metric."""
        types = self.rule.client_types or CLIENT_TYPES
        groups = (tuple(one.split(EITHER)) for one in self.rule.needs_metrics)
        found = (one for group in groups for one in list_unable(group, types))
        return tuple(dict.fromkeys(found))

    @property
    def lacks(self) -> str:
        """SQL over a client's row: what the rule needs and is not known, else ''."""
        rule = self.rule
        cases = [(f"NOT ({self.is_for_software})", SOFTWARE)]
        cases += [(f"k['{one}'].text IS NULL", one) for one in rule.needs_config]
        for needed in rule.needs_metrics:
            either = needed.split(EITHER)
            known = " OR ".join(_is_known(one) for one in either)
            cases.append((f"NOT ({known})", " or ".join(either)))
        if rule.needs_metrics:
            cases.append((f"window_pushes < {MIN_PUSHES}", PUSHES))
        said = " ".join(f"WHEN {test} THEN '{name}'" for test, name in cases)
        return f"CASE {said} ELSE '' END"

    @property
    def is_inferred(self) -> str:
        """SQL over a client's row: whether nobody has said what decides."""
        sources = f"'{DEFAULTS}', '{CATALOG}'"
        tests = [
            f"coalesce(k['{one}'].source IN ({sources}), false)"
            for one in self.rule.deciding_keys
        ]
        return f"({' OR '.join(tests) or 'false'})"

    @property
    def setting(self) -> str:
        """SQL over a client's row: the client's own name of what is to be set."""
        name = self.rule.setting
        own = f"'{name}'"
        if name in self.rule.config_keys:
            return f"coalesce(k['{name}'].name, {own})"
        return own

    @property
    def current(self) -> str:
        """SQL over a client's row: the value of what is to be set; null: not known."""
        name = self.rule.setting
        is_read = name in self.rule.config_keys
        return f"k['{name}'].text" if is_read else "CAST(NULL AS STRING)"


def _is_known(metric: str) -> str:
    """Return SQL: whether a client still tells a metric, or told that nothing happened.

    A metric that was only NaN, or that is left out if nothing happened, is known.
    """
    is_known = f"coalesce(w['{metric}'].reported_at >= fresh_since, false)"
    if any(is_left_out(metric, one) for one in FAMILIES):
        is_quiet = f"coalesce(array_contains(quiet, '{metric}'), false)"
        is_known = f"({is_known} OR {is_quiet})"
    known = find_semantics(metric)
    if known is None or known.usable_from is None:
        return is_known
    family, release = known.usable_from
    is_right = f"coalesce(core_version >= {number_version(release)}, false)"
    return f"({is_known} AND (family <> '{family}' OR {is_right}))"


def make_rule_sql(
    spark: SparkSession,
    rule: FindingRule,
    blank: DataFrame,
    times: Mapping[str, str],
) -> RuleSql:
    """Return the SQL of a rule, after Spark has analysed each part of it.

    Args:
        blank: Has the columns of a client's row, and no row.
        times: What `$name` stands for beside the rule's limits.
    Raises: InvalidSetting, naming file and rule.
    """
    query = only_query(rule.fill(rule.query, times)) if rule.query else ""
    # A client's row says its own window.
    times = times if query else {**times, **_OWN_TIMES}
    frame = blank
    if query:
        try:
            frame = spark.sql(query)
        except PySparkException as error:
            raise _refuse(rule, "query", error) from None
        _check_columns(rule, frame)
    tests = {name: rule.fill(sql, times) for name, sql in rule.severity_when.items()}
    evidence = {name: rule.fill(sql, times) for name, sql in rule.evidence.items()}
    where = rule.fill(rule.where, times) or "true"
    named = {
        "where": where,
        **{f"severity_when.{name}": sql for name, sql in tests.items()},
        **{f"evidence.{name}": sql for name, sql in evidence.items()},
    }
    kinds = _analyse(rule, frame, named)
    for name in ("where", *(f"severity_when.{name}" for name in tests)):
        if not isinstance(kinds[name], BooleanType):
            raise InvalidSetting(f"{rule.place}: {name}: is neither true nor false")
    return RuleSql(
        rule=rule,
        where=f"coalesce({where}, false)",
        texts=_map_texts(
            {
                name: _as_text(f"({sql})", kinds[f"evidence.{name}"])
                for name, sql in evidence.items()
            }
        ),
        level=_level(rule, tests),
        answer=frame if query else None,
    )


def _check_columns(rule: FindingRule, frame: DataFrame) -> None:
    if CLIENT in frame.columns or {ENTITY, INSTANCES} <= {*frame.columns}:
        return
    raise InvalidSetting(
        f"{rule.place}: query: returns neither {CLIENT} nor {ENTITY} and {INSTANCES}"
    )


def _analyse(
    rule: FindingRule, frame: DataFrame, named: Mapping[str, str]
) -> dict[str, DataType]:
    """Return the types of all parts. Raises: InvalidSetting, naming the part."""
    one = frame.columns[0]

    def ask(parts: Mapping[str, str]) -> dict[str, DataType]:
        # In a struct, beside a column: what sums up or makes rows is refused there.
        columns = [F.expr(f"struct(({sql}))") for sql in parts.values()]
        kinds = frame.select(F.col(f"`{one}`"), *columns).schema.fields[1:]
        return {
            name: kind.dataType.fields[0].dataType  # type: ignore[attr-defined]
            for name, kind in zip(parts, kinds, strict=True)
        }

    try:
        return ask(named)
    except PySparkException:
        for name, sql in named.items():
            try:
                ask({name: sql})
            except PySparkException as error:
                raise _refuse(rule, name, error) from None
        raise


def _refuse(rule: FindingRule, part: str, error: PySparkException) -> InvalidSetting:
    reason = str(error).strip().split("\n", 1)[0].removesuffix(";")
    return InvalidSetting(f"{rule.place}: {part}: {reason}")


def _level(rule: FindingRule, tests: Mapping[str, str]) -> str:
    cases = [
        f"WHEN coalesce({tests[name]}, false) THEN {LEVELS[name]}"
        for name in SEVERITIES
        if name in tests
    ]
    usual = LEVELS[rule.severity]
    return f"CASE {' '.join(cases)} ELSE {usual} END" if cases else str(usual)


def _map_texts(texts: Mapping[str, str]) -> str:
    pairs = ", ".join(f"'{name}', {text}" for name, text in texts.items())
    if not pairs:
        return "CAST(map() AS MAP<STRING, STRING>)"
    return f"map_filter(map({pairs}), (name, text) -> text IS NOT NULL)"


def _as_text(sql: str, kind: DataType) -> str:
    """Return SQL for a value as people read it; null stays null."""
    if isinstance(kind, StringType):
        return sql
    if isinstance(kind, DoubleType | FloatType | DecimalType):
        return f"concat('{_MARK}', double({sql}))"
    if isinstance(kind, TimestampType):
        return _TIME_TEXT.format(sql)
    if isinstance(kind, ArrayType) and not isinstance(
        kind.elementType, ArrayType | MapType | StructType
    ):
        return f"array_join(CAST({sql} AS ARRAY<STRING>), ', ')"
    if isinstance(kind, ArrayType | MapType | StructType):
        return f"to_json({sql})"
    return f"CAST({sql} AS STRING)"


def _listed(names: tuple[str, ...]) -> str:
    quoted = (name.replace("\\", "\\\\").replace("'", "\\'") for name in names)
    return ", ".join(f"'{name}'" for name in quoted)
