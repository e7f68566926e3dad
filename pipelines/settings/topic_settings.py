"""The keys of conf/ about the topics that the bridge writes."""

from dataclasses import dataclass

from .keys import key


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """Topics that the bridge writes, and creates where they are missing."""

    telemetry: str = key(
        "Topic of accepted pushes.",
        default="clientele.telemetry",
    )
    configs: str = key(
        "Topic of pushed client configurations, made and written when "
        "client_config.enabled.",
        default="clientele.configs",
    )
    wire_configs: str = key(
        "Topic of configurations that the proxy has seen, made and written when "
        "proxy.wire_configs.",
        default="clientele.wire_configs",
    )
    traffic: str = key(
        "Topic of what clients behind the proxy produce and fetch, made and written "
        "when proxy.enabled, unless proxy.traffic_interval_ms is 0.",
        default="clientele.traffic",
    )
    cluster: str = key(
        "Topic of what is told of the clients' cluster, made and written unless "
        "cluster.source is off. It has one partition, whatever topics.partitions is.",
        default="clientele.cluster",
    )
    client_configs: str = key(
        "Topic that keeps dynamic client configs, made and written when "
        "dynamic_configs.enabled. It is compacted and has one partition.",
        default="clientele.client_configs",
    )
    client_registrations: str = key(
        "Topic of the dynamic configs that clients register as supported, created and "
        "written when dynamic_configs.enabled. It has one partition and is compacted "
        "after some minutes.",
        default="clientele.client_registrations",
    )
    partitions: int = key(
        "Partitions of a topic that the bridge creates.",
        low=1,
        high=10_000,
        default=6,
    )
    replication_factor: int = key(
        "Replicas of a topic that the bridge creates; -1 is the broker's default.",
        low=-1,
        high=100,
        default=-1,
    )
    retention_ms: int = key(
        "How long a topic that the bridge creates keeps its records (7 days); -1 keeps "
        "them for ever.",
        unit="ms",
        low=-1,
        default=604_800_000,
    )
