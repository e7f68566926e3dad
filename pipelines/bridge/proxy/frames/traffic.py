"""What one client of the proxy produces and fetches, counted as frames pass; no I/O.

Beside it stand the API versions that it uses: of each API that of its first request on
a connection, for a client settles on one when it has seen what the broker serves.

Strategy: sizes stand in heads that are read anyway, and an answer's throttle time is at
one end of it, so that counting costs some additions a request and never looks at data.
Counted are the bytes that a broker's quotas count: of Produce the request, of Fetch and
ShareFetch the answer, all without the four bytes of their size.
What comes back when bytes are bad: nothing; the fault is the relay's to find.
Source: Kafka 4.3.1, KafkaApis.scala, handleProduceRequest, handleFetchRequest and
processShareFetchResponse; ProduceResponse.json, FetchResponse.json,
ShareFetchResponse.json: ThrottleTimeMs is Produce's last field, from version 1 on, and
the first of the others.
"""

import functools
import struct
from collections.abc import Callable
from typing import Protocol

from kio.index import load_response_schema

from pipelines.bridge.core.handlers import Connection
from pipelines.kafka_client.primitives import Cursor, MalformedBytes
from pipelines.kafka_wire.entities import ItemBudget, read_entity

from .versions import PRODUCE

MOST_CLIENT_IDS = 4
"""Of one connection that are counted apart; Kafka's own clients have one."""
MOST_API_VERSIONS = 64
"""Told of a client at one broker; Kafka's own clients use two dozen APIs."""
_THROTTLE = struct.Struct(">i")
_MS = 1_000
FETCH_HEAD_BYTES = 13
"""Up to where ThrottleTimeMs of any version has come: size, correlation id, tags."""
_FIRST_FETCH_WITH_THROTTLE = 1
_FIRST_FLEXIBLE_FETCH = 12
_FIRST_PRODUCE_WITH_THROTTLE = 1
FIRST_FLEXIBLE_PRODUCE = 9
_HEAD_BYTES = 8
"""Of an answer: size, correlation id."""
_SIZE_BYTES = _CORRELATION_BYTES = 4


ApiVersion = tuple[int, int]
"""API key and version."""

COUNTS = (
    *("produced_bytes", "fetched_bytes", "produce_requests", "fetch_requests"),
    *("throttle_ms_sum", "throttle_ms_max", "throttled_answers"),
    "produce_throttle_ms_sum",
)
"""What is told of a client as numbers."""


class TrafficCounts:
    """What one client id on one connection has done since the last record of it."""

    __slots__ = (*COUNTS, "api_versions", "has_new_version")

    def __init__(self) -> None:
        """Start with nothing."""
        self.api_versions: frozenset[ApiVersion] = frozenset()
        """Since the connection began: each record tells them again."""
        self.clear()

    def clear(self) -> None:
        """Start again with nothing but the API versions."""
        self.has_new_version = False
        self.produced_bytes = self.fetched_bytes = 0
        self.produce_requests = self.fetch_requests = 0
        self.throttle_ms_sum = self.throttle_ms_max = self.throttled_answers = 0
        self.produce_throttle_ms_sum = 0
        """The part of throttle_ms_sum that answers to Produce told."""

    @property
    def has_data(self) -> bool:
        """Whether data has passed, be it an answer to what was asked before."""
        return bool(
            self.produce_requests
            or self.fetch_requests
            or self.fetched_bytes
            or self.throttled_answers
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not (self.has_new_version or self.has_data)

    def note_version(self, api_key: int, api_version: int) -> None:
        """Take the version of the first request of an API on the connection."""
        if api_key >= 0 and api_version >= 0:
            self.api_versions = _with_version(self.api_versions, (api_key, api_version))
            self.has_new_version = True

    def add(self, other: "TrafficCounts") -> None:
        """Take what another one has counted."""
        for one in other.api_versions - self.api_versions:
            self.api_versions = _with_version(self.api_versions, one)
        self.produced_bytes += other.produced_bytes
        self.fetched_bytes += other.fetched_bytes
        self.produce_requests += other.produce_requests
        self.fetch_requests += other.fetch_requests
        self.throttle_ms_sum += other.throttle_ms_sum
        self.throttle_ms_max = max(self.throttle_ms_max, other.throttle_ms_max)
        self.throttled_answers += other.throttled_answers
        self.produce_throttle_ms_sum += other.produce_throttle_ms_sum

    def take_fetch(
        self, data: bytes | bytearray, at: int, size: int, api_version: int
    ) -> None:
        """Count an answer to Fetch.

        Args:
            data: Bytes with its head, FETCH_HEAD_BYTES of it where it has as many.
            at: Where it begins.
            size: As its first four bytes say.
            api_version: Of the request.
        """
        self.fetched_bytes += size
        if api_version < _FIRST_FETCH_WITH_THROTTLE:
            return
        place = at + _HEAD_BYTES
        if api_version >= _FIRST_FLEXIBLE_FETCH:
            # No tagged field of an answer's header is known.
            place += 1
        if place + _THROTTLE.size <= at + _SIZE_BYTES + size:
            throttle_ms = _THROTTLE.unpack_from(data, place)[0]
            if throttle_ms > 0:
                self._note_throttle(throttle_ms)

    def take_share_fetch(self, rewrite: Callable[[bytes], bytes], body: bytes) -> bytes:
        """Count an answer to ShareFetch, and return what a client gets for it.

        Args:
            rewrite: Makes that.
            body: What follows the correlation id: tags, then the throttle time.
        """
        self.fetched_bytes += len(body) + _CORRELATION_BYTES
        if len(body) >= 1 + _THROTTLE.size:
            throttle_ms = _THROTTLE.unpack_from(body, 1)[0]
            if throttle_ms > 0:
                self._note_throttle(throttle_ms)
        return rewrite(body)

    def take_produce(self, body: bytes, api_version: int, *, is_plain: bool) -> None:
        """Count an answer to Produce; one without a throttle time need not come here.

        Args:
            body: What follows the correlation id.
            api_version: Of the request.
            is_plain: Whether no tagged fields follow the throttle time.
        """
        throttle_ms = _read_produce_throttle(body, api_version, is_plain=is_plain)
        if throttle_ms > 0:
            self.produce_throttle_ms_sum += throttle_ms
            self._note_throttle(throttle_ms)

    def _note_throttle(self, throttle_ms: int) -> None:
        self.throttled_answers += 1
        self.throttle_ms_sum += throttle_ms
        self.throttle_ms_max = max(self.throttle_ms_max, throttle_ms)


@functools.lru_cache(maxsize=4_096)
def _with_version(
    known: frozenset[ApiVersion], one: ApiVersion
) -> frozenset[ApiVersion]:
    """Return one object for equal versions: most connections have them in common."""
    return known if len(known) >= MOST_API_VERSIONS else known | {one}


def _read_produce_throttle(body: bytes, api_version: int, *, is_plain: bool) -> int:
    if api_version < _FIRST_PRODUCE_WITH_THROTTLE:
        return 0
    behind = 0 if api_version < FIRST_FLEXIBLE_PRODUCE else 1
    place = len(body) - _THROTTLE.size - behind
    if is_plain:
        return int(_THROTTLE.unpack_from(body, place)[0]) if place >= 0 else 0
    # Some partition has another leader: that happens seldom.
    cursor = Cursor(body)
    try:
        cursor.skip_tagged_fields()
        schema = load_response_schema(PRODUCE, api_version)
        answer = read_entity(cursor, schema, ItemBudget(len(body)))
    except MalformedBytes:
        return 0
    return int(answer.throttle_time.total_seconds() * _MS)


class TrafficClient(Protocol):
    """Who is counted."""

    connection: Connection

    def is_named(self) -> bool:
        """Say whether it is known who that is."""


class TrafficWatch:
    """The counts of one connection, by the client ids of its requests."""

    __slots__ = (
        "_begin",
        "_end",
        "_retire",
        "by_id",
        "client",
        "client_id",
        "counts",
        "retired",
    )

    def __init__(
        self,
        client: TrafficClient,
        *,
        begin: "Callable[[TrafficWatch], None]",
        end: "Callable[[TrafficWatch], None]",
        retire: "Callable[[TrafficWatch, bytes], None]",
    ) -> None:
        """Start with nothing.

        Args:
            client: Who it is.
            begin: Told before the first request.
            end: Told when the connection is over.
            retire: Takes the counts of a client id that makes room for another one.
        """
        self.client = client
        self._begin, self._end, self._retire = begin, end, retire
        self.by_id: dict[bytes, TrafficCounts] = {}
        """By client id; empty where a request has none, as brokers have it."""
        self.client_id: bytes | None = None
        """Of the last request; None before the first."""
        self.counts = TrafficCounts()
        """Of that client id."""
        self.retired = 0
        """Client ids that have made room since the last record."""

    def find(self, client_id: bytes) -> TrafficCounts:
        """Return the counts of a client id that is not that of the last request."""
        counts = self.by_id.get(client_id)
        if counts is None:
            if not self.by_id:
                self._begin(self)
            elif len(self.by_id) == MOST_CLIENT_IDS:
                oldest = next(iter(self.by_id))
                self.retired += 1
                self._retire(self, oldest)
                del self.by_id[oldest]
            counts = self.by_id[client_id] = TrafficCounts()
        self.client_id, self.counts = client_id, counts
        return counts

    def begin_anew(self) -> None:
        """Forget what was counted; answers that are owed are counted from now on."""
        self.retired = 0
        for counts in self.by_id.values():
            counts.clear()

    def end(self) -> None:
        """Note that the connection is over."""
        if self.by_id:
            self._end(self)
