"""Expectations of ours, as classes of great-expectations: it loads them by their type.

Each is about rows that fail, and names some of their keys where a result format has
`unexpected_index_column_names`. No value beside a key is in a result.
"""

from typing import Any, ClassVar

from great_expectations.core import ExpectationValidationResult
from great_expectations.execution_engine.execution_engine import ExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.expectation_configuration import (
    ExpectationConfiguration,
)
from great_expectations.expectations.registry import get_metric_kwargs
from great_expectations.render.components import (
    LegacyRendererType,
    RenderedStringTemplateContent,
)
from great_expectations.render.renderer.renderer import renderer
from great_expectations.validator.metric_configuration import MetricConfiguration
from great_expectations.validator.validator import ValidationDependencies
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from . import metrics as m

KEY_COLUMNS = "unexpected_index_column_names"
"""Of a result format: columns that name a row."""
MOST_EXAMPLES = "partial_unexpected_count"
KEYS = "partial_unexpected_index_list"
"""Of a result: keys of some of the rows that fail."""
_TIME_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
_ROW_COUNT = "table.row_count"

Values = dict[str, Any]
Parameter = dict[str, Any]
"""`{"$PARAMETER": name}`, in whose place a run puts a value."""


class OurExpectation(BatchExpectation):
    """An expectation whose description says what it expects."""

    @classmethod
    def is_abstract(cls) -> bool:
        """Say whether nothing of a table is asked for."""
        return not cls.metric_dependencies or super().is_abstract()

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(
        cls,
        configuration: ExpectationConfiguration | None = None,
        result: ExpectationValidationResult | None = None,  # noqa: ARG003 - its interface
        runtime_configuration: Values | None = None,  # noqa: ARG003 - the same
    ) -> list[RenderedStringTemplateContent]:
        told = configuration.description if configuration else None
        return [
            RenderedStringTemplateContent(
                content_block_type="string_template",
                string_template={"template": "$told", "params": {"told": told or ""}},
            )
        ]


class RowsExpectation(OurExpectation):
    """Something about rows that may fail for some of them."""

    count_metric: ClassVar[str | None] = None
    """Says how many fail; null: rows_metric does."""
    rows_metric: ClassVar[str]
    """Says which."""

    def get_validation_dependencies(
        self,
        execution_engine: ExecutionEngine[Any] | None = None,
        runtime_configuration: Values | None = None,
    ) -> ValidationDependencies:
        """Return the metrics that are needed."""
        found = super().get_validation_dependencies(
            execution_engine, runtime_configuration
        )
        if self.count_metric is None or found.result_format.get(KEY_COLUMNS):
            given = get_metric_kwargs(
                self.rows_metric, self.configuration, runtime_configuration
            )
            needed = MetricConfiguration(
                self.rows_metric,
                given["metric_domain_kwargs"],
                given["metric_value_kwargs"],
            )
            found.set_metric_configuration(self.rows_metric, needed)
        return found

    def _validate(
        self,
        metrics: Values,
        runtime_configuration: Values | None = None,
        execution_engine: ExecutionEngine[Any] | None = None,  # noqa: ARG002 - its interface
    ) -> Values:
        asked: Any = self._get_result_format(
            runtime_configuration=runtime_configuration
        )
        columns = asked.get(KEY_COLUMNS) if isinstance(asked, dict) else None
        failed = (
            metrics[self.rows_metric].count()
            if self.count_metric is None
            else metrics[self.count_metric]
        )
        rows = metrics[_ROW_COUNT]
        result: Values = {
            "element_count": rows,
            "unexpected_count": failed,
            "unexpected_percent": failed / rows * 100 if rows else 0.0,
        }
        if columns and failed:
            found = _select_keys(
                metrics[self.rows_metric], columns, asked[MOST_EXAMPLES]
            )
            result |= {KEY_COLUMNS: columns, KEYS: found}
        return {"success": failed == 0, "result": result}


class ExpectRowsToSatisfy(RowsExpectation):
    """Expect a condition in Spark's SQL to be true of each row."""

    condition: str
    limit: int | Parameter | None = None
    """Stands in the condition as {limit}."""

    count_metric = m.UNSATISFIED
    rows_metric = m.UNSATISFIED_ROWS
    metric_dependencies = (_ROW_COUNT, m.UNSATISFIED)
    success_keys = ("condition", "limit")


class ExpectKeysToBeUnique(RowsExpectation):
    """Expect no two rows to have the same key; nulls are equal."""

    column_list: list[str]
    only_where: str | None = None
    """Condition of the rows that are looked at."""

    rows_metric = m.REPEATED_ROWS
    metric_dependencies = (_ROW_COUNT,)
    success_keys = ("column_list", "only_where")


class ExpectTimesNotToOverlap(RowsExpectation):
    """Expect valid_from to valid_to of the rows of a key to follow each other."""

    column_list: list[str]
    only_where: str | None = None

    rows_metric = m.OVERLAPPING_ROWS
    metric_dependencies = (_ROW_COUNT,)
    success_keys = ("column_list", "only_where")


class ExpectKeysToBeKnown(RowsExpectation):
    """Expect another table to have a row for each row; one with a null has none."""

    column_list: list[str]
    other_table: str
    """Name of a contract; it is there under that name and suites.VIEW_PREFIX."""
    other_columns: list[str]
    """What the columns are called there."""
    only_where: str | None = None

    rows_metric = m.UNKNOWN_ROWS
    metric_dependencies = (_ROW_COUNT,)
    success_keys = ("column_list", "other_table", "other_columns", "only_where")


class ExpectNewestRowToBeRecent(OurExpectation):
    """Expect a table that has rows to have been written to of late."""

    column: str
    """Time of a row."""
    interval: str | Parameter
    """Milliseconds between two writes: SQL about a row, or a number."""
    intervals: int | Parameter
    """How many may pass; 0: any."""
    grace_ms: int | Parameter
    now_ms: int | Parameter
    only_where: str | None = None
    """Condition of the rows that are looked at."""

    metric_dependencies = (_ROW_COUNT, m.NEWEST)
    success_keys = (
        *("column", "interval", "intervals", "grace_ms", "now_ms", "only_where"),
    )

    def _validate(
        self,
        metrics: Values,
        runtime_configuration: Values | None = None,  # noqa: ARG002 - its interface
        execution_engine: ExecutionEngine[Any] | None = None,  # noqa: ARG002 - the same
    ) -> Values:
        asked = self._get_success_kwargs()
        newest, interval = metrics[m.NEWEST]
        result: Values = {"element_count": metrics[_ROW_COUNT]}
        if newest is None or interval is None:
            return {"success": True, "result": result | {"observed_value": "no row"}}
        age = asked["now_ms"] - newest
        allowed = asked["intervals"] * interval + asked["grace_ms"]
        told = f"newest row is {age // 1000} s old, {allowed // 1000} s are allowed"
        # A time to come says nothing of who writes now, and hides who does not.
        is_recent = not asked["intervals"] or -asked["grace_ms"] <= age <= allowed
        return {"success": is_recent, "result": result | {"observed_value": told}}


def _select_keys(rows: DataFrame, key: list[str], most: int) -> list[Values]:
    """Return keys of some rows, the least first, so that two runs name the same.

    Of what is about a part of the key alone, that part.
    """
    columns = [name for name in key if name in rows.columns]
    first = rows.select(*columns).orderBy(*columns).limit(most)
    texts = [
        F.date_format(name, _TIME_FORMAT).alias(name)
        if first.schema[name].dataType.typeName() == "timestamp"
        else F.col(name)
        for name in columns
    ]
    found = [row.asDict() for row in first.select(*texts).collect()]
    return [key for place, key in enumerate(found) if key not in found[:place]]
