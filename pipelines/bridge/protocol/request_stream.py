"""Frames out of a byte stream.

Strategy: a frame's size is checked before anything is kept for it, and what is kept
are bytes that have come. None means that more bytes are needed. A bad size raises
MalformedBytes; it is the end of that connection only.
Source: Kafka protocol guide, "Protocol Primitive Types".
"""

import struct

from pipelines.kafka_client.primitives import MalformedBytes

FRAME_SIZE_BYTES = 4
_FRAME_SIZE = struct.Struct(">i")


class RequestStream:
    """Splits the bytes of one connection into frames.

    Bytes that come as whole frames are never copied as a whole, and a connection
    that waits for nothing holds no buffer.
    """

    __slots__ = ("_buffer", "max_request_bytes")

    def __init__(self, *, max_request_bytes: int) -> None:
        self._buffer: bytes | bytearray = b""
        self.max_request_bytes = max_request_bytes

    @property
    def waiting_bytes(self) -> int:
        """How many bytes received have not come out as a frame yet."""
        return len(self._buffer)

    @property
    def has_frame(self) -> bool:
        """Whether next_frame has something to say."""
        buffer = self._buffer
        if len(buffer) < FRAME_SIZE_BYTES:
            return False
        size: int = _FRAME_SIZE.unpack_from(buffer)[0]
        return len(buffer) >= FRAME_SIZE_BYTES + size or size > self.max_request_bytes

    def receive_data(self, data: bytes) -> None:
        """Add bytes as they came from the peer."""
        if not self._buffer:
            self._buffer = data
            return
        if isinstance(self._buffer, bytes):
            self._buffer = bytearray(self._buffer)
        self._buffer += data

    def next_frame(self) -> bytes | None:
        """Return the next whole frame without its size, or None.

        Raises: MalformedBytes as soon as the size is known to be unusable.
        """
        buffer = self._buffer
        if len(buffer) < FRAME_SIZE_BYTES:
            return None
        size = _FRAME_SIZE.unpack_from(buffer)[0]
        if not 0 <= size <= self.max_request_bytes:
            raise MalformedBytes(
                f"a request of {size} bytes; at most {self.max_request_bytes}"
            )
        end = FRAME_SIZE_BYTES + size
        if len(buffer) < end:
            return None
        frame = bytes(buffer[FRAME_SIZE_BYTES:end])
        if len(buffer) == end:
            self._buffer = b""
        elif isinstance(buffer, bytearray):
            del buffer[:end]
        else:
            # From here on each request is cut off without moving those behind it.
            self._buffer = bytearray(memoryview(buffer)[end:])
        return frame
