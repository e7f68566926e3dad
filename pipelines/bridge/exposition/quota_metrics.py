"""What /metrics says of quotas: KIP-55's metrics under the names of a broker.

A series is a quota-id: both of its tags are always there, and one that does not count
is empty.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prometheus_client.metrics_core import Metric, UnknownMetricFamily

from pipelines.bridge.quotas.limits import Tags
from pipelines.bridge.quotas.shares import ShareUse

from .client_labels import ClientLabels, largest

_DOMAIN = "kafka_server"
_LABELS = ("user", "client_id")


class _Names(NamedTuple):
    """Kafka's names of a quota's metrics."""

    group: str
    rate: str
    meaning: str


NAMES = {
    "request_percentage": _Names(
        "Request", "request_time", "Percent of one worker's thread that is used"
    ),
    "producer_byte_rate": _Names(
        "Produce", "byte_rate", "Bytes of pushes and configurations per second"
    ),
    "consumer_byte_rate": _Names(
        "Fetch", "byte_rate", "Bytes of pushes and configurations per second"
    ),
}
"""By the key of a quota."""


def quota_metrics(
    uses: Iterable[ShareUse], client_labels: ClientLabels
) -> Iterator[Metric]:
    """Return a family for each of Kafka's names that any of the shares has.

    Shares whose labels are the same are one series: rates add up, and the longest wait
    counts.
    """
    by_key: dict[str, dict[Tags, list[ShareUse]]] = {}
    for use in uses:
        labels = client_labels.of_quota(use.tags, is_named=use.is_named)
        by_key.setdefault(use.key, {}).setdefault(labels, []).append(use)
    for key, names in NAMES.items():
        shown = by_key.get(key)
        if shown is None:
            continue
        rates = _family(f"{names.group}_{names.rate}", names.meaning)
        waits = _family(
            f"{names.group}_throttle_time", "Mean time in ms that clients had to wait"
        )
        for labels, alike in shown.items():
            rates.add_metric([*labels], math.fsum(one.rate for one in alike))
            # Where nobody had to wait, a broker says NaN.
            waits.add_metric([*labels], largest(one.throttle_ms for one in alike))
        yield rates
        yield waits


def _family(name: str, help_text: str) -> UnknownMetricFamily:
    return UnknownMetricFamily(f"{_DOMAIN}_{name}", help_text, labels=_LABELS)
