"""The keys of conf/ as frozen records; `settings.py` fills them.

Each key states its meaning, unit and range once, here: the loader checks them and
the reference page prints them.
"""

from dataclasses import dataclass

from .client_config_settings import (
    ClientConfigSettings,
    ConfigJobSettings,
    SensitiveKeySettings,
    WireConfigJobSettings,
)
from .keys import MAX_INT32, MAX_PORT, key
from .listener_records import (
    AuthenticationSettings,
    LimitSettings,
    ListenerSettings,
)
from .proxy_settings import ProxySettings
from .secret_references import SecretReference
from .stream_job_settings import StreamJobSettings

COMPRESSION_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
MAX_TELEMETRY_BYTES = 999_900_000
"""librdkafka sends records of up to 10^9 bytes, headers included."""
MAX_UNACKNOWLEDGED_BYTES = 2**39
"""Twice as much, in kB, still is an int32, which librdkafka takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSettings:
    """The Kafka that holds the topics of the product."""

    bootstrap_servers: str = key("Brokers, as host:port,host:port.")
    security_protocol: str = key(
        "How to connect.",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    )
    sasl_mechanism: str = key(
        "SASL mechanism; empty without SASL.",
        choices=("", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    )
    sasl_username: str = key("SASL user name; empty without SASL.")
    sasl_password: SecretReference | None = key("Reference to the SASL password.")
    ssl_ca_location: str = key("PEM file of trusted certificates; empty: the host's.")
    ssl_certificate_location: str = key("PEM file of our certificate chain, for mTLS.")
    ssl_key_location: str = key("PEM file of our private key (PKCS 8), for mTLS.")
    ssl_key_password: SecretReference | None = key("Reference to the key's password.")
    ssl_endpoint_identification_algorithm: str = key(
        "Whether the broker's name must stand in its certificate.",
        choices=("https", "none"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSettings(KafkaSettings):
    """The cluster that clients use; without bootstrap_servers, that of [kafka]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """Topics that the bridge writes, and creates where they are missing."""

    telemetry: str = key("Topic of accepted pushes.")
    configs: str = key("Topic of pushed client configurations.")
    wire_configs: str = key("Topic of client configurations seen by the proxy.")
    partitions: int = key("Partitions of a created topic.", low=1, high=10_000)
    replication_factor: int = key(
        "Replicas of a created topic; -1 is the broker's default.", low=-1, high=100
    )
    retention_ms: int = key(
        "Retention of a created topic; -1 keeps for ever.", unit="ms", low=-1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeSettings:
    """The Kafka-protocol endpoint that clients push to."""

    bridge_id: str = key("Name of this bridge in the records that it writes.")
    listener: str = key("Name of the listener in the records.")
    listen_host: str = key("Address to listen on.")
    listen_port: int = key("Port to listen on; 0 takes a free one.", high=MAX_PORT)
    advertised_host: str = key("Host that clients are told; empty: listen_host.")
    advertised_port: int = key(
        "Port that clients are told; 0: the one listened on.", high=MAX_PORT
    )
    cluster_id: str = key("Cluster id that Metadata answers.")
    node_id: int = key("Node id that Metadata answers.", high=MAX_INT32)
    max_request_bytes: int = key(
        "Largest request; a longer one closes the connection, as a broker does.",
        unit="bytes",
        low=1024,
        high=MAX_INT32,
    )
    telemetry_max_bytes: int = key(
        "Largest Metrics field of a push, as sent (compressed).",
        unit="bytes",
        low=1,
        high=MAX_TELEMETRY_BYTES,
    )
    accepted_compression_types: tuple[str, ...] = key(
        "Codecs offered to clients, preferred first; none is always accepted.",
        choices=COMPRESSION_NAMES[1:],
    )
    max_client_instances: int = key(
        "Client instances remembered; the least recently heard goes first.", low=1
    )
    publish_timeout_ms: int = key(
        "Longest wait for Kafka's acknowledgement before a push is refused.",
        unit="ms",
        low=1,
        high=29_000,
    )
    max_unacknowledged_bytes: int = key(
        "Pushes held in memory while Kafka has not acknowledged them.",
        unit="bytes",
        low=1024,
        high=MAX_UNACKNOWLEDGED_BYTES,
    )
    workers: int = key(
        "Processes that serve the same addresses, each with its own metrics: "
        "http_port, and the ports behind it.",
        low=1,
        high=256,
    )
    drain_timeout_ms: int = key(
        "Longest wait for pushes in flight when the bridge stops.", unit="ms"
    )
    http_host: str = key("Address of the pages /metrics, /healthz and /readyz.")
    http_port: int = key(
        "Port of these pages; 0 takes a free one, -1 serves none.",
        low=-1,
        high=MAX_PORT,
    )
    metrics_top_instances: int = key(
        "Client instances that /metrics shows one by one.", high=1_000
    )
    log_format: str = key(
        "Lines of the bridge's log: text, or one JSON object each.",
        choices=("console", "json"),
    )
    subscriptions_source: str = key(
        "Whose client-metrics subscriptions are in force; with both, one of the "
        "clients' cluster stands before one of conf/ that has its name.",
        choices=("both", "cluster", "conf"),
    )
    subscriptions_poll_ms: int = key(
        "Time between two looks at the subscriptions of the clients' cluster.",
        unit="ms",
        low=100,
        high=60_000,
    )
    admin_principals: tuple[str, ...] = key(
        "Principals, as User:admin, that may show and change the client-metrics "
        "subscriptions of the clients' cluster through the bridge."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionSettings:
    """One client-metrics subscription, as a CLIENT_METRICS resource has it."""

    name: str = key("Name of the subscription.")
    metrics: tuple[str, ...] = key("Metric name prefixes; `*` is all of them.")
    interval_ms: int = key(
        "Push interval; clients are told at most 300 000, as by Kafka.",
        unit="ms",
        low=100,
        high=3_600_000,
    )
    match: tuple[str, ...] = key(
        "Selectors key=pattern, all of which must match; empty matches everyone."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """Where the Delta tables are."""

    root_path: str = key("Folder of path tables; used when catalog_schema is empty.")
    catalog_schema: str = key("`catalog.schema` (or `schema`) of catalog tables.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryJobSettings(StreamJobSettings):
    """The job client_telemetry_to_delta."""

    max_decompressed_bytes: int = key(
        "Largest push after decompression; a larger one goes to quarantine.",
        unit="bytes",
        low=1024,
        high=2**30,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """The job replay_pushes."""

    max_pushes_per_commit: int = key(
        "Most pushes that are decoded and replaced at once.", low=1, high=1_000_000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSettings:
    """The job compact_tables."""

    max_file_bytes: int = key(
        "Size of the files that are written, about.",
        unit="bytes",
        low=2**20,
        # Bytes of a file are one value on their way into the table.
        high=2**30,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of conf/ for one environment."""

    kafka: KafkaSettings
    topics: TopicSettings
    bridge: BridgeSettings
    listeners: tuple[ListenerSettings, ...]
    authentication: AuthenticationSettings
    limits: LimitSettings
    proxy: ProxySettings
    upstream: UpstreamSettings
    subscriptions: tuple[SubscriptionSettings, ...]
    client_config: ClientConfigSettings
    sensitive_keys: SensitiveKeySettings
    tables: TableSettings
    client_telemetry_to_delta: TelemetryJobSettings
    client_configs_to_delta: ConfigJobSettings
    client_wire_configs_to_delta: WireConfigJobSettings
    replay_pushes: ReplaySettings
    compact_tables: CompactionSettings
