"""What librdkafka changes by itself, because of what an application has set.

Source: librdkafka 2.x, src/rdkafka_conf.c, rd_kafka_conf_finalize and
rd_kafka_topic_conf_finalize. What it refuses there never gets a handle, and is not
looked at here.
"""

from collections.abc import Callable, Mapping

FindText = Callable[[str], str]
"""Value by librdkafka's name: what was given, else the default."""

PRODUCER_DEFAULTS = {"allow.auto.create.topics": "true"}
"""Where the catalog has the default of consumers."""
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_LINGER = "queue.buffering.max.ms"
_BEFORE_TIMEOUT_MS = 0.1
_MAX_IN_FLIGHT_IDEMPOTENT = 5
_REFRESHES_PER_AGE = 3
_LINGERS_PER_STICKY = 2
_MAX_STICKY_MS = 900_000
_IDLE_MS_ON_AZURE = 230_000
_SHORTEST_SOCKET_TIMEOUT_MS = 900
_BEFORE_TRANSACTION_ENDS_MS = 100
_KILOBYTE = 1_024


def derive(
    find: FindText, given: Mapping[str, str], *, is_producer: bool
) -> dict[str, str]:
    """Return the properties that librdkafka changes, with their values in force.

    Args:
        find: Values without any change.
        given: What the application has set, by librdkafka's names; none of these is
            changed.
        is_producer: Also of admin clients.
    """
    changed = _derive_shared(find, given)
    changed |= _derive_producer(find, given) if is_producer else _derive_fetch(find)
    return {
        name: text
        for name, text in changed.items()
        if name not in given and text != find(name)
    }


def _derive_shared(find: FindText, given: Mapping[str, str]) -> dict[str, str]:
    changed = {}
    refresh_ms = _number(find("topic.metadata.refresh.interval.ms"))
    if refresh_ms:
        changed["metadata.max.age.ms"] = str(_REFRESHES_PER_AGE * refresh_ms)
    if "retry.backoff.ms" in given:
        fast = "topic.metadata.refresh.fast.interval.ms"
        changed[fast] = given["retry.backoff.ms"]
    if "azure" in find("metadata.broker.list").lower():
        changed["connections.max.idle.ms"] = str(_IDLE_MS_ON_AZURE)
    return changed


def _derive_producer(find: FindText, given: Mapping[str, str]) -> dict[str, str]:
    changed: dict[str, str] = {}
    is_transactional = bool(given.get("transactional.id"))
    is_idempotent = is_transactional or find("enable.idempotence") == "true"
    timeout = find("transaction.timeout.ms")
    if is_transactional:
        least_ms = _number(timeout) - _BEFORE_TRANSACTION_ENDS_MS
        changed["enable.idempotence"] = "true"
        changed["message.timeout.ms"] = timeout
        changed["socket.timeout.ms"] = str(max(least_ms, _SHORTEST_SOCKET_TIMEOUT_MS))
    if is_idempotent:
        changed[_IN_FLIGHT] = str(_MAX_IN_FLIGHT_IDEMPOTENT)
    return changed | _derive_linger(find, given)


def _derive_linger(find: FindText, given: Mapping[str, str]) -> dict[str, str]:
    try:
        linger_ms = float(find(_LINGER))
    except ValueError:
        return {}
    if _LINGER in given:
        sticky_ms = min(_MAX_STICKY_MS, int(_LINGERS_PER_STICKY * linger_ms))
        return {"sticky.partitioning.linger.ms": str(sticky_ms)}
    timeout_ms = _number(find("message.timeout.ms"))
    if 0 < timeout_ms <= linger_ms:
        return {_LINGER: f"{timeout_ms - _BEFORE_TIMEOUT_MS:g}"}
    return {}


def _derive_fetch(find: FindText) -> dict[str, str]:
    queued_bytes = _number(find("queued.max.messages.kbytes")) * _KILOBYTE
    fetch_bytes = min(_number(find("fetch.max.bytes")), queued_bytes)
    return {
        "fetch.max.bytes": str(max(fetch_bytes, _number(find("message.max.bytes"))))
    }


def _number(text: str) -> int:
    """Return a whole number that is not negative; 0 for every other text."""
    return int(text) if text.isascii() and text.isdecimal() else 0
