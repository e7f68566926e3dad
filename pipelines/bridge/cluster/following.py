"""Follows the CLIENT_METRICS resources of the cluster by asking for them.

A cluster that is away, or says no, leaves in force what it said last.
"""

import asyncio
import logging

from kio.schema.describe_configs.v4.request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kio.schema.describe_configs.v4.response import DescribeConfigsResponse
from kio.schema.errors import ErrorCode
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.schema.list_config_resources.v1.response import ListConfigResourcesResponse
from kio.static.primitive import i8

from pipelines.kafka_wire.client import REQUEST_TIMEOUT_S, ClusterClient
from pipelines.kafka_wire.cluster_requests import CLIENT_METRICS, Resources
from pipelines.kafka_wire.faults import ClusterFault, ClusterRefusal

from .followed_subscriptions import FollowedSubscriptions

logger = logging.getLogger(__name__)

SET_ON_RESOURCE = 7
"""ConfigSource of a key that is set; newer brokers add the defaults of the others."""
_MS = 1_000


async def read_resources(client: ClusterClient, *, timeout_s: float) -> Resources:
    """Return the CLIENT_METRICS resources of the cluster.

    Raises: ClusterFault; MissingApi among them for a cluster that has none.
    """
    kind = i8(CLIENT_METRICS)
    listed = await client.ask(
        ListConfigResourcesRequest(resource_types=(kind,)),
        ListConfigResourcesResponse,
        timeout_s=timeout_s,
    )
    _expect_success(listed.error_code)
    names = [
        one.resource_name
        for one in listed.config_resources
        if one.resource_type == CLIENT_METRICS
    ]
    if not names:
        return {}
    described = await client.ask(
        DescribeConfigsRequest(
            resources=tuple(
                DescribeConfigsResource(
                    resource_type=kind, resource_name=name, configuration_keys=None
                )
                for name in names
            )
        ),
        DescribeConfigsResponse,
        timeout_s=timeout_s,
    )
    for one in described.results:
        _expect_success(one.error_code)
    return {
        one.resource_name: {
            entry.name: entry.value
            for entry in one.configs
            if entry.value is not None and entry.config_source == SET_ON_RESOURCE
        }
        for one in described.results
    }


def _expect_success(error_code: ErrorCode) -> None:
    if error_code is ErrorCode.none:
        return
    hint = ""
    if error_code is ErrorCode.cluster_authorization_failed:
        hint = ": the bridge's principal needs DESCRIBE_CONFIGS on the cluster"
    raise ClusterRefusal(
        f"the cluster does not show its client-metrics subscriptions "
        f"({error_code.name}){hint}"
    )


class SubscriptionFollower:
    """Asks again and again, and says once what has changed or gone wrong."""

    def __init__(
        self,
        client: ClusterClient,
        followed: FollowedSubscriptions,
        *,
        poll_ms: int,
        section: str = "kafka",
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> None:
        """Ask nothing yet.

        Args:
            client: Asks the cluster.
            followed: Takes what it says.
            poll_ms: Milliseconds between two looks.
            section: The table of conf/ that names the cluster.
            timeout_s: Seconds until one request is given up.
        """
        self._section = section
        self._has_read = False
        self._client = client
        self._followed = followed
        self._poll_s = poll_ms / _MS
        self._timeout_s = timeout_s
        self._last_fault = ""
        self.is_told = False
        """Set it while take and take_fault are called: then nothing is asked."""

    async def read(self) -> None:
        """Put in force what the cluster says now.

        Raises: ClusterFault.
        """
        self._put(await read_resources(self._client, timeout_s=self._timeout_s))

    def take(self, resources: Resources) -> None:
        """Put in force what another look at the cluster has found."""
        self._put(resources)
        self._note_answer()

    def take_fault(self, fault: ClusterFault) -> None:
        """Say once why another look has found nothing."""
        if str(fault) != self._last_fault:
            self._last_fault = str(fault)
            logger.warning(
                "%s: the cluster of [%s] is not followed: %s",
                "subscriptions stay as they are"
                if self._has_read
                else "only the subscriptions of conf/ count",
                *(self._section, fault),
            )

    def _note_answer(self) -> None:
        if self._last_fault:
            self._last_fault = ""
            logger.info("subscriptions of the cluster are followed again")

    def _put(self, resources: Resources) -> None:
        changes = self._followed.update(resources)
        self._has_read = True
        for name in changes.put:
            logger.info("subscription %r of the cluster is in force", name)
        for name in changes.removed:
            logger.info("subscription %r of the cluster is not in force", name)
        for name, fault in changes.refused:
            logger.warning("subscription %r of the cluster is skipped: %s", name, fault)
        for name, why in changes.unmatchable:
            logger.warning("subscription %r of the cluster: %s", name, why)

    async def try_read(self) -> None:
        """Read, or say once why not."""
        try:
            await self.read()
        except ClusterFault as error:
            self.take_fault(error)
        else:
            self._note_answer()

    async def follow(self) -> None:
        """Read for ever."""
        while True:
            await asyncio.sleep(self._poll_s)
            if not self.is_told:
                await self.try_read()
