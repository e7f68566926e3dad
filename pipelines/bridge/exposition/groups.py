"""Kafka's groups of metrics as Prometheus families.

The names are those that Prometheus' JMX exporter gives the metrics of a broker: the
domain, the type of the MBean and the attribute, with `_` for all other characters.
"""

import re
from collections.abc import Iterator, Mapping

from prometheus_client.metrics_core import (
    GaugeMetricFamily,
    Metric,
    UnknownMetricFamily,
)

from .client_labels import ClientLabels

OWN_PREFIX = "kafka_clientele_bridge"
_BROKER_DOMAIN = "kafka.server"
_INSTANCE_LABEL = "client_instance_id"
_NOT_SUMMED = ("-avg", "-max")
_UNSAFE = re.compile(r"[^a-zA-Z0-9_]")


def jmx_name(group: str, name: str) -> str:
    """Return the name that the JMX exporter gives a broker's metric."""
    return _UNSAFE.sub("_", f"{_BROKER_DOMAIN}_{group}_{name}")


def gauge(name: str, help_text: str, value: float) -> Metric:
    """Return a gauge of the bridge itself."""
    return GaugeMetricFamily(f"{OWN_PREFIX}_{name}", help_text, value=value)


def group_metrics(
    group: str,
    values: Mapping[str, float | Mapping[str, float]],
    labels: ClientLabels,
) -> Iterator[Metric]:
    """Return the families of one group.

    Args:
        group: Kafka's name of the group.
        values: Metric name to a number, or to one number per client_instance_id.
        labels: Label values that clients choose.
    """
    for name, value in values.items():
        help_text = f"{name} of Kafka's group {group}"
        if isinstance(value, Mapping):
            family = UnknownMetricFamily(
                jmx_name(group, name), help_text, labels=[_INSTANCE_LABEL]
            )
            are_summed = not name.endswith(_NOT_SUMMED)
            shown = labels.of_instances(value, are_summed=are_summed)
            for instance_id, number in shown.items():
                family.add_metric([instance_id], number)
        else:
            family = UnknownMetricFamily(jmx_name(group, name), help_text, value=value)
        yield family
