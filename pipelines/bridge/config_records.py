"""Records of accepted configurations: key, value, headers and timestamp.

Source: the header list stands in README.md, "Topics".
"""

import uuid

from .client_identity import uuid_text
from .protocol.push_config import write_push_config
from .push_config import JudgedConfigs, redacted_keys_header
from .records import Header, TelemetryRecord

_WORST_GROWTH = 3
"""A byte that is no UTF-8 comes back as the three of U+FFFD."""


def max_config_value_bytes(max_bytes: int) -> int:
    """Return the size of the largest record value that a body of max_bytes becomes."""
    return _WORST_GROWTH * max_bytes


def make_config_record(
    judged: JudgedConfigs,
    *,
    topic: str,
    client_instance_id: uuid.UUID,
    connection_headers: tuple[Header, ...],
    push_id: str,
    received_at_ms: int,
) -> TelemetryRecord:
    """Make the record of one accepted push.

    The value is a PushConfig v0 request body of what the rules left, with ConfigType as
    ordinal of ConfigDef.Type and -1 for a number that is none.
    Units: received_at_ms is in milliseconds since 1970-01-01T00:00:00Z.
    """
    key = uuid_text(client_instance_id).encode()
    return TelemetryRecord(
        topic=topic,
        key=key,
        value=write_push_config(judged.stored),
        headers=[
            ("client_instance_id", key),
            *connection_headers,
            ("received_at_ms", b"%d" % received_at_ms),
            ("push_id", push_id.encode()),
            ("redacted_keys", redacted_keys_header(judged.violations)),
        ],
        timestamp_ms=received_at_ms,
    )
