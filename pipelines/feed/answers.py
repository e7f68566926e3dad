"""Answers of admin requests, as far as the feed needs them.

The static value of a config is the first synonym of that very name from the broker's
file, else from Kafka's defaults, else null: without synonyms a dynamic override hides
it.
Source: KIP-133, KIP-226 (synonyms); KIP-546; KIP-700, KIP-1073; KIP-1142.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kio.schema.describe_client_quotas.v1.response import DescribeClientQuotasResponse
from kio.schema.describe_cluster.v2.response import DescribeClusterResponse
from kio.schema.describe_configs.v4.response import DescribeConfigsResult

from udfs.cluster.record_keys import CLIENT_METRICS_RESOURCE, GROUP_RESOURCE

DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC_BROKER, KAFKA_DEFAULT = 2, 3, 4, 5
SET_ON_SUBSCRIPTION, SET_ON_GROUP = 7, 8
"""ConfigSource: where a value is from."""
_SET_BY_RESOURCE = {
    CLIENT_METRICS_RESOURCE: SET_ON_SUBSCRIPTION,
    GROUP_RESOURCE: SET_ON_GROUP,
}


class SeenBroker(NamedTuple):
    """A broker as DescribeCluster lists it."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


class SeenConfig(NamedTuple):
    """A value that is set; one that the broker hides has none."""

    name: str
    value: str | None
    is_hidden: bool = False


class StaticConfig(NamedTuple):
    """A value of a broker's file, or Kafka's own."""

    name: str
    value: str | None
    is_default: bool


class BrokerConfigs(NamedTuple):
    """What a broker says of its configs."""

    static: tuple[StaticConfig, ...]
    dynamic: tuple[SeenConfig, ...]
    """Set on this very broker."""


class SeenQuota(NamedTuple):
    """A quota that is set."""

    entity: tuple[tuple[str, str | None], ...]
    key: str
    value: float


Resources = Mapping[tuple[int, str], tuple[SeenConfig, ...]]
"""Type and name of a resource to what is set on it."""


def read_brokers(answer: DescribeClusterResponse) -> dict[int, SeenBroker]:
    """Read the brokers of DescribeCluster, by id."""
    return {
        one.broker_id: SeenBroker(
            one.broker_id, one.host, one.port, one.rack, one.is_fenced
        )
        for one in sorted(answer.brokers, key=lambda one: one.broker_id)
    }


def read_quotas(answer: DescribeClientQuotasResponse) -> tuple[SeenQuota, ...]:
    """Read all quotas that are set."""
    return tuple(
        SeenQuota(
            # Brokers do not keep an order; the paths of KIP-55 begin with the user.
            tuple(
                sorted(
                    ((part.entity_type, part.entity_name) for part in entry.entity),
                    reverse=True,
                )
            ),
            one.key,
            one.value,
        )
        for entry in answer.entries or ()
        for one in entry.values
    )


def read_broker_configs(result: DescribeConfigsResult) -> BrokerConfigs:
    """Read what a broker says of its own configs, with synonyms."""
    static, dynamic = [], []
    for entry in sorted(result.configs, key=lambda one: one.name):
        by_source: dict[int, str | None] = {}
        for one in entry.synonyms:
            if one.name == entry.name:
                by_source.setdefault(one.source, one.value)
        is_default = STATIC_BROKER not in by_source
        value = by_source.get(KAFKA_DEFAULT if is_default else STATIC_BROKER)
        static.append(StaticConfig(entry.name, value, is_default))
        if DYNAMIC_BROKER in by_source:
            hidden = entry.is_sensitive
            value = None if hidden else by_source[DYNAMIC_BROKER]
            dynamic.append(SeenConfig(entry.name, value, hidden))
    return BrokerConfigs(tuple(static), tuple(dynamic))


def read_set_configs(
    result: DescribeConfigsResult, source: int
) -> tuple[SeenConfig, ...]:
    """Read what is set on a resource; newer brokers add defaults, which are not."""
    return tuple(
        SeenConfig(one.name, None if one.is_sensitive else one.value, one.is_sensitive)
        for one in result.configs
        if one.config_source == source and (one.value is not None or one.is_sensitive)
    )


def read_resources(results: Iterable[DescribeConfigsResult]) -> Resources:
    """Read what is set on CLIENT_METRICS and GROUP resources."""
    return {
        (one.resource_type, one.resource_name): read_set_configs(
            one, _SET_BY_RESOURCE[one.resource_type]
        )
        for one in results
        if one.resource_type in _SET_BY_RESOURCE
    }
