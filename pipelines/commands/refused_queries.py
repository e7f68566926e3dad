"""What Spark says of a query that it refuses, in one sentence."""

import re

from pyspark.errors import ParseException, PySparkException

from pipelines.errors import PipelineError
from pipelines.reading import views
from pipelines.settings.records import Settings

from .failures import describe, first_sentence

_MISSING = frozenset(
    {
        "TABLE_OR_VIEW_NOT_FOUND",
        "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
        "UNRESOLVED_ROUTINE",
    }
)
_PLACE = re.compile(r"line (\d+),? pos(ition)? (\d+)")
"""Of a syntax error `pos` counts from 0, of what fails later `position` from 1."""
_CODE = re.compile(r"^\[[\w.]+\]\s*")


class InvalidQuery(PipelineError):
    """Raised when Spark refuses the text of a query."""

    exit_code = 2


def lacks_name(error: PySparkException) -> bool:
    """Say whether a query names a table, view or function that there is not."""
    return error.getCondition() in _MISSING


def refuse_query(error: PySparkException, settings: Settings) -> InvalidQuery:
    """Return what to raise for what Spark said, while its JVM lives.

    Args:
        error: From the query.
    """
    condition = error.getCondition()
    if condition in _MISSING:
        told = error.getMessageParameters() or {}
        name = next(
            (
                told[key]
                for key in ("relationName", "routineName", "name")
                if key in told
            ),
            "",
        ).replace("`", "")
        return InvalidQuery(views.explain_missing(name, settings))
    text = str(getattr(error, "_desc", None) or error)
    if isinstance(error, ParseException):
        sentence = _CODE.sub("", first_sentence(text)).rstrip(".")
        return InvalidQuery(f"the query was refused: {sentence}{_find_place(text)}")
    if condition is None:
        return InvalidQuery(f"the query failed: {describe(error)}")
    return InvalidQuery(
        f"the query was refused: {first_sentence(text)}{_find_place(text)}"
    )


def _find_place(text: str) -> str:
    found = _PLACE.search(text)
    if found is None:
        return ""
    line, is_from_one, place = found.groups()
    return f" (line {line}, column {int(place) + (0 if is_from_one else 1)})"
