"""Suites against rows, by great-expectations, in memory: no file, no service.

Counts come first, of a whole suite in few passes. Keys are asked for afterwards, of
expectations that fail and of nothing else: what holds costs no second look.
"""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import great_expectations as gx
from great_expectations.core import (
    ExpectationSuite,
    ExpectationSuiteValidationResult,
    ExpectationValidationResult,
)
from great_expectations.data_context.data_context.abstract_data_context import (
    AbstractDataContext,
)
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.datasource.fluent.interfaces import Batch
from pyspark.sql import DataFrame

from . import expectations as _ours

KEYS = _ours.KEYS
_COUNTS = {"result_format": "BASIC", _ours.MOST_EXAMPLES: 0}
_KEPT = (
    *("element_count", "unexpected_count", "unexpected_percent", "observed_value"),
    *(_ours.KEY_COLUMNS, KEYS),
)
"""What of a result goes anywhere; lists of values do not."""
Values = dict[str, Any]
_CLASS = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception))\b", re.MULTILINE)
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")


@contextmanager
def quiet_context() -> Iterator[AbstractDataContext]:
    """Yield a context in memory that tells nobody and draws nothing."""
    with warnings.catch_warnings():
        # It warns of options that it sets itself.
        warnings.filterwarnings("ignore", module="great_expectations")
        context = gx.get_context(mode="ephemeral")
        context.enable_analytics(False)
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        yield context


def validate(
    context: AbstractDataContext,
    suite: Mapping[str, Any],
    rows: DataFrame,
    *,
    key: Sequence[str],
    parameters: Mapping[str, Any],
    examples: int,
) -> ExpectationSuiteValidationResult:
    """Check rows by a suite.

    Args:
        suite: As its file has it.
        rows: Gone through a few times.
        key: Columns that name a row.
        parameters: What `$PARAMETER` stands for.
        examples: Keys of failing rows, at most.
    Returns: Counts and keys; no other value.
    """
    batch = _make_batch(context, suite["name"], rows)
    given = dict(parameters)
    result = batch.validate(
        ExpectationSuite(**suite),
        result_format=_COUNTS,
        expectation_parameters=given,
    )
    failed = [name_of(one) for one in result.results if _has_failed(one)]
    again: dict[str, Values] = {}
    if failed and examples:
        told = batch.validate(
            ExpectationSuite(name=suite["name"], expectations=_pick(suite, failed)),
            result_format={
                "result_format": "SUMMARY",
                _ours.MOST_EXAMPLES: examples,
                _ours.KEY_COLUMNS: [*key],
            },
            expectation_parameters=given,
        )
        again = {name_of(one): one.result for one in told.results}
    for one in result.results:
        found = again.get(name_of(one)) or one.result
        one.result = _without_values(found, key)
    return result


def _has_failed(result: ExpectationValidationResult) -> bool:
    return not result.success and find_fault(result) is None


def _pick(suite: Mapping[str, Any], names: Sequence[str]) -> list[Values]:
    return [one for one in suite["expectations"] if one["meta"]["name"] in names]


def _make_batch(context: AbstractDataContext, name: str, rows: DataFrame) -> Batch:
    # Rows that it kept in memory would be all of them.
    source = context.data_sources.add_or_update_spark(name=name, persist=False)
    asset = source.add_dataframe_asset(name=name)
    whole = asset.add_batch_definition_whole_dataframe(name)
    return whole.get_batch(batch_parameters={"dataframe": rows})


def name_of(result: ExpectationValidationResult) -> str:
    """Return the name of an expectation in its file."""
    config = result.expectation_config
    return str(config.meta["name"]) if config else ""


def _without_values(result: Mapping[str, Any], key: Sequence[str]) -> Values:
    kept = {name: result[name] for name in _KEPT if name in result}
    if KEYS in kept:
        # great-expectations puts the column that is checked beside the key.
        kept[KEYS] = [
            {name: row[name] for name in key if name in row} for row in kept[KEYS]
        ]
    return kept


def find_fault(result: ExpectationValidationResult) -> str | None:
    """Return why an expectation was not evaluated; null: it was.

    The text of an exception may hold values: its class is told, and Spark's condition.
    """
    info = result.exception_info or {}
    faults = [info] if "raised_exception" in info else [*info.values()]
    for fault in faults:
        if fault["raised_exception"]:
            told = f"{fault['exception_traceback']}\n{fault['exception_message']}"
            classes, conditions = _CLASS.findall(told), _CONDITION.findall(told)
            return " ".join([*classes[-1:], *conditions[-1:]]) or "an exception"
    return None
