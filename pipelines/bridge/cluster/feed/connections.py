"""Everything that the feed asks: brokers one by one, whoever answers, controllers.

Strategy: one link for what any broker knows, one for each broker, for only itself knows
its configs, and one for each controller. Most answers say what the last one said: their
bytes are compared, and only what differs is read. So an idle cluster costs next to
nothing, however much is set in it.
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

from pipelines import __version__
from pipelines.bridge.protocol.cluster_requests import (
    adapt,
    decode_response,
    newest,
    share_version,
)
from pipelines.bridge.protocol.errors import MalformedResponse
from pipelines.bridge.protocol.metadata_fetch import (
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
from pipelines.bridge.protocol.replies import encode_body
from pipelines.kafka_client.async_link import AsyncLink
from pipelines.kafka_client.faults import MalformedAnswer, NoAnswer, Refused
from pipelines.kafka_client.messages import Request, Served
from pipelines.kafka_client.properties import Access, Address
from pipelines.kafka_client.session import Conversation, Software
from udfs.cluster.record_keys import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
)

from ..client import SOFTWARE_NAME
from ..faults import ClusterFault, ClusterRefusal, MissingApi

_THROTTLE_BYTES = 4
"""Of an answer's body: how long it was throttled, which says nothing of the cluster."""
Answer = TypeVar("Answer", bound=Payload)
Read = TypeVar("Read", Fetched, FetchedSnapshot)


class Question:
    """One request that is asked again and again of one node."""

    def __init__(self) -> None:
        self._last: tuple[Payload, bytes] | None = None
        self.requests = 0
        """How many were sent."""

    async def ask(
        self,
        link: AsyncLink,
        request: Payload,
        expected: type[Answer],
        *,
        timeout_s: float,
    ) -> Answer | None:
        """Return the answer in its newest version; None where it is the last one.

        Raises: ClusterFault; ClusterRefusal and MissingApi among them.
        """
        self.requests += 1
        adapted, body = await _hold(link, partial(_ask_raw, request), timeout_s)
        last, self._last = self._last, (request, body[_THROTTLE_BYTES:])
        if self._last == last:
            return None
        try:
            answer = newest(decode_response(adapted, body))
        except MalformedResponse as error:
            self._last = None
            raise ClusterFault(str(error)) from None
        if not isinstance(answer, expected):
            raise TypeError(f"{type(answer).__name__} is no {expected.__name__}")
        return answer

    def forget(self) -> None:
        """Read the next answer whatever it says."""
        self._last = None


class BrokerLinks:
    """The brokers of the clients' cluster."""

    def __init__(self, access: Access, *, client_id: str, timeout_s: float) -> None:
        self._access = access
        self._software = Software(
            client_id=client_id, name=SOFTWARE_NAME, version=__version__
        )
        self._timeout_s = timeout_s
        self._any = AsyncLink(access, self._software)
        self._brokers: dict[int, tuple[Address, AsyncLink]] = {}
        self._cluster, self._quotas = Question(), Question()
        self._listing, self._resources = Question(), Question()
        self._cluster_wide = Question()
        self._dynamic: dict[int, Question] = {}

    async def describe_cluster(self) -> DescribeClusterResponse | None:
        """Ask which brokers there are; None: as before, as in all of these."""
        request = DescribeClusterRequest(
            include_cluster_authorized_operations=False, include_fenced_brokers=True
        )
        return await self._cluster.ask(
            self._any, request, DescribeClusterResponse, timeout_s=self._timeout_s
        )

    async def describe_quotas(self) -> DescribeClientQuotasResponse | None:
        """Ask for all quotas."""
        request = DescribeClientQuotasRequest(components=(), strict=False)
        return await self._quotas.ask(
            self._any, request, DescribeClientQuotasResponse, timeout_s=self._timeout_s
        )

    async def list_resources(
        self, types: Sequence[int]
    ) -> ListConfigResourcesResponse | None:
        """Ask which resources of some types have configs."""
        request = ListConfigResourcesRequest(
            resource_types=tuple(i8(one) for one in types)
        )
        return await self._listing.ask(
            self._any, request, ListConfigResourcesResponse, timeout_s=self._timeout_s
        )

    async def describe_resources(
        self, resources: Sequence[tuple[int, str]]
    ) -> DescribeConfigsResponse | None:
        """Ask what is set on CLIENT_METRICS and GROUP resources."""
        return await self._resources.ask(
            self._any,
            _describe(resources),
            DescribeConfigsResponse,
            timeout_s=self._timeout_s,
        )

    async def describe_cluster_wide(self) -> DescribeConfigsResponse | None:
        """Ask for the dynamic defaults of all brokers."""
        return await self._cluster_wide.ask(
            self._any,
            _describe([(BROKER_RESOURCE, "")]),
            DescribeConfigsResponse,
            timeout_s=self._timeout_s,
        )

    async def describe_broker(
        self, broker_id: int, address: Address
    ) -> DescribeConfigsResponse | None:
        """Ask a broker for all of its configs, with synonyms."""
        request = _describe([(BROKER_RESOURCE, str(broker_id))], has_synonyms=True)
        return await Question().ask(
            self._link_to(broker_id, address),
            request,
            DescribeConfigsResponse,
            timeout_s=self._timeout_s,
        )

    async def describe_updatable(
        self, broker_id: int, address: Address, names: Sequence[str]
    ) -> DescribeConfigsResponse | None:
        """Ask a broker for those of its configs that may be set dynamically."""
        request = _describe([(BROKER_RESOURCE, str(broker_id))], names=names)
        return await self._dynamic.setdefault(broker_id, Question()).ask(
            self._link_to(broker_id, address),
            request,
            DescribeConfigsResponse,
            timeout_s=self._timeout_s,
        )

    def forget(self) -> None:
        """Read the next answers whatever they say: who reads them knows nothing yet."""
        for one in (
            *(self._cluster, self._quotas, self._listing, self._resources),
            *(self._cluster_wide, *self._dynamic.values()),
        ):
            one.forget()

    def forget_broker(self, broker_id: int) -> None:
        """Close the connection to a broker that is gone, or has moved."""
        self._dynamic.pop(broker_id, None)
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
        link = AsyncLink(self._access.at(address), self._software)
        self._brokers[broker_id] = address, link
        return link


class ControllerLinks:
    """The controllers, each with a connection of its own."""

    def __init__(self, access: Access, *, client_id: str, timeout_s: float) -> None:
        self._access = access
        self._software = Software(
            client_id=client_id, name=SOFTWARE_NAME, version=__version__
        )
        self._timeout_s = timeout_s
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
        return await _hold(self._link_to(address), start, self._timeout_s)

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
        return await _hold(self._link_to(address), start, self._timeout_s)

    def close(self) -> None:
        """Close all connections."""
        for one in self._links.values():
            one.close()
        self._links.clear()

    def _link_to(self, address: Address) -> AsyncLink:
        link = self._links.get(address)
        if link is None:
            link = AsyncLink(self._access.at(address), self._software)
            self._links[address] = link
        return link


Held = TypeVar("Held")


async def _hold(
    link: AsyncLink, start: Callable[[Served], Conversation[Held]], timeout_s: float
) -> Held:
    place = link.access.place
    try:
        return await link.hold(start, timeout_s=timeout_s)
    except Refused as error:
        text = f"Kafka at {place} and the bridge do not agree: {error}"
        raise ClusterRefusal(text) from None
    except NoAnswer as error:
        raise ClusterFault(f"Kafka at {place} does not answer ({error})") from None


def _ask_raw(request: Payload, served: Served) -> Conversation[tuple[Payload, bytes]]:
    api_key: int = request.__api_key__
    api_version = share_version(api_key, served)
    if api_version is None:
        raise MissingApi(
            f"the cluster does not serve {type(request).__name__} "
            f"(API key {api_key}) in a version known here"
        )
    adapted = adapt(request, api_version)
    is_flexible = adapted.__header_schema__.__flexible__
    body = yield Request(api_key, api_version, encode_body(adapted), is_flexible)
    return adapted, body


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
    try:
        return read(body)
    except MalformedResponse as error:
        raise MalformedAnswer(str(error)) from None


def _describe(
    resources: Sequence[tuple[int, str]],
    *,
    names: Sequence[str] | None = None,
    has_synonyms: bool = False,
) -> DescribeConfigsRequest:
    keys = None if names is None else tuple(names)
    return DescribeConfigsRequest(
        resources=tuple(
            DescribeConfigsResource(
                resource_type=i8(kind), resource_name=name, configuration_keys=keys
            )
            for kind, name in resources
        ),
        include_synonyms=has_synonyms,
        include_documentation=False,
    )


LISTED_TYPES: Mapping[int, str] = {
    CLIENT_METRICS_RESOURCE: "CLIENT_METRICS",
    GROUP_RESOURCE: "GROUP",
}
"""Resource types whose resources are listed."""
