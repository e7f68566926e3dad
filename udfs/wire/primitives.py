"""Kafka's primitive types: one bounded reader, and writers of lengths and strings.

Strategy: hand-written instead of kio's readers for what peers send, because those
reserve memory for the array length that a peer claims, raise KeyError and ValueError
beside their own errors, and refuse the null `metrics` of older clients. Here every
length is compared with the bytes that are left before anything is made of it.
Bytes that are short or invalid raise MalformedBytes, and nothing else.
The standard library is enough: the client library links to this file.
Bytes that are no UTF-8 become U+FFFD in strings, as they do in Java.
Source: Kafka protocol guide, "Protocol Primitive Types"; KIP-482.
"""

import struct
import uuid
from typing import Any

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_UUID_BYTES = 16
_MAX_UVARINT_BYTES = 5
_MAX_INT32 = 2**31 - 1
_VARINT_MORE = 0x80
_VARINT_BITS = 0x7F
_ONE_BYTE = tuple(bytes((value,)) for value in range(_VARINT_MORE))
_NULL_LENGTH = -1
NO_TAGGED_FIELDS = b"\x00"


class WireError(ValueError):
    """Base of all errors in a peer's bytes. Texts hold names and numbers only."""


class MalformedBytes(WireError):
    """Raised when bytes are not the message that they should be."""


class TruncatedBytes(MalformedBytes):
    """Raised when bytes end before the length that they state."""


class Cursor:
    """A position in the bytes of one message."""

    __slots__ = ("_buffer", "_position")

    def __init__(self, buffer: bytes, position: int = 0) -> None:
        self._buffer = buffer
        self._position = position

    @property
    def remaining_bytes(self) -> int:
        """How many bytes have not been read."""
        return len(self._buffer) - self._position

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Read several fixed fields at once; for the requests that come often."""
        return layout.unpack_from(self._buffer, self._advance(layout.size))

    def read_int16(self) -> int:
        """Read a signed 16-bit integer."""
        value: int = _INT16.unpack_from(self._buffer, self._advance(_INT16.size))[0]
        return value

    def read_int32(self) -> int:
        """Read a signed 32-bit integer."""
        value: int = _INT32.unpack_from(self._buffer, self._advance(_INT32.size))[0]
        return value

    def read_int64(self) -> int:
        """Read a signed 64-bit integer."""
        value: int = _INT64.unpack_from(self._buffer, self._advance(_INT64.size))[0]
        return value

    def read_bool(self) -> bool:
        """Read a boolean; every byte but zero is true, as in Java."""
        return self._buffer[self._advance(1)] != 0

    def read_uuid(self) -> uuid.UUID | None:
        """Read a uuid; None for the zero uuid, as kio has it."""
        value = self._take(_UUID_BYTES)
        return uuid.UUID(bytes=value) if any(value) else None

    def read_uvarint(self) -> int:
        """Read an unsigned variable-length integer of at most 31 bits."""
        value = self._buffer[self._advance(1)]
        if value < _VARINT_MORE:
            return value
        value &= _VARINT_BITS
        for index in range(1, _MAX_UVARINT_BYTES):
            byte = self._buffer[self._advance(1)]
            value |= (byte & _VARINT_BITS) << (7 * index)
            if byte < _VARINT_MORE:
                break
        else:
            raise MalformedBytes("a variable-length integer is longer than 5 bytes")
        if value > _MAX_INT32:
            raise MalformedBytes("a variable-length integer is above 2147483647")
        return value

    def read_legacy_string(self) -> str | None:
        """Read a string with a 16-bit length; None for null."""
        length = self.read_int16()
        return None if length == _NULL_LENGTH else self._take_text(length)

    def read_compact_string(self) -> str | None:
        """Read a string with a compact length; None for null."""
        # Most texts are short and whole; the others take the longer way.
        buffer, start = self._buffer, self._position
        if start < len(buffer):
            size = buffer[start]
            end = start + size
            if 0 < size < _VARINT_MORE and end <= len(buffer):
                self._position = end
                return str(buffer[start + 1 : end], "utf-8", "replace")
        length = self.read_uvarint() - 1
        return None if length == _NULL_LENGTH else self._take_text(length)

    def read_compact_bytes(self) -> bytes | None:
        """Read bytes with a compact length; None for null."""
        length = self.read_uvarint() - 1
        if length == _NULL_LENGTH:
            return None
        start = self._advance(length)
        return self._buffer[start : start + length]

    def read_legacy_bytes(self) -> bytes | None:
        """Read bytes with a 32-bit length; None for null."""
        length = self.read_int32()
        return None if length == _NULL_LENGTH else self._take(length)

    def take(self, size: int) -> bytes:
        """Read so many bytes."""
        return self._take(size)

    def skip(self, size: int) -> None:
        """Pass over some bytes."""
        self._advance(size)

    def read_array_length(self, *, is_compact: bool, item_bytes: int) -> int | None:
        """Read how many items follow; None for a null array.

        Args:
            is_compact: Whether the length has the compact form.
            item_bytes: The fewest bytes that one item takes.
        Raises: MalformedBytes when so many items cannot stand in what is left.
        """
        length = self.read_uvarint() - 1 if is_compact else self.read_int32()
        if length == _NULL_LENGTH:
            return None
        if length < 0 or length * item_bytes > self.remaining_bytes:
            raise TruncatedBytes(f"an array claims {length} items")
        return length

    def skip_tagged_fields(self) -> None:
        """Pass over tagged fields; a reader must accept those that it does not know."""
        if self._buffer[self._position : self._position + 1] == NO_TAGGED_FIELDS:
            self._position += 1
            return
        for _ in range(self.read_uvarint()):
            self.read_uvarint()  # the tag
            self._advance(self.read_uvarint())

    def _advance(self, size: int) -> int:
        start = self._position
        if size < 0 or size > len(self._buffer) - start:
            raise TruncatedBytes(
                f"a field of {size} bytes at byte {start} of {len(self._buffer)}"
            )
        self._position = start + size
        return start

    def _take(self, size: int) -> bytes:
        start = self._advance(size)
        return self._buffer[start : start + size]

    def _take_text(self, size: int) -> str:
        return self._take(size).decode("utf-8", errors="replace")


def write_uvarint(value: int) -> bytes:
    """Write an unsigned variable-length integer."""
    if value < _VARINT_MORE:
        return _ONE_BYTE[value]
    written = bytearray()
    while value >= _VARINT_MORE:
        written.append(value & _VARINT_BITS | _VARINT_MORE)
        value >>= 7
    written.append(value)
    return bytes(written)


def write_compact_string(text: str | None) -> bytes:
    """Write a string with a compact length; None as null."""
    if text is None:
        return write_uvarint(0)
    encoded = text.encode("utf-8", "replace")
    return write_uvarint(len(encoded) + 1) + encoded
