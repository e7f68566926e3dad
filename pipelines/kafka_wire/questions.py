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

from pipelines.kafka_client.async_link import AsyncLink
from pipelines.kafka_client.primitives import MalformedBytes

from .client import ask_raw, hold
from .cluster_requests import decode_response, newest
from .faults import ClusterFault, ClusterRefusal, MissingRight

_THROTTLE_BYTES = 4
"""Of an answer's body: how long it was throttled, which says nothing of the cluster."""
_AUTHORIZATION = (
    ErrorCode.cluster_authorization_failed,
    ErrorCode.group_authorization_failed,
    ErrorCode.topic_authorization_failed,
)
Answer = TypeVar("Answer", bound=Payload)


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
        except MalformedBytes as error:
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
