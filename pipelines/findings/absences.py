"""What it means to a rule that a client does not push a metric."""

from functools import cache

from pipelines.reading.reported_metrics import PREFIX
from pipelines.settings.metric_semantics import (
    FAMILIES,
    NEVER,
    SUM,
    ZERO,
    MetricSemantics,
    load_metric_semantics,
)


@cache
def _rows() -> dict[str, MetricSemantics]:
    return {one.metric: one for one in load_metric_semantics()}


def find_semantics(metric: str) -> MetricSemantics | None:
    """Return the semantics of a metric without its prefix; None: it has no row."""
    return _rows().get(f"{PREFIX}{metric}")


def is_left_out(metric: str, family: str) -> bool:
    """Return whether clients of a family leave a metric out if nothing happened."""
    known = find_semantics(metric)
    return known is not None and known.absence(family) == ZERO


def is_zero_if_left_out(metric: str) -> bool:
    """Return whether a metric that is left out has the value 0."""
    known = find_semantics(metric)
    return (
        known is not None
        and known.kind == SUM
        and any(is_left_out(metric, one) for one in FAMILIES)
    )


def list_unable(metrics: tuple[str, ...], client_types: tuple[str, ...]) -> list[str]:
    """Return `family/client_type` of software that has none of some metrics.

    Args:
        metrics: Any of which is enough, without their prefix.
        client_types: Those to judge.
    """
    rows = [(one, find_semantics(one)) for one in metrics]
    unable = []
    for family in FAMILIES:
        for client_type in client_types:
            own = [
                known
                for _, known in rows
                if known is None or known.client_type in {None, client_type}
            ]
            if own and all(one and one.absence(family) == NEVER for one in own):
                unable.append(f"{family}/{client_type}")
    return unable
