"""The keys of conf/ as frozen records; `loading.py` fills them.

Each key states its meaning, unit, range and default once, here: the loader checks
them, conf/base.toml and the page of settings are made of them.
"""

from dataclasses import dataclass

from .client_config_settings import (
    ClientConfigSettings,
    ConfigJobSettings,
    SensitiveKeySettings,
    WireConfigJobSettings,
)
from .cluster_settings import ClusterSettings
from .dynamic_config_settings import DynamicConfigSettings
from .finding_settings import FindingSettings
from .forward_settings import ForwardSettings
from .kafka_settings import KafkaSettings, UpstreamSettings
from .keys import MAX_INT32, MAX_PORT, key
from .listener_records import (
    AuthenticationSettings,
    LimitSettings,
    ListenerSettings,
)
from .proxy_settings import ProxySettings
from .quota_settings import EffectiveQuotaSettings
from .stream_job_settings import (
    ClusterJobSettings,
    DynamicConfigJobSettings,
    JobsSettings,
    TelemetryJobSettings,
    TrafficJobSettings,
)
from .table_job_settings import CheckSettings, MaintenanceSettings, ReplaySettings
from .topic_settings import TopicSettings
from .watching_settings import WatchingSettings

COMPRESSION_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
MAX_TELEMETRY_BYTES = 999_900_000
"""librdkafka sends records of up to 10^9 bytes, headers included."""
MAX_UNACKNOWLEDGED_BYTES = 2**39
"""Twice as much, in kB, still is an int32, which librdkafka takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeSettings:
    """The Kafka-protocol endpoint that clients push to."""

    bridge_id: str = key(
        "Name of this bridge in the records that it writes.",
        default="bridge-1",
    )
    listener: str = key(
        "Name of the listener in the records that it writes.",
        default="PLAINTEXT",
    )
    listen_host: str = key(
        "Address to listen on.",
        default="127.0.0.1",
    )
    listen_port: int = key(
        "Port to listen on; 0 takes a free one.",
        high=MAX_PORT,
        default=9192,
    )
    advertised_host: str = key(
        "Host that clients are told in Metadata; empty: listen_host.",
        default="",
    )
    advertised_port: int = key(
        "Port that clients are told in Metadata; 0: the one listened on.",
        high=MAX_PORT,
        default=0,
    )
    cluster_id: str = key(
        "Cluster id that Metadata answers.",
        default="kafka-clientele",
    )
    node_id: int = key(
        "Node id that Metadata answers.",
        high=MAX_INT32,
        default=1,
    )
    max_request_bytes: int = key(
        "Largest request; a longer one closes the connection, as a broker does.",
        unit="bytes",
        low=1024,
        high=MAX_INT32,
        default=8_388_608,
    )
    telemetry_max_bytes: int = key(
        "Largest Metrics field of a push, as sent (compressed). Kafka's "
        "telemetry.max.bytes has the same default.",
        unit="bytes",
        low=1,
        high=MAX_TELEMETRY_BYTES,
        default=1_048_576,
    )
    accepted_compression_types: tuple[str, ...] = key(
        "Codecs offered to clients, preferred first, in the order of Apache Kafka's "
        "brokers; none is always accepted.",
        choices=COMPRESSION_NAMES[1:],
        default=["zstd", "lz4", "gzip", "snappy"],
    )
    max_client_instances: int = key(
        "Client instances remembered; the one least recently heard of is forgotten "
        "first.",
        low=1,
        default=1_000_000,
    )
    publish_timeout_ms: int = key(
        "Longest wait for Kafka's acknowledgement before a push is refused as "
        "throttled; below the clients' request timeout of 30 s.",
        unit="ms",
        low=1,
        high=29_000,
        default=10_000,
    )
    max_unacknowledged_bytes: int = key(
        "Pushes held in memory while Kafka has not acknowledged them.",
        unit="bytes",
        low=1024,
        high=MAX_UNACKNOWLEDGED_BYTES,
        default=67_108_864,
    )
    workers: int = key(
        "Processes that serve the same addresses and share nothing; one per core is "
        "enough. Each has max_unacknowledged_bytes and max_client_instances of its "
        "own, and its own pages: the first at http_port, the others at the ports "
        "behind it.",
        low=1,
        high=256,
        default=1,
    )
    drain_timeout_ms: int = key(
        "Longest wait for pushes in flight when the bridge stops.",
        unit="ms",
        default=10_000,
    )
    http_host: str = key(
        "Address of the pages /metrics, /healthz and /readyz. They know no passwords: "
        "whoever can connect may read them.",
        default="127.0.0.1",
    )
    http_port: int = key(
        "Port of these pages; 0 takes a free one, -1 serves none.",
        low=-1,
        high=MAX_PORT,
        default=9193,
    )
    metrics_top_instances: int = key(
        "Client instances that /metrics shows one by one: the first ones, then those "
        "that are throttled or not stored most often.",
        high=1_000,
        default=100,
    )
    log_format: str = key(
        "Lines of the bridge's log: text (console), or one JSON object each.",
        choices=("console", "json"),
        default="console",
    )
    subscriptions_source: str = key(
        "Whose client-metrics subscriptions are in force: cluster (the CLIENT_METRICS "
        "resources of the clients' cluster: [upstream], or [kafka] where that names "
        "none), conf ([[subscriptions]] below) or both; with both, a resource of the "
        "cluster stands before the subscription of conf that has its name.",
        choices=("both", "cluster", "conf"),
        default="both",
    )
    subscriptions_poll_ms: int = key(
        "Time between two looks at the subscriptions of the clients' cluster.",
        unit="ms",
        low=100,
        high=60_000,
        default=2000,
    )
    admin_principals: tuple[str, ...] = key(
        'Principals, as "User:admin", that may show and change the client-metrics '
        "subscriptions and the quotas of the clients' cluster through the bridge, and "
        "show who has SCRAM credentials there, with the bridge's own rights, and "
        "dynamic client configs; by default none. Clients without a login are "
        '"User:ANONYMOUS".',
        default=[],
    )
    quotas_enforced: bool = key(
        "Whether quotas of the clients' cluster hold at the bridge, too: "
        "request_percentage and push_quota of users and client ids, and "
        "connection_creation_rate of addresses.",
        default=True,
    )
    quotas_poll_ms: int = key(
        "Time between two looks at the quotas of the clients' cluster.",
        unit="ms",
        low=100,
        high=60_000,
        default=2000,
    )
    push_quota: str = key(
        "Quota that bytes of pushes and of pushed configurations count against; "
        "empty: none, as with Kafka's own brokers.",
        choices=("", "producer_byte_rate", "consumer_byte_rate"),
        default="producer_byte_rate",
    )
    quota_window_num: int = key(
        "Samples that a rate is over, as Kafka's quota.window.num; all but one of "
        "them may be used up at once.",
        low=2,
        high=1_000,
        default=11,
    )
    quota_window_size_ms: int = key(
        "Time of a sample, as Kafka's quota.window.size.seconds; nobody waits longer "
        "for request_percentage.",
        unit="ms",
        low=100,
        high=3_600_000,
        default=1000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionSettings:
    """Who is asked for which metrics, in the words of Kafka's CLIENT_METRICS."""

    name: str = key(
        "Name of the subscription.",
    )
    metrics: tuple[str, ...] = key(
        'Metric name prefixes; "*" is all of them.',
    )
    interval_ms: int = key(
        "Time between two pushes of a client. Kafka's default; as in Kafka, clients "
        "are told at most 300 000.",
        unit="ms",
        low=100,
        high=3_600_000,
    )
    match: tuple[str, ...] = key(
        "Selectors key=pattern (client_id, client_instance_id, client_software_name, "
        "client_software_version, client_source_address, client_source_port). All must "
        "match; no selector matches everyone.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """Where the Delta tables are."""

    root_path: str = key(
        "Folder of path tables; used when catalog_schema is empty.",
        default="data/tables",
    )
    catalog_schema: str = key(
        "catalog.schema (or schema) of catalog tables.",
        default="",
    )
    writer: str = key(
        "How tables are written: by files of the workers that Delta Kernel commits "
        "(files), by DataFrames of Spark (spark), or by files if Delta Kernel can "
        "write all tables of the job (auto).",
        choices=("auto", "files", "spark"),
        default="auto",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of conf/ for one environment."""

    kafka: KafkaSettings
    topics: TopicSettings
    bridge: BridgeSettings
    listeners: tuple[ListenerSettings, ...] = key(
        "Addresses that clients connect to. When there are any, they stand for "
        "bridge.listener, bridge.listen_* and bridge.advertised_*, which are one "
        "PLAINTEXT listener. In a file of your own, one [[listeners]] table each; "
        "docs/guide/listeners-and-login.md has examples.",
        default=[],
    )
    authentication: AuthenticationSettings
    limits: LimitSettings
    proxy: ProxySettings
    upstream: UpstreamSettings
    cluster: ClusterSettings
    subscriptions: tuple[SubscriptionSettings, ...] = key(
        "Client-metrics subscriptions, beside those of the clients' cluster.",
        default=[
            {
                "name": "all-clients",
                "metrics": ["*"],
                "interval_ms": 300_000,
                "match": [],
            }
        ],
    )
    client_config: ClientConfigSettings
    dynamic_configs: DynamicConfigSettings
    sensitive_keys: SensitiveKeySettings
    forward: ForwardSettings
    tables: TableSettings
    client_telemetry_to_delta: TelemetryJobSettings
    client_configs_to_delta: ConfigJobSettings
    client_wire_configs_to_delta: WireConfigJobSettings
    client_traffic_to_delta: TrafficJobSettings
    cluster_metadata_to_delta: ClusterJobSettings
    dynamic_configs_to_delta: DynamicConfigJobSettings
    jobs: JobsSettings
    effective_quotas: EffectiveQuotaSettings
    replay_pushes: ReplaySettings
    maintain_tables: MaintenanceSettings
    check_tables: CheckSettings
    findings: FindingSettings
    watching: WatchingSettings
