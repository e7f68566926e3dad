"""Frames of one broker on their way to a client, with replies of ours; no I/O.

Strategy: a response that nothing here has to read is passed on with the bytes that came
with it; its correlation id must be the one that is next in line. A reply of ours goes
out when all before it are written, and those behind it wait for it: then the broker's
bytes are kept, and its connection is not to be read meanwhile. Answers to Produce are
read whole where they are counted or may name brokers, and tell anything; of those to
Fetch the head is looked at, and only where they are counted.
What comes back when bytes are bad: MalformedResponse; the pair is of no use then.
Source: Kafka protocol guide, "Response Header"; ProduceResponse.json.
"""

import struct
from collections.abc import Callable

from pipelines.bridge.protocol.errors import MalformedResponse

from .addresses import FindAddress, rewrite_addresses
from .line import (
    MAX_HELD_ANSWER_BYTES,
    Awaited,
    DataAnswer,
    Line,
    OwnReply,
    Place,
    Write,
)
from .traffic import FETCH_HEAD_BYTES, FIRST_FLEXIBLE_PRODUCE
from .versions import FETCH, FIRST_PRODUCE_WITH_ENDPOINTS, PRODUCE

_SIZE_BYTES = 4
_SIZE = struct.Struct(">i")
_HEAD = struct.Struct(">ii")
_NO_THROTTLE, _NO_THROTTLE_NO_TAGS = bytes(4), bytes(5)
_CUT_OFF = -1


class ResponseFrames:
    """What is half received of one broker."""

    __slots__ = (
        "_find_address",
        "_left",
        "_line",
        "_needed",
        "_note_large",
        "_part",
        "_passed",
        "_to_client",
        "is_blocked",
        "large_bytes",
    )

    def __init__(
        self,
        line: Line,
        *,
        find_address: FindAddress,
        to_client: Write,
        note_large: Callable[[], None],
    ) -> None:
        """Start with nothing.

        Args:
            line: Who is owed what.
            find_address: Says what clients are told of a broker.
            to_client: Takes bytes for the client, in order.
            note_large: Called when large_bytes has changed.
        """
        self._line = line
        self._find_address = find_address
        self._to_client = to_client
        self._left = 0
        self._part: bytearray | None = None
        self._needed = 0
        self._passed = 0
        self._note_large = note_large
        self.is_blocked = False
        """Whether the broker's bytes wait for a reply of ours."""
        self.large_bytes = 0
        """Size of the answer that is being received and held only if there is room; 0
        for none."""

    @property
    def is_amid(self) -> bool:
        """Whether a response has begun and is not whole."""
        return self._left > 0 or self._part is not None

    @property
    def missing_bytes(self) -> int:
        """Bytes of a large answer that have not been received."""
        return self._needed - len(self._part or b"") if self.large_bytes else 0

    def receive(self, data: bytes) -> None:
        """Take bytes as the broker has sent them.

        Raises: MalformedResponse.
        """
        part, left, line = self._part, self._left, self._line
        if part is not None:
            part += data
            if self.is_blocked or len(part) < self._needed:
                return
            self._take_part(part)
            return
        if left:
            if left > len(data):
                self._left = left - len(data)
                self._to_client(data)
                return
        elif line and len(data) >= _HEAD.size:
            # Mostly it is one whole frame.
            size, correlation_id = _HEAD.unpack_from(data)
            first = line[0]
            if size + _SIZE_BYTES == len(data) and (
                first == correlation_id
                or (
                    isinstance(first, tuple)
                    and first[0] == correlation_id
                    and _is_taken_at_once(first, data)
                )
            ):
                line.popleft()
                self._to_client(data)
                if line:
                    self._write_own()
                return
            if size > len(data) >= FETCH_HEAD_BYTES and _is_fetch(
                first, correlation_id
            ):
                # Or where records begin, whose rest only passes.
                self._left = size + _SIZE_BYTES - len(data)
                _count_fetch(line.popleft(), data, 0, size)
                self._to_client(data)
                return
        self._left = 0
        self._take_all(data, left)

    def fill(self, place: OwnReply, frame: bytes) -> None:
        """Take a reply of ours; a second one for the same place is dropped.

        Raises: MalformedResponse, from what the broker has sent behind it.
        """
        if place.frame is not None:
            return
        place.frame = frame
        if self._left or not self._line or self._line[0] is not place:
            return
        self._write_own()
        if self.is_blocked:
            self.is_blocked = False
            self._take_part(self._part or bytearray())

    def _write_own(self) -> None:
        """Write those replies of ours whose turn it is."""
        line = self._line
        while line:
            first = line[0]
            if not isinstance(first, OwnReply) or first.frame is None:
                return
            line.popleft()
            self._to_client(first.frame)

    def _take_part(self, part: bytearray) -> None:
        """Take what has been kept; a large answer is whole, and written behind this."""
        large_bytes, self.large_bytes, self._part = self.large_bytes, 0, None
        self._left = 0
        self._take_all(part, 0)
        if large_bytes and not self.large_bytes:
            self._note_large()

    def _take_all(self, data: bytes | bytearray, at: int) -> None:
        """Take all responses from the place on where one begins."""
        end = len(data)
        self._passed = 0
        while at < end:
            next_at = self._take_one(data, at)
            if next_at == _CUT_OFF:
                break
            at = next_at
        if at > end:
            self._left = at - end
            at = end
        self._pass(data, at)
        if at < end:
            self._part = bytearray(data[at:])
            if self.large_bytes:
                self._note_large()
        elif not self._left:
            self._write_own()

    def _take_one(self, data: bytes | bytearray, at: int) -> int:
        """Take one response; return where the next one begins, or _CUT_OFF."""
        if not self._line:
            raise MalformedResponse("a response that nothing has asked for")
        first = self._line[0]
        if isinstance(first, OwnReply):
            self._pass(data, at)
            if first.frame is None:
                self.is_blocked = True
                return _CUT_OFF
            self._write_own()
            return at
        if isinstance(first, Awaited) and first.correlation_id is None:
            return self._take_token(data, at, first)
        if len(data) - at < _HEAD.size:
            self._needed = _HEAD.size
            return _CUT_OFF
        size, correlation_id = _HEAD.unpack_from(data, at)
        if correlation_id != _awaited_id(first):
            raise MalformedResponse("a response that is not the next one")
        if size < _HEAD.size - _SIZE_BYTES:
            raise MalformedResponse(f"a response of {size} bytes")
        if not isinstance(first, int):
            return self._read(data, at, size, first)
        self._line.popleft()
        return int(at + _SIZE_BYTES + size)

    def _pass_fetch(
        self, data: bytes | bytearray, at: int, size: int, first: DataAnswer
    ) -> int:
        """Count an answer to Fetch, and pass it on as it comes."""
        needed = min(FETCH_HEAD_BYTES, _SIZE_BYTES + size)
        if len(data) - at < needed:
            self._needed = needed
            return _CUT_OFF
        _count_fetch(first, data, at, size)
        self._line.popleft()
        return at + _SIZE_BYTES + size

    def _read(
        self, data: bytes | bytearray, at: int, size: int, first: DataAnswer | Awaited
    ) -> int:
        """Read one response, and pass on what stands for it."""
        if isinstance(first, tuple) and first[1] == FETCH:
            return self._pass_fetch(data, at, size, first)
        needs_room = isinstance(first, Awaited) and first.needs_room(size)
        frame_end = self._find_end(data, at, size, is_bounded=not needs_room)
        if frame_end == _CUT_OFF:
            self.large_bytes = size if needs_room else 0
            return _CUT_OFF
        body = bytes(memoryview(data)[at + _HEAD.size : frame_end])
        read: bytes | None
        if isinstance(first, tuple):
            self._line.popleft()
            if _tells_nothing(body, first[2]):
                return frame_end
            read = self._read_produce(first, body)
        else:
            # In line until it is read: a reply that this sets free comes behind it.
            read = first.take(body)
            self._line.popleft()
        if read is not body:
            self._pass(data, at)
            head = data[at + _SIZE_BYTES : at + _HEAD.size]
            if read is not None:
                self._to_client(_SIZE.pack(len(head) + len(read)) + head + read)
            self._passed = frame_end
        return frame_end

    def _read_produce(self, first: DataAnswer, body: bytes) -> bytes:
        """Return what stands for an answer to Produce, and count it."""
        _, _, version, counts = first
        read = body
        if version >= FIRST_PRODUCE_WITH_ENDPOINTS:
            read = rewrite_addresses(PRODUCE, version, body, self._find_address)
        if counts is not None:
            counts.take_produce(body, version, is_plain=read is body)
        return read

    def _take_token(self, data: bytes | bytearray, at: int, first: Awaited) -> int:
        """Read one frame of SASL that has no header."""
        if len(data) - at < _SIZE_BYTES:
            self._needed = _SIZE_BYTES
            return _CUT_OFF
        size = _SIZE.unpack_from(data, at)[0]
        frame_end = self._find_end(data, at, size)
        if frame_end != _CUT_OFF:
            first.take(bytes(data[at + _SIZE_BYTES : frame_end]))
            self._line.popleft()
        return frame_end

    def _find_end(
        self, data: bytes | bytearray, at: int, size: int, *, is_bounded: bool = True
    ) -> int:
        """Return where a frame that is read ends, or _CUT_OFF."""
        if is_bounded and not 0 <= size <= MAX_HELD_ANSWER_BYTES:
            raise MalformedResponse(f"a response of {size} bytes to be read")
        frame_end = at + _SIZE_BYTES + size
        if frame_end <= len(data):
            return frame_end
        self._needed = size + _SIZE_BYTES
        return _CUT_OFF

    def _pass(self, data: bytes | bytearray, end: int) -> None:
        """Pass on what has been taken up to here."""
        start = self._passed
        if start < end:
            self._passed = end
            is_all = start == 0 and end == len(data)
            self._to_client(data if is_all else data[start:end])


def _is_taken_at_once(first: DataAnswer, frame: bytes) -> bool:
    """Say whether a whole answer is passed on as it is, and count it then."""
    if first[1] == FETCH:
        _count_fetch(first, frame, 0, len(frame) - _SIZE_BYTES)
        return True
    return _tells_nothing(frame, first[2])


def _tells_nothing(answer: bytes, api_version: int) -> bool:
    """Say whether an answer to Produce has neither a throttle time nor node endpoints.

    Then it ends like this, and no other one does: a node endpoint has a port.
    """
    is_flexible = api_version >= FIRST_FLEXIBLE_PRODUCE
    return answer.endswith(_NO_THROTTLE_NO_TAGS if is_flexible else _NO_THROTTLE)


def _is_fetch(first: Place, correlation_id: int) -> bool:
    return isinstance(first, tuple) and first[:2] == (correlation_id, FETCH)


def _count_fetch(first: Place, data: bytes | bytearray, at: int, size: int) -> None:
    if isinstance(first, tuple) and first[3] is not None:
        first[3].take_fetch(data, at, size, first[2])


def _awaited_id(first: int | DataAnswer | Awaited) -> int | None:
    if isinstance(first, int):
        return first
    return first[0] if isinstance(first, tuple) else first.correlation_id
