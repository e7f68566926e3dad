"""Prometheus families of the feed."""

from collections.abc import Iterator

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)

from .records import FeedCounters

PREFIX = "kafka_clientele_bridge"
"""The feed has the names of its usual host, also if it runs alone."""


def feed_metrics(feed: FeedCounters) -> Iterator[Metric]:
    """Return the families that count what this process has exported."""
    yield GaugeMetricFamily(
        f"{PREFIX}_feeding",
        "1 while this bridge feeds topics.cluster",
        value=feed.is_feeding,
    )
    for name, help_text, value in (
        ("feed_elections", "Times that this bridge became the feed", feed.elections),
        ("feed_looks", "Looks at brokers, or answers of a controller", feed.looks),
        ("feed_full_sets", "Full sets published", feed.full_sets),
        ("feed_withheld_values", "Values left out as secrets", feed.withheld_values),
    ):
        yield CounterMetricFamily(f"{PREFIX}_{name}", help_text, value=value)
    for name, help_text, counts in (
        ("feed_records", "Records published, by type", feed.published),
        (
            "feed_passed_records",
            "Records of the metadata log that are never published, by type",
            feed.passed_over,
        ),
    ):
        family = CounterMetricFamily(
            f"{PREFIX}_{name}", help_text, labels=["record_type"]
        )
        for record_type, count in sorted(counts.items()):
            family.add_metric([record_type], count)
        yield family
    faults = CounterMetricFamily(
        f"{PREFIX}_feed_faults",
        "Requests of the feed without an answer, by what they asked for",
        labels=["part", "fault"],
    )
    for (part, fault), count in sorted(feed.faults.items()):
        faults.add_metric([part, fault], count)
    yield faults
