"""Requests of ours to a cluster: kio's messages on a link to any server.

Strategy: every request of ours may go to any broker and may be repeated, so there is
one link, and a request is tried until its time is over.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from kio.static.protocol import Payload

from pipelines import __version__
from pipelines.kafka_client.async_link import AsyncLink
from pipelines.kafka_client.faults import NoAnswer, Refused
from pipelines.kafka_client.messages import Request, Served
from pipelines.kafka_client.properties import Access
from pipelines.kafka_client.session import Conversation, Software

from .cluster_requests import adapt, decode_response, newest, share_version
from .faults import ClusterFault, ClusterRefusal, MissingApi
from .messages import encode_body

SOFTWARE_NAME = "kafka-clientele"
REQUEST_TIMEOUT_S = 10.0

Answer = TypeVar("Answer", bound=Payload)
Held = TypeVar("Held")
Finish = Callable[[Payload | ClusterFault], None]
"""Takes the answer to a request in its newest version, or why there is none."""


def make_link(access: Access, *, client_id: str) -> AsyncLink:
    """Return a link that names this software; it connects at the first request."""
    software = Software(client_id=client_id, name=SOFTWARE_NAME, version=__version__)
    return AsyncLink(access, software)


async def hold(
    link: AsyncLink, start: Callable[[Served], Conversation[Held]], timeout_s: float
) -> Held:
    """Return the result of a conversation.

    Args:
        start: Begins it with what the broker serves; more than once where a
            connection breaks.
        timeout_s: Seconds until it is given up.
    Raises: ClusterFault; ClusterRefusal and MissingApi among them; what the
        conversation raises, MalformedBytes apart.
    """
    place = link.access.place
    try:
        return await link.hold(start, timeout_s=timeout_s)
    except Refused as error:
        text = f"Kafka at {place} and the bridge do not agree: {error}"
        raise ClusterRefusal(text) from None
    except NoAnswer as error:
        raise ClusterFault(f"Kafka at {place} does not answer ({error})") from None


def ask_raw(request: Payload, served: Served) -> Conversation[tuple[Payload, bytes]]:
    """Ask in the version that is shared; return the request so, and the answer's bytes.

    Raises: MissingApi where there is no such version.
    """
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


def converse(request: Payload, served: Served) -> Conversation[Payload]:
    """Ask in the version that is shared; return the answer in the newest one.

    Raises: MissingApi where there is no such version; MalformedBytes.
    """
    adapted, body = yield from ask_raw(request, served)
    return newest(decode_response(adapted, body))


class ClusterClient:
    """Asks a cluster; lives in one event loop."""

    def __init__(self, access: Access, *, client_id: str) -> None:
        self.link = make_link(access, client_id=client_id)
        """Where it asks; what takes an answer's bytes as they are asks there itself."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(
        self,
        request: Payload,
        expected: type[Answer],
        *,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> Answer:
        """Return the answer to a request that may be sent twice.

        Args:
            request: In any version; it is sent in the one that the broker shares.
            expected: The newest version of the answer.
            timeout_s: Seconds until the request is given up.
        Raises: ClusterFault; ClusterRefusal and MissingApi among them.
        """
        answer = await self.hold(partial(converse, request), timeout_s=timeout_s)
        if not isinstance(answer, expected):
            raise TypeError(f"{type(answer).__name__} is no {expected.__name__}")
        return answer

    async def hold(
        self, start: Callable[[Served], Conversation[Held]], *, timeout_s: float
    ) -> Held:
        """Return the result of a conversation; see hold of this module."""
        return await hold(self.link, start, timeout_s)

    def forward(self, request: Payload, finish: Finish) -> None:
        """Ask without waiting; finish is called once, later."""
        task = asyncio.get_running_loop().create_task(self._forward(request, finish))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Give up what is not answered, and the connection."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.link.close()

    async def _forward(self, request: Payload, finish: Finish) -> None:
        start = partial(converse, request)
        try:
            answer: Payload | ClusterFault = await self.hold(
                start, timeout_s=REQUEST_TIMEOUT_S
            )
        except ClusterFault as fault:
            answer = fault
        finish(answer)
