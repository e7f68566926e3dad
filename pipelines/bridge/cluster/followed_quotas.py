"""Follows the quotas of the clients' cluster by asking for them.

Strategy: all of them at once, again and again. Most answers are the last one: their
bytes are compared, and only what differs is read; a long one is read in a thread. A
cluster that is away, or says no, leaves in force what it said last.
Source: KIP-546.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from kio.schema.describe_client_quotas.v1.request import DescribeClientQuotasRequest
from kio.schema.describe_client_quotas.v1.response import DescribeClientQuotasResponse
from kio.static.protocol import Payload

from pipelines.bridge.quotas.limits import QuotaLimits, SetQuota
from pipelines.kafka_client.async_link import AsyncLink
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_wire.client import REQUEST_TIMEOUT_S, ask_raw, hold
from pipelines.kafka_wire.cluster_requests import decode_response, newest
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.questions import check_error

logger = logging.getLogger(__name__)

_EVERYTHING = DescribeClientQuotasRequest(components=(), strict=False)
_THROTTLE_BYTES = 4
_LONG_BYTES = 65_536
"""Reading more of an answer would keep clients waiting."""
_MS = 1_000


class QuotaFollower:
    """Asks again and again, and says once what has gone wrong."""

    def __init__(
        self,
        link: AsyncLink,
        put: Callable[[QuotaLimits], None],
        note_fault: Callable[[], None],
        *,
        poll_ms: int,
        section: str = "kafka",
    ) -> None:
        """Ask nothing yet.

        Args:
            link: To the cluster.
            put: Takes what is set, each time that it is something else.
            note_fault: Counts a look that has found nothing.
            poll_ms: Milliseconds between two looks.
            section: The table of conf/ that names the cluster.
        """
        self._link = link
        self._put = put
        self._note_fault = note_fault
        self._poll_s = poll_ms / _MS
        self._section = section
        self._last_body: bytes | None = None
        self._last_quotas: frozenset[SetQuota] | None = None
        self.fault = ""
        """Why the last look has found nothing; empty where it has."""

    @property
    def has_read(self) -> bool:
        """Whether the cluster has ever answered."""
        return self._last_quotas is not None

    async def look(self, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        """Put in force what the cluster says now, or say once why not."""
        try:
            await self._read(timeout_s)
        except ClusterFault as fault:
            self._note_fault()
            if str(fault) != self.fault:
                self.fault = str(fault)
                logger.warning(
                    "%s: the quotas of the cluster of [%s] are not followed: %s",
                    "quotas stay as they are" if self.has_read else "none is enforced",
                    *(self._section, fault),
                )
            return
        if self.fault:
            self.fault = ""
            logger.info("quotas of the cluster are followed again")

    async def follow(self) -> None:
        """Look for ever."""
        while True:
            await asyncio.sleep(self._poll_s)
            await self.look()

    async def _read(self, timeout_s: float) -> None:
        asked, body = await hold(self._link, partial(ask_raw, _EVERYTHING), timeout_s)
        if body[_THROTTLE_BYTES:] == self._last_body:
            return
        if len(body) > _LONG_BYTES:
            quotas = await asyncio.to_thread(_read_quotas, asked, body)
        else:
            quotas = _read_quotas(asked, body)
        self._last_body = body[_THROTTLE_BYTES:]
        if quotas != self._last_quotas:
            is_news = bool(quotas or self._last_quotas)
            self._last_quotas = quotas
            self._put(QuotaLimits(quotas))
            if is_news:
                logger.info("%d quotas of the cluster are in force", len(quotas))


def _read_quotas(asked: Payload, body: bytes) -> frozenset[SetQuota]:
    try:
        answer = newest(decode_response(asked, body))
    except MalformedBytes as error:
        raise ClusterFault(str(error)) from None
    if not isinstance(answer, DescribeClientQuotasResponse):
        raise TypeError(f"{type(answer).__name__} is no answer about quotas")
    check_error(answer.error_code, "its quotas", "DESCRIBE_CONFIGS on the cluster")
    return frozenset(
        SetQuota(
            tuple(sorted((part.entity_type, part.entity_name) for part in one.entity)),
            quota.key,
            quota.value,
        )
        for one in answer.entries or ()
        for quota in one.values
    )
