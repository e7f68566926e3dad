"""Frames of one broker on their way to a client, with replies of ours; no I/O.

Strategy: a response that nothing here has to read is passed on with the bytes that came
with it; its correlation id must be the one that is next in line. A reply of ours goes
out when all before it are written, and those behind it wait for it: then the broker's
bytes are kept, and its connection is not to be read meanwhile.
What comes back when bytes are bad: MalformedResponse; the pair is of no use then.
Source: Kafka protocol guide, "Response Header"; ProduceResponse.json.
"""

import struct

from pipelines.bridge.protocol.errors import MalformedResponse

from .addresses import FindAddress, rewrite_addresses
from .line import Awaited, Line, OwnReply, ProduceAnswer, Write
from .versions import PRODUCE

_SIZE_BYTES = 4
_SIZE = struct.Struct(">i")
_HEAD = struct.Struct(">ii")
MAX_READ_RESPONSE_BYTES = 64 * 1024 * 1024
"""Largest response that is read as a whole."""
_NO_THROTTLE_NO_TAGS = bytes(5)
_CUT_OFF = -1


class ResponseFrames:
    """What is half received of one broker."""

    __slots__ = (
        "_find_address",
        "_left",
        "_line",
        "_needed",
        "_part",
        "_passed",
        "_to_client",
        "is_blocked",
    )

    def __init__(
        self, line: Line, *, find_address: FindAddress, to_client: Write
    ) -> None:
        """Start with nothing.

        Args:
            line: Who is owed what.
            find_address: Says what clients are told of a broker.
            to_client: Takes bytes for the client, in order.
        """
        self._line = line
        self._find_address = find_address
        self._to_client = to_client
        self._left = 0
        self._part: bytearray | None = None
        self._needed = 0
        self._passed = 0
        self.is_blocked = False
        """Whether the broker's bytes wait for a reply of ours."""

    @property
    def is_amid(self) -> bool:
        """Whether a response has begun and is not whole."""
        return self._left > 0 or self._part is not None

    def receive(self, data: bytes) -> None:
        """Take bytes as the broker has sent them.

        Raises: MalformedResponse.
        """
        part, left, line = self._part, self._left, self._line
        if part is not None:
            part += data
            if self.is_blocked or len(part) < self._needed:
                return
            data, self._part = bytes(part), None
        elif left:
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
                    and data.endswith(_NO_THROTTLE_NO_TAGS)
                )
            ):
                line.popleft()
                self._to_client(data)
                if line:
                    self._write_own()
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
            part, self._part = self._part, None
            self._take_all(bytes(part or b""), 0)

    def _write_own(self) -> None:
        """Write those replies of ours whose turn it is."""
        line = self._line
        while line:
            first = line[0]
            if not isinstance(first, OwnReply) or first.frame is None:
                return
            line.popleft()
            self._to_client(first.frame)

    def _take_all(self, data: bytes, at: int) -> None:
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
        elif not self._left:
            self._write_own()

    def _take_one(self, data: bytes, at: int) -> int:
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

    def _read(
        self, data: bytes, at: int, size: int, first: ProduceAnswer | Awaited
    ) -> int:
        """Read one response, and pass on what stands for it."""
        frame_end = self._find_end(data, at, size)
        if frame_end == _CUT_OFF:
            return _CUT_OFF
        body = data[at + _HEAD.size : frame_end]
        read: bytes | None
        if isinstance(first, tuple):
            self._line.popleft()
            # Without a throttle time and node endpoints it ends like this, and no
            # other one does: a node endpoint has a port.
            if body.endswith(_NO_THROTTLE_NO_TAGS):
                return frame_end
            read = rewrite_addresses(PRODUCE, first[1], body, self._find_address)
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

    def _take_token(self, data: bytes, at: int, first: Awaited) -> int:
        """Read one frame of SASL that has no header."""
        if len(data) - at < _SIZE_BYTES:
            self._needed = _SIZE_BYTES
            return _CUT_OFF
        size = _SIZE.unpack_from(data, at)[0]
        frame_end = self._find_end(data, at, size)
        if frame_end != _CUT_OFF:
            first.take(data[at + _SIZE_BYTES : frame_end])
            self._line.popleft()
        return frame_end

    def _find_end(self, data: bytes, at: int, size: int) -> int:
        """Return where a frame that is read ends, or _CUT_OFF."""
        if not 0 <= size <= MAX_READ_RESPONSE_BYTES:
            raise MalformedResponse(f"a response of {size} bytes to be read")
        frame_end = at + _SIZE_BYTES + size
        if frame_end <= len(data):
            return frame_end
        self._needed = size + _SIZE_BYTES
        return _CUT_OFF

    def _pass(self, data: bytes, end: int) -> None:
        """Pass on what has been taken up to here."""
        start = self._passed
        if start < end:
            self._passed = end
            is_all = start == 0 and end == len(data)
            self._to_client(data if is_all else data[start:end])


def _awaited_id(first: int | ProduceAnswer | Awaited) -> int | None:
    if isinstance(first, int):
        return first
    return first[0] if isinstance(first, tuple) else first.correlation_id
