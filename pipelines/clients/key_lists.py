"""Which keys each type of client pushes, in the names of the Java client."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .default_config_keys import (
    ADMIN_KEYS,
    CONSUMER_KEYS,
    PRODUCER_KEYS,
    SHARE_CONSUMER_KEYS,
)

PRODUCER, CONSUMER = "producer", "consumer"
SHARE_CONSUMER, ADMIN = "share-consumer", "admin"

DEFAULT_KEYS: Mapping[str, tuple[str, ...]] = {
    PRODUCER: PRODUCER_KEYS,
    CONSUMER: CONSUMER_KEYS,
    SHARE_CONSUMER: SHARE_CONSUMER_KEYS,
    ADMIN: ADMIN_KEYS,
}
CLIENT_TYPES = tuple(DEFAULT_KEYS)
RENAMED_KEYS = {"enable.idempotency": "enable.idempotence"}
"""Keys that KIP-1324 calls otherwise than the Java client does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart:
    """A property of librdkafka that is a config of the Java client by another name."""

    name: str
    convert: Callable[[str], str] = str
    """The value in the unit and the words of the Java client."""


def _kilobytes_to_bytes(text: str) -> str:
    # What is no number is refused by librdkafka itself, in its own words.
    return str(int(text) * 1_024) if text.isascii() and text.isdecimal() else text


def _offset_reset(text: str) -> str:
    words = {
        "largest": "latest",
        "end": "latest",
        "smallest": "earliest",
        "beginning": "earliest",
        "error": "none",
    }
    return words.get(text.lower(), text)


def _acks(text: str) -> str:
    return "all" if text == "-1" else text


_SOCKET_TIMEOUT = Counterpart(name="socket.timeout.ms")
"""librdkafka's `request.timeout.ms` is another thing: what the broker may take for a
produce request."""
COUNTERPARTS: Mapping[str, Mapping[str, Counterpart]] = {
    PRODUCER: {
        "acks": Counterpart(name="acks", convert=_acks),
        "buffer.memory": Counterpart(
            name="queue.buffering.max.kbytes", convert=_kilobytes_to_bytes
        ),
    },
    CONSUMER: {
        "auto.offset.reset": Counterpart(
            name="auto.offset.reset", convert=_offset_reset
        ),
        "fetch.max.wait.ms": Counterpart(name="fetch.wait.max.ms"),
        "request.timeout.ms": _SOCKET_TIMEOUT,
    },
    SHARE_CONSUMER: {
        "fetch.max.wait.ms": Counterpart(name="fetch.wait.max.ms"),
        "request.timeout.ms": _SOCKET_TIMEOUT,
    },
    ADMIN: {"request.timeout.ms": _SOCKET_TIMEOUT},
}
"""Client type to Java's name to librdkafka's; all other names are the same in both."""
