"""docs/reference/metrics.md: what /metrics shows, read from the collector itself."""

from collections.abc import Iterable, Iterator

from prometheus_client.metrics_core import Metric

from pipelines.bridge.exposition.client_labels import MOST_LABELS, ClientLabels
from pipelines.bridge.exposition.groups import OWN_PREFIX
from pipelines.bridge.exposition.quota_metrics import NAMES, quota_metrics
from pipelines.bridge.operations.metrics import own_metrics
from pipelines.bridge.quotas.limits import Tags
from pipelines.bridge.quotas.shares import ShareUse
from pipelines.bridge.server import BridgeServer
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from udfs.sensitive.sensitive_keys import compile_rules

from .markdown import code, format_page, format_table

_ALL_PARTS = ("client_config.enabled=true", "dynamic_configs.enabled=true")
_HEAD = (
    "`/metrics` of a bridge, at `bridge.http_host` and `bridge.http_port`. KIP-714's "
    "metrics of a broker have the names that Prometheus' JMX exporter gives them. "
    "Those of the group `client-config` are KIP-1324's, with some of our own, and are "
    "there with `client_config.enabled`, the bridge's own `dynamic_config…` with "
    "`dynamic_configs.enabled`. Those of quotas are KIP-55's, of quota-ids that have a "
    "limit and a client here."
)
_WINDOWS = (
    "Rates are per second, times in milliseconds; rates, averages and maxima cover "
    "Kafka's two windows of 30 s, those of quotas `bridge.quota_window_num` samples. "
    "Of single client instances, and of quota-ids, only "
    "`bridge.metrics_top_instances` are shown. A bridge names at most "
    f"{MOST_LABELS:,} quota-ids and client instances over its life; later ones "
    "share the label `(other)`, except client IDs that a quota names."
)


def format_metrics() -> str:
    """Return the page."""
    families = list(_collect())
    own = [one for one in families if one.name.startswith(OWN_PREFIX)]
    broker = [one for one in families if one not in own]
    return format_page(
        "Metrics of the bridge",
        _HEAD,
        "## As of a broker",
        _WINDOWS,
        _format_families(broker),
        "## The bridge's own",
        _format_families(own),
        "## Events",
        "Labels of `kafka_clientele_bridge_events_total`:",
        ", ".join(code(name) for name in _list_events(own)) + ".",
    )


def _collect() -> Iterator[Metric]:
    settings = load_settings("base", _ALL_PARTS)
    server = BridgeServer(settings, SecretReader(environ={}))
    yield from own_metrics(server.counters, server.watch.state)
    for part in server.parts:
        yield from part.metrics()
    uses = [ShareUse(key, Tags("", ""), 0, 0, 0) for key in NAMES]
    yield from quota_metrics(uses, ClientLabels(compile_rules([], {})))


def _format_families(families: Iterable[Metric]) -> str:
    return format_table(
        ("metric", "type", "meaning"),
        [(code(name_of(one)), one.type, one.documentation) for one in families],
    )


def name_of(family: Metric) -> str:
    """Return the name that the page of a bridge has."""
    endings = {"counter": "_total", "info": "_info"}
    return family.name + endings.get(family.type, "")


def _list_events(families: Iterable[Metric]) -> list[str]:
    (events,) = (one for one in families if one.name == f"{OWN_PREFIX}_events")
    return [sample.labels["event"] for sample in events.samples]
