"""`metric_semantics`: what each metric of Kafka's clients means."""

from collections.abc import Iterator

from pipelines.settings.metric_semantics import MetricSemantics, load_metric_semantics
from pipelines.tables.contract import quote_text

from .view import View

METRIC_SEMANTICS = "metric_semantics"
_COLUMNS = (
    "metric, client_type, unit, kind, levels, over_nodes, over_parts, over_instances, "
    "over_time, weight, java, librdkafka, franz_go, requirement, usable_from, "
    "description"
)


def metric_semantics_sql() -> str:
    """Return the SQL of the view.

    Raises: InvalidSetting, if the file of conf/ is wrong.
    """
    rows = ", ".join(f"({', '.join(_cells(one))})" for one in load_metric_semantics())
    return f"VALUES {rows} AS {METRIC_SEMANTICS} ({_COLUMNS})"


def _cells(one: MetricSemantics) -> Iterator[str]:
    yield quote_text(one.metric)
    yield _text(one.client_type)
    yield quote_text(one.unit)
    yield quote_text(one.kind)
    yield f"array({', '.join(map(quote_text, one.levels))})"
    for word in (one.over_nodes, one.over_parts, one.over_instances, one.over_time):
        yield quote_text(word)
    yield _text(one.weight)
    for word in (one.java, one.librdkafka, one.franz_go):
        yield quote_text(word)
    yield _text(one.requirement)
    yield _text(" ".join(one.usable_from) if one.usable_from else None)
    yield quote_text(one.description)


def _text(text: str | None) -> str:
    return "CAST(NULL AS STRING)" if text is None else quote_text(text)


VIEW = View(
    name=METRIC_SEMANTICS,
    row="A metric that clients are known to push, as `conf/metric_semantics.csv` has "
    "it: `unit`, `kind`, `levels` (`client`, `node`, `topic`, `partition`), how its "
    "values combine over nodes, over topics and partitions, over instances and over "
    "time, and what its absence means for `java`, `librdkafka` and `franz_go`: `zero` "
    "(nothing happened), `unknown` (not subscribed, or the client cannot say) or "
    "`never` (the software does not have it). `weight` is the metric that weighs a "
    "`weighted mean`. Values of clients before the release in `usable_from` are wrong.",
    sql=lambda _: metric_semantics_sql(),
    needs=frozenset(),
    made_by="client_telemetry_to_delta",
)
