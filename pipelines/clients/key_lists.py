"""Which keys each type of client pushes, in the names of the Java client.

Source: KIP-1324, "Default Configuration". Its `enable.idempotency` means
`enable.idempotence`; for admin clients it names no keys, those are this project's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

PRODUCER, CONSUMER = "producer", "consumer"
SHARE_CONSUMER, ADMIN = "share-consumer", "admin"

DEFAULT_KEYS: Mapping[str, tuple[str, ...]] = {
    PRODUCER: (
        "acks",
        "batch.size",
        "buffer.memory",
        "client.id",
        "compression.type",
        "delivery.timeout.ms",
        "enable.idempotence",
        "linger.ms",
        "max.in.flight.requests.per.connection",
        "request.timeout.ms",
        "retries",
    ),
    CONSUMER: (
        "auto.offset.reset",
        "client.id",
        "enable.auto.commit",
        "fetch.min.bytes",
        "fetch.max.wait.ms",
        "group.id",
        "isolation.level",
        "max.poll.interval.ms",
        "max.poll.records",
        "session.timeout.ms",
    ),
    SHARE_CONSUMER: (
        "client.id",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "group.id",
        "max.poll.interval.ms",
        "max.poll.records",
        "share.acknowledgement.mode",
        "share.acquire.mode",
    ),
    ADMIN: (
        "client.id",
        "request.timeout.ms",
        "retries",
        "default.api.timeout.ms",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
    ),
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
