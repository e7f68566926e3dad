# Longer than 400 lines because all its methods share what is half received of a
# client: another object between them would cost every request a call.
"""Frames of one client on their way to its broker; no I/O.

Strategy: a frame that nothing here has to read is passed on with the bytes that came
with it, whole or in pieces: its head is read in one step, and what is left of it is
counted, not kept. Kept are only requests that are read whole, and a head cut off by the
end of the bytes.
What comes back when bytes are bad: MalformedBytes or UnsupportedRequest; the pair of
connections is of no use then, and everything before those bytes has been passed on.
Source: Kafka protocol guide, "Request Header"; ProduceRequest.json.
"""

import struct
import sys
from collections.abc import Mapping
from functools import partial

from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.kafka_client.primitives import MalformedBytes, WireError

from .addresses import FindAddress, rewrite_addresses
from .config_watch import MAX_LOOK_BYTES, WireWatch
from .line import Awaited, Care, Line, OwnReply, RequestReader, Write
from .produce import has_answer
from .traffic import TrafficCounts, TrafficWatch
from .versions import (
    FETCH,
    FIRST_PRODUCE_WITH_ENDPOINTS,
    KNOWN_VERSIONS,
    PRODUCE,
    SHARE_FETCH,
)

_SIZE_BYTES = 4
_SIZE = struct.Struct(">i")
_HEAD = struct.Struct(">ihhih")
"""Size, API key, version, correlation id, length of the client id."""
_SMALLEST_REQUEST = _HEAD.size - _SIZE_BYTES
_CUT_OFF = -1
_FETCH_END = KNOWN_VERSIONS[FETCH].stop
"""The first version whose answers name brokers."""

_MOST_APIS = 128
"""Of one connection that are told apart; Kafka has some 90."""

Head = tuple[int, int, int, int, int]


class RequestFrames:
    """What is half received of one client."""

    __slots__ = (
        "_all_cares",
        "_begun",
        "_cares",
        "_find_address",
        "_left",
        "_line",
        "_max_read_bytes",
        "_needed",
        "_passed",
        "_pieces",
        "_reader",
        "_to_broker",
        "_traffic",
        "_unlisted",
        "_unseen",
        "_watch",
        "has_unanswered",
        "part",
    )

    def __init__(
        self,
        line: Line,
        *,
        cares: Mapping[int, Care],
        reader: RequestReader,
        find_address: FindAddress,
        to_broker: Write,
        max_read_bytes: int,
        watch: WireWatch | None = None,
        traffic: TrafficWatch | None = None,
    ) -> None:
        """Start with nothing.

        Args:
            line: Where requests take their places.
            cares: By API key; all others are only passed on.
            reader: Reads and answers requests of this client.
            find_address: Says what clients are told of a broker.
            to_broker: Takes bytes for the broker, in order.
            max_read_bytes: Size of the largest request that is read whole.
            watch: Looks at what the cares FETCH and SEEN are for, and at Produce.
            traffic: Counts Produce and Fetch, and notes the version of each API.
        """
        self._line = line
        self._all_cares = cares
        self._begun: dict[int, Care | None] | None = None if traffic is None else {}
        """The cares of APIs that have been used; None where nobody notes versions."""
        # Once an API is noted it costs what it would if nobody did that.
        self._cares: Mapping[int, Care | None] = (
            cares if self._begun is None else self._begun
        )
        self._unlisted = None if traffic is None else Care.NEW
        self._reader = reader
        self._find_address = find_address
        self._to_broker = to_broker
        self._max_read_bytes = max_read_bytes
        self._watch = watch
        self._traffic = traffic
        self._unseen = sys.maxsize if watch is None else 0
        """Requests with data that pass before the next one is looked at. Mostly it is
        only this that they cost."""
        self._left = 0
        """Bytes still to come of a request that is passed on in pieces."""
        self.has_unanswered = False
        """Whether Produce has passed that is not answered, for its acks are 0."""
        self.part: bytearray | None = None
        """What is kept, since it must be read whole; None for nothing."""
        self._needed = 0
        self._passed = 0
        self._pieces: list[bytes] = []

    @property
    def is_amid(self) -> bool:
        """Whether a request has begun and is not whole."""
        return self._left > 0 or self.part is not None

    def receive(self, data: bytes) -> None:
        """Take bytes as the client has sent them.

        Raises: MalformedBytes, UnsupportedRequest.
        """
        part, left = self.part, self._left
        if part is not None:
            part += data
            if len(part) < self._needed:
                return
            data, self.part = bytes(part), None
        elif left:
            if left >= len(data):
                self._left = left - len(data)
                self._to_broker(data)
                return
        elif len(data) >= _HEAD.size:
            # Mostly it is one whole frame.
            head = _HEAD.unpack_from(data)
            line = self._line
            if head[0] + _SIZE_BYTES == len(data) and not line.expects_token:
                care = self._cares.get(head[1], self._unlisted)
                if care is None:
                    line.append(head[3])
                    self._to_broker(data)
                    return
                if care is Care.PRODUCE and self._enter_produce(data, 0, head):
                    self._to_broker(data)
                    return
                if care is Care.FETCH and head[2] < _FETCH_END:
                    self._enter_fetch(data, 0, head)
                    self._to_broker(data)
                    return
        self._left = 0
        self._take_all(data, left)

    def _take_all(self, data: bytes, at: int) -> None:
        """Take all requests from the place on where one begins."""
        end = len(data)
        self._passed = 0
        while at < end:
            try:
                next_at = self._take_one(data, at)
            except WireError:
                self._pass(data, at)
                self._write_pieces()
                raise
            if next_at == _CUT_OFF:
                break
            at = next_at
        if at > end:
            self._left = at - end
            at = end
        self._pass(data, at)
        self._write_pieces()
        if at < end:
            self.part = bytearray(data[at:])

    def _take_one(self, data: bytes, at: int) -> int:
        """Take one request; return where the next one begins, or _CUT_OFF."""
        if self._line.expects_token:
            return self._take_token(data, at)
        if len(data) - at < _HEAD.size:
            return self._await_head(data, at)
        head = _HEAD.unpack_from(data, at)
        size, api_key, _, correlation_id, _ = head
        _check_size(size)
        frame_end: int = at + _SIZE_BYTES + size
        care = self._cares.get(api_key, self._unlisted)
        if care is Care.NEW:
            if self._lacks_client_id(data, at, head):
                return _CUT_OFF
            care = self._begin_api(data, at, head)
        if care is None:
            self._line.append(correlation_id)
        elif care is Care.PRODUCE:
            if not self._enter_produce(data, at, head):
                # Its head is not all there: a byte more may be enough.
                self._needed = len(data) - at + 1
                return _CUT_OFF
        else:
            return self._take_cared(care, data, at, head)
        return frame_end

    def _begin_api(self, data: bytes, at: int, head: Head) -> Care | None:
        """Note the version of an API that is new here; return what requests need."""
        _, api_key, version, _, id_length = head
        care, begun = self._all_cares.get(api_key), self._begun
        if begun is not None and len(begun) < _MOST_APIS:
            begun[api_key] = care
            counts = self._find_counts(data, at, id_length)
            if counts is not None:
                counts.note_version(api_key, version)
        return care

    def _take_cared(self, care: Care, data: bytes, at: int, head: Head) -> int:
        """Take one request that is no Produce and not only passed on."""
        if care is Care.REWRITE:
            return self._pass_rewritten(data, at, head)
        if care is Care.READ:
            return self._read(data, at, head)
        take = self._pass_fetch if care is Care.FETCH else self._pass_seen
        return take(data, at, head)

    def _await_head(self, data: bytes, at: int) -> int:
        """Wait for a head, but not for that of a request that cannot have one."""
        if len(data) - at < _SIZE_BYTES:
            self._needed = _SIZE_BYTES
        else:
            _check_size(_SIZE.unpack_from(data, at)[0])
            self._needed = _HEAD.size
        return _CUT_OFF

    def _enter_produce(self, data: bytes, at: int, head: Head) -> bool:
        """Give Produce its place if it has one; False where its head is cut off."""
        size, api_key, version, correlation_id, id_length = head
        _check_version(api_key, version)
        end = at + _SIZE_BYTES + size
        answered = has_answer(data, at + _HEAD.size, version, id_length, end)
        if answered is None:
            return False
        counts = self._find_counts(data, at, id_length)
        if counts is not None:
            counts.produce_requests += 1
            counts.produced_bytes += size
        if not answered:
            self.has_unanswered = True
        elif counts is not None or version >= FIRST_PRODUCE_WITH_ENDPOINTS:
            self._line.append((correlation_id, PRODUCE, version, counts))
        else:
            self._line.append(correlation_id)
        self._pass_data(data, at, head)
        return True

    def _enter_fetch(self, data: bytes, at: int, head: Head) -> None:
        """Give Fetch its place; its client id is there."""
        _, _, version, correlation_id, id_length = head
        counts = self._find_counts(data, at, id_length)
        if counts is None:
            self._line.append(correlation_id)
        else:
            counts.fetch_requests += 1
            self._line.append((correlation_id, FETCH, version, counts))
        self._pass_data(data, at, head)

    def _find_counts(
        self, data: bytes, at: int, id_length: int
    ) -> TrafficCounts | None:
        """Return where a request with data is counted, if anywhere."""
        traffic = self._traffic
        if traffic is None:
            return None
        at += _HEAD.size
        client_id = data[at : at + max(id_length, 0)]
        is_last = client_id == traffic.client_id
        return traffic.counts if is_last else traffic.find(client_id)

    def _pass_rewritten(self, data: bytes, at: int, head: Head) -> int:
        """Pass on one request whose answer is rewritten, and counted if it is data."""
        size, api_key, version, correlation_id, id_length = head
        _check_version(api_key, version)
        rewrite = partial(
            rewrite_addresses, api_key, version, find_address=self._find_address
        )
        if api_key == SHARE_FETCH:
            if self._lacks_client_id(data, at, head):
                return _CUT_OFF
            self._see(data, at, head)
            counts = self._find_counts(data, at, id_length)
            if counts is not None:
                counts.fetch_requests += 1
                rewrite = partial(counts.take_share_fetch, rewrite)
        has_data = api_key == SHARE_FETCH
        self._line.append(Awaited(correlation_id, rewrite, has_data=has_data))
        return at + _SIZE_BYTES + size

    def _pass_fetch(self, data: bytes, at: int, head: Head) -> int:
        """Pass on one Fetch as it comes, from its client id on."""
        size, api_key, version, _, _ = head
        _check_version(api_key, version)
        if self._lacks_client_id(data, at, head):
            return _CUT_OFF
        self._enter_fetch(data, at, head)
        return at + _SIZE_BYTES + size

    def _lacks_client_id(self, data: bytes, at: int, head: Head) -> bool:
        """Wait for a client id that is cut off."""
        # One that its own request cuts off is the broker's to refuse.
        id_end = min(_HEAD.size + max(head[4], 0), _SIZE_BYTES + head[0])
        is_cut_off = at + id_end > len(data)
        if is_cut_off:
            self._needed = id_end
        return is_cut_off

    def _pass_seen(self, data: bytes, at: int, head: Head) -> int:
        """Look at one request; one that is small is held until it is whole."""
        size, _, _, correlation_id, _ = head
        frame_end: int = at + _SIZE_BYTES + size
        if frame_end > len(data) and size <= MAX_LOOK_BYTES:
            self._needed = size + _SIZE_BYTES
            return _CUT_OFF
        self._see(data, at, head)
        self._line.append(correlation_id)
        return frame_end

    def _pass_data(self, data: bytes, at: int, head: Head) -> None:
        """Look at a request with data if it is its turn; a part may be missing."""
        self._unseen -= 1
        if self._unseen < 0 and self._watch is not None:
            self._unseen = self._watch.look(data, at, head)

    def _see(self, data: bytes, at: int, head: Head) -> None:
        """Tell of a request that is no data."""
        if self._watch is not None:
            self._watch.see(data, at, head)

    def _read(self, data: bytes, at: int, head: Head) -> int:
        """Read one request; what is not passed on is answered here."""
        size, api_key, version, _, _ = head
        frame = self._cut_frame(data, at, size)
        if frame is None:
            return _CUT_OFF
        place = self._reader.read_request(api_key, version, frame)
        self._line.append(place)
        frame_end = at + _SIZE_BYTES + size
        if isinstance(place, OwnReply):
            self._pass(data, at)
            self._passed = frame_end
            self._answer(frame, place)
        elif place.instead is not None:
            self._pass(data, at)
            self._passed = frame_end
            self._pieces.append(place.instead)
        return frame_end

    def _answer(self, frame: bytes, place: OwnReply) -> None:
        """Have a request answered here; what cannot be read is owed no answer."""
        try:
            self._reader.answer(frame, place)
        except WireError:
            self._line.pop()
            raise

    def _take_token(self, data: bytes, at: int) -> int:
        """Read one frame of SASL that has no header."""
        if len(data) - at < _SIZE_BYTES:
            self._needed = _SIZE_BYTES
            return _CUT_OFF
        size = _SIZE.unpack_from(data, at)[0]
        token = self._cut_frame(data, at, size)
        if token is None:
            return _CUT_OFF
        place = self._reader.read_token(token)
        if place is None:
            # The tokens are over; the next look finds a request here.
            return at
        self._line.append(place)
        return at + _SIZE_BYTES + int(size)

    def _cut_frame(self, data: bytes, at: int, size: int) -> bytes | None:
        """Return a frame without its size, None where it is not whole yet."""
        if not 0 <= size <= self._max_read_bytes:
            raise MalformedBytes(
                f"a request of {size} bytes to be read; at most {self._max_read_bytes}"
            )
        start = at + _SIZE_BYTES
        if start + size > len(data):
            self._needed = size + _SIZE_BYTES
            return None
        return data[start : start + size]

    def _pass(self, data: bytes, end: int) -> None:
        """Pass on what has been taken up to here."""
        start = self._passed
        if start < end:
            self._passed = end
            is_all = start == 0 and end == len(data)
            self._pieces.append(data if is_all else data[start:end])

    def _write_pieces(self) -> None:
        """Write all at once: a broker that has closed would refuse a second write.

        Its answers to what stands before a bad request would be lost with that.
        """
        if self._pieces:
            self._to_broker(b"".join(self._pieces))
            self._pieces.clear()


def _check_size(size: int) -> None:
    if size < _SMALLEST_REQUEST:
        raise MalformedBytes(f"a request of {size} bytes")


def _check_version(api_key: int, version: int) -> None:
    if version not in KNOWN_VERSIONS[api_key]:
        raise UnsupportedRequest(f"API key {api_key} version {version}")
