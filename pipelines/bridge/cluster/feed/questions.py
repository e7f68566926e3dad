"""One question that is asked again and again of a node, and what its errors mean.

Strategy: most answers say what the last one said: their bytes are compared, and only
what differs is read. So an idle cluster costs next to nothing, however much is set in
it.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from kio.schema.describe_configs.v4.response import DescribeConfigsResponse
from kio.schema.errors import ErrorCode
from kio.static.protocol import Payload

from pipelines.bridge.cluster.faults import (
    ClusterFault,
    ClusterRefusal,
    MissingApi,
    MissingRight,
)
from pipelines.bridge.protocol.cluster_requests import (
    adapt,
    decode_response,
    newest,
    share_version,
)
from pipelines.bridge.protocol.errors import MalformedResponse
from pipelines.bridge.protocol.replies import encode_body
from pipelines.kafka_client.async_link import AsyncLink
from pipelines.kafka_client.faults import NoAnswer, Refused
from pipelines.kafka_client.messages import Request, Served
from pipelines.kafka_client.session import Conversation

_THROTTLE_BYTES = 4
"""Of an answer's body: how long it was throttled, which says nothing of the cluster."""
_AUTHORIZATION = (
    ErrorCode.cluster_authorization_failed,
    ErrorCode.group_authorization_failed,
    ErrorCode.topic_authorization_failed,
)
Answer = TypeVar("Answer", bound=Payload)
Held = TypeVar("Held")


class Question:
    """One request that is asked again and again of one node."""

    def __init__(self) -> None:
        self._last: tuple[Payload, bytes] | None = None

    async def ask(
        self,
        link: AsyncLink,
        request: Payload,
        expected: type[Answer],
        *,
        timeout_s: float,
        check: Callable[[Answer], None],
    ) -> Answer | None:
        """Return the answer in its newest version; None where it is the last one.

        Args:
            check: Raises ClusterFault for an answer that is an error; such a one is
                read each time.
        Raises: ClusterFault; ClusterRefusal and MissingApi among them.
        """
        adapted, body = await hold(link, partial(ask_raw, request), timeout_s)
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
        try:
            check(answer)
        except ClusterFault:
            self._last = None
            raise
        return answer

    def forget(self) -> None:
        """Read the next answer whatever it says."""
        self._last = None


async def hold(
    link: AsyncLink, start: Callable[[Served], Conversation[Held]], timeout_s: float
) -> Held:
    """Return what a conversation comes to.

    Raises: ClusterFault; ClusterRefusal and MissingApi among them.
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


def check_error(error_code: ErrorCode, what: str, right: str) -> None:
    """Raise what an error means.

    Args:
        what: What is not shown.
        right: The one that shows it.
    """
    if error_code is ErrorCode.none:
        return
    text = f"the cluster does not show {what} ({error_code.name})"
    if error_code in _AUTHORIZATION:
        raise MissingRight(f"{text}: the bridge's principal needs {right}")
    if error_code.retriable:
        raise ClusterFault(text)
    raise ClusterRefusal(text)


def check_results(what: str, right: str, answer: DescribeConfigsResponse) -> None:
    """Raise what the first error of some resources means."""
    for one in answer.results:
        check_error(one.error_code, what, right)
