"""Which users have SCRAM credentials: mechanism and iterations, nothing secret.

Source: KIP-554; Kafka 4.3, ConfigCommand.scala.
"""

from collections.abc import Sequence

from kio.schema.describe_user_scram_credentials.v0.request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kio.schema.describe_user_scram_credentials.v0.response import (
    DescribeUserScramCredentialsResponse,
)
from kio.schema.errors import ErrorCode

from pipelines.commands.kafka_client_metrics.requests import TIMEOUT_S, expect_success
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.faults import MissingApi

_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


async def describe(
    client: ClusterClient, users: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Return the iterations of each user and mechanism.

    Args:
        users: Empty for all. Who has no credentials is left out.
    Returns: Nothing where this is not served, as by brokers before 2.7.
    Raises: CommandFault in the cluster's words; ClusterFault.
    """
    request = DescribeUserScramCredentialsRequest(
        users=tuple(UserName(name=name) for name in users) or None
    )
    try:
        answer = await client.ask(
            request, DescribeUserScramCredentialsResponse, timeout_s=TIMEOUT_S
        )
    except MissingApi:
        return {}
    expect_success(answer.error_code, answer.error_message)
    found = {}
    for one in answer.results:
        if one.error_code is ErrorCode.resource_not_found:
            continue
        expect_success(one.error_code, one.error_message)
        found[one.user] = {
            _MECHANISMS.get(info.mechanism, "UNKNOWN"): int(info.iterations)
            for info in one.credential_infos
        }
    return found
