"""Everything that the feed asks: brokers one by one, whoever answers, controllers.

Strategy: one link for what any broker knows, one for each broker, for only itself knows
its configs, and one for each controller.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from kio.schema.describe_client_quotas.v1.request import DescribeClientQuotasRequest
from kio.schema.describe_client_quotas.v1.response import DescribeClientQuotasResponse
from kio.schema.describe_cluster.v2.request import DescribeClusterRequest
from kio.schema.describe_cluster.v2.response import DescribeClusterResponse
from kio.schema.describe_configs.v4.request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kio.schema.describe_configs.v4.response import DescribeConfigsResponse
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.schema.list_config_resources.v1.response import ListConfigResourcesResponse
from kio.static.primitive import i8
from kio.static.protocol import Payload

from pipelines.kafka_client.async_link import AsyncLink
from pipelines.kafka_client.messages import Request, Served
from pipelines.kafka_client.properties import Access, Address
from pipelines.kafka_client.session import Conversation
from pipelines.kafka_wire.client import hold, make_link
from pipelines.kafka_wire.faults import MissingApi
from pipelines.kafka_wire.questions import Question, check_error, check_results
from udfs.cluster.record_keys import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
)

from .metadata_fetch import (
    FETCH,
    FETCH_SNAPSHOT,
    FETCH_VERSION,
    OLD_FETCH_VERSION,
    SNAPSHOT_VERSION,
    Fetched,
    FetchedSnapshot,
    read_fetch,
    read_fetch_snapshot,
)

ANY_TIMEOUT_S, BROKER_TIMEOUT_S, CONTROLLER_TIMEOUT_S = 5.0, 1.5, 3.0
"""A broker that is away must not hold up what the others say."""
ON_CLUSTER, ON_GROUP = "DESCRIBE_CONFIGS on the cluster", "DESCRIBE_CONFIGS on groups"
WHAT_IS_SHOWN: Mapping[int, str] = {
    CLIENT_METRICS_RESOURCE: "its client-metrics subscriptions",
    GROUP_RESOURCE: "the configs of its groups",
    BROKER_RESOURCE: "the defaults of its brokers",
}
Answer = TypeVar("Answer", bound=Payload)
Read = TypeVar("Read", Fetched, FetchedSnapshot)


class BrokerLinks:
    """The brokers of the clients' cluster."""

    def __init__(self, access: Access, *, client_id: str) -> None:
        self._access, self._client_id = access, client_id
        self._any = make_link(access, client_id=client_id)
        self._brokers: dict[int, tuple[Address, AsyncLink]] = {}
        self._cluster, self._quotas = Question(), Question()
        self._listing, self._cluster_wide = Question(), Question()
        self._resources: dict[int, Question] = {}
        self._effective: dict[int, Question] = {}
        self.requests = 0
        """How many were sent."""

    async def describe_cluster(self) -> DescribeClusterResponse | None:
        """Ask which brokers there are; None: as before, as in all of these."""
        request = DescribeClusterRequest(
            include_cluster_authorized_operations=False, include_fenced_brokers=True
        )
        return await self._ask(
            self._cluster,
            request,
            DescribeClusterResponse,
            lambda one: check_error(one.error_code, "its brokers", ON_CLUSTER),
        )

    async def describe_quotas(self) -> DescribeClientQuotasResponse | None:
        """Ask for all quotas."""
        request = DescribeClientQuotasRequest(components=(), strict=False)
        return await self._ask(
            self._quotas,
            request,
            DescribeClientQuotasResponse,
            lambda one: check_error(one.error_code, "its quotas", ON_CLUSTER),
        )

    async def list_resources(
        self, types: Sequence[int]
    ) -> ListConfigResourcesResponse | None:
        """Ask which resources of some types have configs."""
        request = ListConfigResourcesRequest(
            resource_types=tuple(i8(one) for one in types)
        )
        what = WHAT_IS_SHOWN[types[0]]
        return await self._ask(
            self._listing,
            request,
            ListConfigResourcesResponse,
            lambda one: check_error(one.error_code, what, ON_CLUSTER),
        )

    async def describe_resources(
        self, kind: int, names: Sequence[str]
    ) -> DescribeConfigsResponse | None:
        """Ask what is set on resources of one type."""
        right = ON_GROUP if kind == GROUP_RESOURCE else ON_CLUSTER
        return await self._ask(
            self._resources.setdefault(kind, Question()),
            _describe([(kind, name) for name in names]),
            DescribeConfigsResponse,
            partial(check_results, WHAT_IS_SHOWN[kind], right),
        )

    async def describe_cluster_wide(self) -> DescribeConfigsResponse | None:
        """Ask for the dynamic defaults of all brokers."""
        return await self._ask(
            self._cluster_wide,
            _describe([(BROKER_RESOURCE, "")]),
            DescribeConfigsResponse,
            partial(check_results, WHAT_IS_SHOWN[BROKER_RESOURCE], ON_CLUSTER),
        )

    async def describe_broker(
        self, broker_id: int, address: Address
    ) -> DescribeConfigsResponse | None:
        """Ask a broker for all of its configs, with synonyms."""
        request = _describe([(BROKER_RESOURCE, str(broker_id))], has_synonyms=True)
        return await self._ask_broker(Question(), broker_id, address, request)

    async def describe_effective(
        self, broker_id: int, address: Address
    ) -> DescribeConfigsResponse | None:
        """Ask a broker what is in force, which is half as much."""
        request = _describe([(BROKER_RESOURCE, str(broker_id))])
        question = self._effective.setdefault(broker_id, Question())
        return await self._ask_broker(question, broker_id, address, request)

    async def _ask_broker(
        self,
        question: Question,
        broker_id: int,
        address: Address,
        request: DescribeConfigsRequest,
    ) -> DescribeConfigsResponse | None:
        self.requests += 1
        return await question.ask(
            self._link_to(broker_id, address),
            request,
            DescribeConfigsResponse,
            timeout_s=BROKER_TIMEOUT_S,
            check=partial(
                check_results, f"the configs of broker {broker_id}", ON_CLUSTER
            ),
        )

    async def _ask(
        self,
        question: Question,
        request: Payload,
        expected: type[Answer],
        check: Callable[[Answer], None],
    ) -> Answer | None:
        self.requests += 1
        return await question.ask(
            self._any, request, expected, timeout_s=ANY_TIMEOUT_S, check=check
        )

    def forget(self) -> None:
        """Read the next answers whatever they say: who reads them knows nothing yet."""
        for one in (
            *(self._cluster, self._quotas, self._listing, self._cluster_wide),
            *self._resources.values(),
            *self._effective.values(),
        ):
            one.forget()

    def forget_resources(self, kind: int) -> None:
        """Read the next answer about resources of one type whatever it says."""
        self._resources.pop(kind, None)

    def forget_broker(self, broker_id: int) -> None:
        """Close the connection to a broker that is gone, or has moved."""
        self._effective.pop(broker_id, None)
        known = self._brokers.pop(broker_id, None)
        if known is not None:
            known[1].close()

    def close(self) -> None:
        """Close all connections; another question opens them again."""
        self._any.close()
        for broker_id in list(self._brokers):
            self.forget_broker(broker_id)

    def _link_to(self, broker_id: int, address: Address) -> AsyncLink:
        known = self._brokers.get(broker_id)
        if known is not None and known[0] == address:
            return known[1]
        self.forget_broker(broker_id)
        link = make_link(self._access.at(address), client_id=self._client_id)
        self._brokers[broker_id] = address, link
        return link


class ControllerLinks:
    """The controllers, each with a connection of its own."""

    def __init__(self, access: Access, *, client_id: str) -> None:
        self._access, self._client_id = access, client_id
        self._links: dict[Address, AsyncLink] = {}

    @property
    def servers(self) -> tuple[Address, ...]:
        """Those that conf/ names."""
        return self._access.servers

    async def fetch(self, address: Address, write: Callable[[int], bytes]) -> Fetched:
        """Ask for records.

        Args:
            write: Writes the body for a version.
        Raises: ClusterFault; MissingApi among them.
        """
        versions = (FETCH_VERSION, OLD_FETCH_VERSION)
        start = partial(_ask_log, FETCH, versions, write, read_fetch)
        return await hold(self._link_to(address), start, CONTROLLER_TIMEOUT_S)

    async def fetch_snapshot(self, address: Address, body: bytes) -> FetchedSnapshot:
        """Ask for a piece of a snapshot.

        Raises: ClusterFault; MissingApi among them.
        """
        start = partial(
            _ask_log,
            FETCH_SNAPSHOT,
            (SNAPSHOT_VERSION,),
            lambda _version: body,
            read_fetch_snapshot,
        )
        return await hold(self._link_to(address), start, CONTROLLER_TIMEOUT_S)

    def close(self) -> None:
        """Close all connections."""
        for one in self._links.values():
            one.close()
        self._links.clear()

    def _link_to(self, address: Address) -> AsyncLink:
        link = self._links.get(address)
        if link is None:
            link = make_link(self._access.at(address), client_id=self._client_id)
            self._links[address] = link
        return link


def _ask_log(
    api_key: int,
    versions: Sequence[int],
    write: Callable[[int], bytes],
    read: Callable[[bytes], Read],
    served: Served,
) -> Conversation[Read]:
    api_version = next(
        (one for one in versions if one in served.get(api_key, ())), None
    )
    if api_version is None:
        raise MissingApi(f"this node serves API key {api_key} in no version known here")
    body = yield Request(api_key, api_version, write(api_version), is_flexible=True)
    return read(body)


def _describe(
    resources: Sequence[tuple[int, str]], *, has_synonyms: bool = False
) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources=tuple(
            DescribeConfigsResource(
                resource_type=i8(kind), resource_name=name, configuration_keys=None
            )
            for kind, name in resources
        ),
        include_synonyms=has_synonyms,
        include_documentation=False,
    )
