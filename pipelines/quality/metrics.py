"""What our expectations ask of rows, as metrics of great-expectations for Spark.

Aggregates go into one aggregation over the table with all others of a suite, as
great-expectations puts together its own. Other metrics are the rows that fail, as a
DataFrame that nothing has computed yet.
"""

from collections.abc import Mapping
from typing import Any

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.core.metric_function_types import MetricPartialFunctionTypes
from great_expectations.execution_engine.sparkdf_execution_engine import (
    SparkDFExecutionEngine,
)
from great_expectations.expectations.metrics.metric_provider import (
    metric_partial,
    metric_value,
)
from great_expectations.expectations.metrics.table_metric_provider import (
    TableMetricProvider,
)
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .suites import VIEW_PREFIX

UNSATISFIED, UNSATISFIED_ROWS = "rows.unsatisfied", "rows.unsatisfied.rows"
REPEATED_ROWS = "rows.repeated.rows"
OVERLAPPING_ROWS = "rows.overlapping.rows"
UNKNOWN_ROWS = "rows.unknown.rows"
NEWEST = "rows.newest"

Kwargs = Mapping[str, Any]

_aggregate = metric_partial(
    engine=SparkDFExecutionEngine,
    partial_fn_type=MetricPartialFunctionTypes.AGGREGATE_FN,
    domain_type=MetricDomainTypes.TABLE,
)
_value = metric_value(engine=SparkDFExecutionEngine)


def _is_unsatisfied(asked: Kwargs) -> Column:
    """Return whether a row fails a condition; one that is null fails it."""
    condition = asked["condition"].replace("{limit}", str(asked["limit"]))
    return ~F.coalesce(F.expr(condition), F.lit(False))


def _read(engine: SparkDFExecutionEngine, domain: Kwargs) -> DataFrame:
    rows: DataFrame = engine.get_domain_records(domain_kwargs=dict(domain))
    return rows


def _read_some(
    engine: SparkDFExecutionEngine, domain: Kwargs, asked: Kwargs
) -> DataFrame:
    rows = _read(engine, domain)
    return rows.where(asked["only_where"]) if asked["only_where"] else rows


class Unsatisfied(TableMetricProvider):
    """How many rows fail a condition."""

    metric_name = UNSATISFIED
    value_keys = ("condition", "limit")

    @_aggregate
    def _spark(
        cls,
        metric_domain_kwargs: Kwargs,
        metric_value_kwargs: Kwargs,
        **_others: object,
    ) -> tuple[Column, Kwargs, Kwargs]:
        failed = F.count_if(_is_unsatisfied(metric_value_kwargs))
        return failed, metric_domain_kwargs, {}


class UnsatisfiedRows(TableMetricProvider):
    """Rows that fail a condition."""

    metric_name = UNSATISFIED_ROWS
    value_keys = ("condition", "limit")

    @_value
    def _spark(
        cls,
        execution_engine: SparkDFExecutionEngine,
        metric_domain_kwargs: Kwargs,
        metric_value_kwargs: Kwargs,
        **_others: object,
    ) -> DataFrame:
        rows = _read(execution_engine, metric_domain_kwargs)
        return rows.where(_is_unsatisfied(metric_value_kwargs))


class RepeatedRows(TableMetricProvider):
    """Keys that several rows have."""

    metric_name = REPEATED_ROWS
    value_keys = ("column_list", "only_where")

    @_value
    def _spark(
        cls,
        execution_engine: SparkDFExecutionEngine,
        metric_domain_kwargs: Kwargs,
        metric_value_kwargs: Kwargs,
        **_others: object,
    ) -> DataFrame:
        rows = _read_some(execution_engine, metric_domain_kwargs, metric_value_kwargs)
        counted = rows.groupBy(*metric_value_kwargs["column_list"]).count()
        return counted.where("count > 1").drop("count")


class OverlappingRows(TableMetricProvider):
    """Rows whose time goes on when that of the next row of their key has begun."""

    metric_name = OVERLAPPING_ROWS
    value_keys = ("column_list", "only_where")

    @_value
    def _spark(
        cls,
        execution_engine: SparkDFExecutionEngine,
        metric_domain_kwargs: Kwargs,
        metric_value_kwargs: Kwargs,
        **_others: object,
    ) -> DataFrame:
        rows = _read_some(execution_engine, metric_domain_kwargs, metric_value_kwargs)
        keys = metric_value_kwargs["column_list"]
        in_order = Window.partitionBy(*keys).orderBy("valid_from", "valid_to")
        following = F.lead("valid_from").over(in_order)
        goes_on = F.col("valid_to").isNull() | (F.col("valid_to") > F.col("following"))
        kept = rows.select(
            *keys, "valid_from", "valid_to", following.alias("following")
        )
        return kept.where(F.col("following").isNotNull() & goes_on)


class UnknownRows(TableMetricProvider):
    """Rows that another table has nothing for."""

    metric_name = UNKNOWN_ROWS
    value_keys = ("column_list", "only_where", "other_table", "other_columns")

    @_value
    def _spark(
        cls,
        execution_engine: SparkDFExecutionEngine,
        metric_domain_kwargs: Kwargs,
        metric_value_kwargs: Kwargs,
        **_others: object,
    ) -> DataFrame:
        asked = metric_value_kwargs
        rows = _read_some(execution_engine, metric_domain_kwargs, asked)
        other = rows.sparkSession.table(VIEW_PREFIX + asked["other_table"])
        pairs = zip(asked["column_list"], asked["other_columns"], strict=True)
        renamed = other.select(*(F.col(there).alias(here) for here, there in pairs))
        return rows.join(renamed, [*asked["column_list"]], "left_anti")


class Newest(TableMetricProvider):
    """The newest time of rows, and their longest interval, both in milliseconds."""

    metric_name = NEWEST
    value_keys = ("column", "interval", "only_where")

    @_aggregate
    def _spark(
        cls,
        metric_domain_kwargs: Kwargs,
        metric_value_kwargs: Kwargs,
        **_others: object,
    ) -> tuple[Column, Kwargs, Kwargs]:
        is_asked = F.expr(metric_value_kwargs["only_where"] or "true")
        time = F.unix_millis(metric_value_kwargs["column"])
        newest = F.max(F.when(is_asked, time))
        interval = F.max(F.expr(str(metric_value_kwargs["interval"])).cast("bigint"))
        return F.array(newest, interval), metric_domain_kwargs, {}
