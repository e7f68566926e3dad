"""A bridge's own pages, read as a probe and a scraper read them: twice, for rates."""

import http.client
import time
from collections.abc import Callable
from http import HTTPStatus

from prometheus_client.parser import text_string_to_metric_families

from .site import BridgeLook

ACCEPTED = "kafka_clientele_bridge_accepted_pushes_total"
REFUSED = "kafka_clientele_bridge_refused_pushes_total"
_MOST_BYTES = 16 << 20
_PART_BYTES = 1 << 16


class NoBridgeError(Exception):
    """Raised when what answers is no bridge; the text says how."""


_NO_ANSWER = (OSError, http.client.HTTPException, NoBridgeError)


def look_at_bridge(
    address: str, *, timeout_s: float, wait: Callable[[], object]
) -> BridgeLook:
    """Ask one address.

    Args:
        address: host:port.
        timeout_s: For each of three pages.
        wait: Called between two looks at what is counted.
    """
    try:
        status, said = _fetch(address, "/readyz", timeout_s)
        before_s, before = time.monotonic(), _read_counts(address, timeout_s)
        wait()
        after_s, after = time.monotonic(), _read_counts(address, timeout_s)
    except _NO_ANSWER as error:
        return BridgeLook(
            address=address, has_answered=False, is_ready=False, said=_describe(error)
        )
    accepted, refused = (
        (now - earlier) / (after_s - before_s)
        for earlier, now in zip(before, after, strict=True)
    )
    return BridgeLook(
        address=address,
        has_answered=True,
        is_ready=status == HTTPStatus.OK,
        said=said.strip(),
        accepted=after[0],
        refused=after[1],
        accepted_per_s=round(accepted, 1),
        refused_per_s=round(refused, 1),
    )


def _read_counts(address: str, timeout_s: float) -> tuple[int, int]:
    """Return accepted and refused pushes since the start."""
    status, text = _fetch(address, "/metrics", timeout_s)
    try:
        samples = [
            sample
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        ]
        accepted, refused = (
            int(sum(one.value for one in samples if one.name == name))
            for name in (ACCEPTED, REFUSED)
        )
    # No format of Prometheus', or a count that is none.
    except (ValueError, OverflowError):
        status = 0
    if status != HTTPStatus.OK:
        raise NoBridgeError("its /metrics is no page of a bridge")
    return accepted, refused


def _fetch(address: str, path: str, timeout_s: float) -> tuple[int, str]:
    # Not urllib: a proxy of the environment would be asked for a page of this site.
    connection = http.client.HTTPConnection(address, timeout=timeout_s)
    try:
        until = time.monotonic() + timeout_s
        connection.request("GET", path)
        answer, body = connection.getresponse(), b""
        while part := answer.read1(_PART_BYTES):
            body += part
            # The timeout of a socket is for each part of an answer.
            if time.monotonic() > until or len(body) > _MOST_BYTES:
                raise NoBridgeError("its page has no end")
        return answer.status, body.decode("utf-8", "replace")
    finally:
        connection.close()


def _describe(error: Exception) -> str:
    if isinstance(error, NoBridgeError):
        return str(error)
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or type(error).__name__
