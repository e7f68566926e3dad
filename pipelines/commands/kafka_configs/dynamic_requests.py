"""Dynamic client configs of a cluster, asked for and altered (KIP-649).

Strategy: a conversation each on the link that quotas are asked on. What another attempt
may answer better, such as a bridge that still reads its store, is tried again until the
time is over; both requests may be repeated.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kio.schema.errors import ErrorCode

from pipelines.commands.kafka_client_metrics.requests import (
    TIMEOUT_S,
    text_of,
)
from pipelines.commands.options import CommandFault
from pipelines.kafka_client.client_configs import (
    ALTER_CLIENT_CONFIGS,
    CLIENT_CONFIGS_VERSION,
    DESCRIBE_CLIENT_CONFIGS,
    Alteration,
    Component,
    DescribeRequest,
    Entity,
    Op,
    alter_client_configs,
    describe_client_configs,
    read_altered,
    read_described,
)
from pipelines.kafka_client.faults import RETRIABLE_ERROR_CODES
from pipelines.kafka_client.messages import Served
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_client.session import Conversation
from pipelines.kafka_wire.client import ClusterClient

from .changes import in_order

DESCRIBE_KEY, ALTER_KEY = (
    "dynamic.configs.describe.api.key",
    "dynamic.configs.alter.api.key",
)
"""Properties of --command-config; Kafka has given neither request a number."""
NOT_SERVED = "This cluster does not serve dynamic client configs"
_MAX_API_KEY = 2**15 - 1


class ApiKeys(NamedTuple):
    """The numbers that a bridge gives both requests."""

    describe: int = DESCRIBE_CLIENT_CONFIGS
    alter: int = ALTER_CLIENT_CONFIGS


def read_api_keys(properties: Mapping[str, str]) -> ApiKeys:
    """Read the numbers where they are not those that a bridge has by itself.

    Raises: CommandFault, naming the property.
    """
    return ApiKeys(
        _read_api_key(properties, DESCRIBE_KEY, DESCRIBE_CLIENT_CONFIGS),
        _read_api_key(properties, ALTER_KEY, ALTER_CLIENT_CONFIGS),
    )


def _read_api_key(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name, str(default)).strip()
    if not (text.isascii() and text.isdigit() and int(text) <= _MAX_API_KEY):
        raise CommandFault(f"{name}: must be a number from 0 to {_MAX_API_KEY}")
    return int(text)


async def is_served(client: ClusterClient, api_key: int) -> bool:
    """Say whether a cluster serves one of them. Raises: ClusterFault."""
    return await client.hold(partial(_find, api_key), timeout_s=TIMEOUT_S)


async def describe(
    client: ClusterClient, components: Sequence[Component], api_key: int
) -> dict[Entity, dict[str, str]]:
    """Return what is set for the entities that have these components and no other.

    Raises: CommandFault in the cluster's words; ClusterFault.
    """
    request = DescribeRequest(components=tuple(components), strict=True)
    start = partial(_describe, request, api_key)
    return await client.hold(start, timeout_s=TIMEOUT_S)


async def alter(
    client: ClusterClient,
    entity: Entity,
    api_key: int,
    *,
    additions: Mapping[str, str],
    removals: Iterable[str],
) -> None:
    """Set and remove configs of one entity.

    Raises: CommandFault in the cluster's words; ClusterFault.
    """
    ops = (
        *(Op(key, value) for key, value in additions.items()),
        *(Op(key, "", remove=True) for key in removals),
    )
    start = partial(_alter, Alteration(entity, ops), api_key)
    await client.hold(start, timeout_s=TIMEOUT_S)


def _find(api_key: int, served: Served) -> Conversation[bool]:
    yield from ()
    return CLIENT_CONFIGS_VERSION in served.get(api_key, range(0))


def _describe(
    request: DescribeRequest, api_key: int, _served: Served
) -> Conversation[dict[Entity, dict[str, str]]]:
    described = read_described((yield describe_client_configs(request, api_key)))
    _expect_success(described.error_code, described.error_message)
    return {in_order(one.entity): one.values for one in described.entries or ()}


def _alter(alteration: Alteration, api_key: int, _served: Served) -> Conversation[None]:
    request = alter_client_configs([alteration], validate_only=False, api_key=api_key)
    _, altered = read_altered((yield request))
    for one in altered:
        _expect_success(one.error_code, one.error_message)


def _expect_success(error_code: int, message: str | None) -> None:
    if not error_code:
        return
    try:
        text = message or text_of(ErrorCode(error_code))
    except ValueError:
        text = f"error {error_code}"
    if error_code in RETRIABLE_ERROR_CODES:
        raise MalformedBytes(text)
    raise CommandFault(text)
