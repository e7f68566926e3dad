"""What /metrics says of dynamic client configs, where they are served."""

from collections.abc import Iterator

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)

from pipelines.bridge.exposition.groups import OWN_PREFIX, gauge

from .dynamic_counters import DynamicConfigCounters

_MOST_KEYS = 100
"""Keys that are named one by one; another bridge's file may have any number."""


def dynamic_config_metrics(counters: DynamicConfigCounters) -> Iterator[Metric]:
    """Return the families of the store."""
    for name, help_text, value in (
        (
            "dynamic_configs_loaded",
            "1 once the topic has been read to its end",
            counters.is_loaded,
        ),
        ("dynamic_config_entities", "Entities with a config", counters.entities),
        (
            "dynamic_config_registrations",
            "Versions of software whose supported keys are known",
            counters.registrations,
        ),
    ):
        yield gauge(name, help_text, value)
    unknown = GaugeMetricFamily(
        f"{OWN_PREFIX}_dynamic_config_unknown_values",
        "Values set by a bridge with another file of keys, given to no client here",
        labels=["config_key"],
    )
    for key, count in counters.unknown_values.most_common(_MOST_KEYS):
        unknown.add_metric([key], count)
    yield unknown
    unreadable = CounterMetricFamily(
        f"{OWN_PREFIX}_dynamic_config_unreadable_records",
        "Records of the topic that were passed over, by reason",
        labels=["reason"],
    )
    for reason, count in sorted(counters.unreadable_records.items()):
        unreadable.add_metric([reason], count)
    yield unreadable
    for name, help_text, value in (
        ("altered_keys", "Keys set or removed here", counters.altered_keys),
        (
            "failed_alterations",
            "Requests that Kafka did not take in time",
            counters.failed_alterations,
        ),
        (
            "lost_registrations",
            "Supported keys that were not written; clients register again",
            counters.lost_registrations,
        ),
        (
            "faults",
            "Times that the topic could not be read or written",
            counters.faults,
        ),
    ):
        yield CounterMetricFamily(
            f"{OWN_PREFIX}_dynamic_config_{name}", help_text, value=value
        )
