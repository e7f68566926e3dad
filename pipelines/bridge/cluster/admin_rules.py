"""Who may show and change which config resources through the bridge.

Source: Kafka, KafkaApis.scala, ConfigHelper.scala, ClientMetricsConfigs.java.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1.request import AlterConfigsResource

from pipelines.bridge.telemetry.subscriptions import InvalidRule, parse_subscription
from pipelines.kafka_wire.cluster_requests import CLIENT_METRICS

SET = 0
"""AlterConfigOp.OpType that gives a key a value."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing is asked of the cluster."""

    error_code: ErrorCode
    message: str


NOT_AN_ADMIN = Refusal(
    ErrorCode.cluster_authorization_failed, "Cluster authorization failed."
)


NOT_SERVED_TYPE = Refusal(
    ErrorCode.unsupported_version,
    f"This bridge lists resources of type {CLIENT_METRICS} (CLIENT_METRICS) only.",
)


class NamedResource(Protocol):
    """What every request says of a resource."""

    @property
    def resource_type(self) -> int:
        """ConfigResource.Type."""


def judge_resource(resource: NamedResource, *, is_admin: bool) -> Refusal | None:
    """Say why a resource is not asked about; None when it is.

    Errors: CLUSTER_AUTHORIZATION_FAILED(31) comes before INVALID_REQUEST(42).
    """
    if not is_admin:
        return NOT_AN_ADMIN
    if resource.resource_type != CLIENT_METRICS:
        return Refusal(
            ErrorCode.invalid_request,
            f"This bridge serves resources of type {CLIENT_METRICS} (CLIENT_METRICS) "
            f"only, not of type {resource.resource_type}; ask a broker.",
        )
    return None


def judge_change(resource: AlterConfigsResource, *, is_admin: bool) -> Refusal | None:
    """Say why a change is not asked of the cluster; None when it is.

    A value that is set must be one that the bridge can use. What removes, appends and
    subtracts is judged by the cluster, which knows what is there.
    Errors: as judge_resource, then those of parse_subscription.
    """
    refusal = judge_resource(resource, is_admin=is_admin)
    if refusal is not None:
        return refusal
    values = {
        one.name: one.value
        for one in resource.configs
        if one.config_operation == SET and one.value is not None
    }
    try:
        parse_subscription(resource.resource_name, values)
    except InvalidRule as error:
        return Refusal(error.error_code, str(error))
    return None


def judge_listing(resource_types: Iterable[int], *, is_admin: bool) -> Refusal | None:
    """Say why a listing is not asked of the cluster; None when it is.

    Errors: CLUSTER_AUTHORIZATION_FAILED(31); UNSUPPORTED_VERSION(35) for a type that
        is not served here, as a broker has it for one that it does not know.
    """
    if not is_admin:
        return NOT_AN_ADMIN
    if any(one != CLIENT_METRICS for one in resource_types):
        return NOT_SERVED_TYPE
    return None
