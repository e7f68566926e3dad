"""Client-metrics subscriptions of a cluster, asked for and changed by Kafka's requests.

Source: KIP-133, KIP-339, KIP-1142.
"""

from collections.abc import Mapping

from kio.schema.describe_configs.v4.request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kio.schema.describe_configs.v4.response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.schema.incremental_alter_configs.v1.response import (
    IncrementalAlterConfigsResponse,
)
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.schema.list_config_resources.v1.response import ListConfigResourcesResponse
from kio.static.primitive import i8

from pipelines.commands.options import CommandFault
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.cluster_requests import CLIENT_METRICS

TIMEOUT_S = 30.0
_SET, _DELETE = i8(0), i8(1)
_KIND = i8(CLIENT_METRICS)
_TEXTS = {
    ErrorCode.cluster_authorization_failed: "Cluster authorization failed.",
    ErrorCode.unsupported_version: "The version of API is not supported.",
}


async def read_names(client: ClusterClient) -> list[str]:
    """Return the names of all that there are."""
    listed = await client.ask(
        ListConfigResourcesRequest(resource_types=(_KIND,)),
        ListConfigResourcesResponse,
        timeout_s=TIMEOUT_S,
    )
    expect_success(listed.error_code, None)
    return [one.resource_name for one in listed.config_resources]


async def read_configs(
    client: ClusterClient, name: str, *, has_synonyms: bool = False
) -> dict[str, DescribeConfigsResourceResult]:
    """Return the configs of one, those that have their default among them."""
    resource = DescribeConfigsResource(
        resource_type=_KIND, resource_name=name, configuration_keys=None
    )
    described = await client.ask(
        DescribeConfigsRequest(resources=(resource,), include_synonyms=has_synonyms),
        DescribeConfigsResponse,
        timeout_s=TIMEOUT_S,
    )
    for one in described.results:
        expect_success(one.error_code, one.error_message)
    return {entry.name: entry for one in described.results for entry in one.configs}


async def change(
    client: ClusterClient, name: str, values: Mapping[str, str | None]
) -> None:
    """Change configs of one.

    Nulls: A value of None deletes the key.
    """
    changes = tuple(
        AlterableConfig(
            name=key,
            config_operation=_DELETE if value is None else _SET,
            value="" if value is None else value,
        )
        for key, value in values.items()
    )
    resource = AlterConfigsResource(
        resource_type=_KIND, resource_name=name, configs=changes
    )
    altered = await client.ask(
        IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False),
        IncrementalAlterConfigsResponse,
        timeout_s=TIMEOUT_S,
    )
    for one in altered.responses:
        expect_success(one.error_code, one.error_message)


def expect_success(error_code: ErrorCode, message: str | None) -> None:
    """Pass over an answer that is no refusal.

    Raises: CommandFault in the cluster's words.
    """
    if error_code is not ErrorCode.none:
        raise CommandFault(message or text_of(error_code))


def text_of(error_code: ErrorCode) -> str:
    """Return what to say of an error that comes without words."""
    return _TEXTS.get(error_code, error_code.name)
