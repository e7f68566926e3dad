"""Asks a broker whether it serves clients, and other brokers whom they know.

Anything but a whole, error-free answer means "not yet".
"""

import ssl

from pipelines.kafka_client.blocking_link import Deadline, open_link
from pipelines.kafka_client.faults import Refused
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_client.session import (
    Answer,
    Conversation,
    ask_oldest_versions,
    list_nodes,
)

CLIENT_ID = "embedded-kafka"
PROBE_TIMEOUT_S = 2.0


def is_serving(host: str, port: int, tls: ssl.SSLContext | None) -> bool:
    """Return whether ApiVersions is answered without an error."""
    return _ask(host, port, ask_oldest_versions(), tls=tls) is not None


def list_brokers(host: str, port: int) -> frozenset[int]:
    """Return the ids of the brokers that Metadata shows: registered and not fenced."""
    nodes = _ask(host, port, list_nodes(), tls=None)
    return frozenset(node.node_id for node in nodes or ())


def _ask(
    host: str,
    port: int,
    conversation: Conversation[Answer],
    *,
    tls: ssl.SSLContext | None,
) -> Answer | None:
    """Return the answer; None when there is none."""
    deadline = Deadline(PROBE_TIMEOUT_S)
    try:
        link = open_link((host, port), tls, CLIENT_ID, deadline)
    except (OSError, Refused):
        return None
    try:
        return link.hold(conversation, deadline)
    except (OSError, Refused, MalformedBytes):
        return None
    finally:
        link.close()
