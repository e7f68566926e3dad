"""Records of accepted configurations: key, value, headers and timestamp.

Source: the header list stands in README.md, "Topics".
"""

import uuid

from udfs.redacted_keys import make_redaction_headers

from .client_identity import id_text
from .protocol.push_config import write_push_config
from .push_config import JudgedConfigs
from .records import OWN_HEADER_BYTES, ConnectionHeaders, TelemetryRecord

_WORST_GROWTH = 3
"""A byte that is no UTF-8 comes back as the three of U+FFFD."""


def max_config_value_bytes(max_bytes: int) -> int:
    """Return the size of the largest record value that a body of max_bytes becomes.

    The keys in its headers are counted in: what is named there has no value any more,
    and is plain ASCII.
    """
    return _WORST_GROWTH * max_bytes


def make_config_record(
    judged: JudgedConfigs,
    *,
    topic: str,
    client_instance_id: uuid.UUID,
    connection_headers: ConnectionHeaders,
    push_id: bytes,
    received_at_ms: int,
) -> TelemetryRecord:
    """Make the record of one accepted push.

    The value is a PushConfig v0 request body of what the rules left, with ConfigType as
    ordinal of ConfigDef.Type and -1 for a number that is none.
    Units: received_at_ms is in milliseconds since 1970-01-01T00:00:00Z.
    """
    key = id_text(client_instance_id.bytes)
    value = write_push_config(judged.stored)
    redacted = make_redaction_headers(judged.violations)
    redacted_bytes = sum(len(one) for _, one in redacted)
    own_bytes = len(value) + redacted_bytes + OWN_HEADER_BYTES
    return TelemetryRecord(
        topic=topic,
        key=key,
        value=value,
        headers=[
            ("client_instance_id", key),
            *connection_headers.headers,
            ("received_at_ms", b"%d" % received_at_ms),
            ("push_id", push_id),
            *redacted,
        ],
        timestamp_ms=received_at_ms,
        size_bytes=own_bytes + connection_headers.size_bytes,
    )
