"""Quotas of a cluster, asked for and altered by Kafka's own requests (KIP-546)."""

from collections.abc import Iterable, Mapping, Sequence

from kio.schema.alter_client_quotas.v1 import request as altering
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
from kio.schema.describe_client_quotas.v1.request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from kio.schema.describe_client_quotas.v1.response import DescribeClientQuotasResponse
from kio.static.primitive import f64, i8

from pipelines.commands.kafka_client_metrics.requests import TIMEOUT_S, expect_success
from pipelines.kafka_client.client_configs import Component, Entity
from pipelines.kafka_wire.client import ClusterClient

from .changes import in_order


async def describe(
    client: ClusterClient, components: Sequence[Component]
) -> dict[Entity, dict[str, float]]:
    """Return what is set for the entities that have these components and no other.

    Raises: CommandFault in the cluster's words; ClusterFault.
    """
    request = DescribeClientQuotasRequest(
        components=tuple(
            ComponentData(
                entity_type=one.entity_type,
                match_type=i8(one.match_type),
                match=one.match,
            )
            for one in components
        ),
        strict=True,
    )
    answer = await client.ask(
        request, DescribeClientQuotasResponse, timeout_s=TIMEOUT_S
    )
    expect_success(answer.error_code, answer.error_message)
    return {
        in_order((part.entity_type, part.entity_name) for part in one.entity): {
            value.key: float(value.value) for value in one.values
        }
        for one in answer.entries or ()
    }


async def alter(
    client: ClusterClient,
    entity: Entity,
    *,
    additions: Mapping[str, float],
    removals: Iterable[str],
) -> None:
    """Set and remove quotas of one entity.

    Raises: CommandFault in the cluster's words; ClusterFault.
    """
    entry = altering.EntryData(
        entity=tuple(
            altering.EntityData(entity_type=kind, entity_name=name)
            for kind, name in entity
        ),
        ops=(
            *(
                altering.OpData(key=key, value=f64(value), remove=False)
                for key, value in additions.items()
            ),
            *(
                altering.OpData(key=key, value=f64(0.0), remove=True)
                for key in removals
            ),
        ),
    )
    request = altering.AlterClientQuotasRequest(entries=(entry,), validate_only=False)
    answer = await client.ask(request, AlterClientQuotasResponse, timeout_s=TIMEOUT_S)
    for one in answer.entries:
        expect_success(one.error_code, one.error_message)
