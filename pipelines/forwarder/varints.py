"""Lengths of protobuf fields, as bytes."""

import functools

_ONE_BYTE = 0x80
"""The least number that takes two bytes."""


@functools.lru_cache(maxsize=16_384)
def write_size(number: int) -> bytes:
    """Write an unsigned varint."""
    written = bytearray()
    while number >= _ONE_BYTE:
        written.append(number & 0x7F | _ONE_BYTE)
        number >>= 7
    written.append(number)
    return bytes(written)
