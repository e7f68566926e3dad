"""Records of accepted configurations: key, value, headers and timestamp.

Source: the headers stand in docs/reference/topics.md.
"""

import re
import uuid

from pipelines.bridge.core.client_identity import id_text
from pipelines.bridge.core.records import (
    OWN_HEADER_BYTES,
    ConnectionHeaders,
    Record,
    allowed_bytes,
)
from pipelines.bridge.protocol.push_config import ClientConfig, write_push_config
from udfs.sensitive.redacted_keys import make_redaction_headers

from .rules import JudgedConfigs

_UNREADABLE = re.compile("\ufffd{2,}")


def max_config_value_bytes(max_bytes: int) -> int:
    """Return the size of the largest record value that a body of max_bytes becomes.

    The keys in its headers are counted in.
    """
    return allowed_bytes(max_bytes)


def make_config_record(
    judged: JudgedConfigs,
    *,
    topic: str,
    client_instance_id: uuid.UUID,
    body_bytes: int,
    connection_headers: ConnectionHeaders,
    push_id: bytes,
    received_at_ms: int,
) -> Record:
    """Make the record of one accepted push.

    It takes no more than allowed_bytes of the body: where that is little, fewer keys
    are named twice, and bytes in a row that are no UTF-8 are one U+FFFD.

    The value is a PushConfig v0 request body of what the rules left, with ConfigType as
    ordinal of ConfigDef.Type and -1 for a number that is none.
    Units: received_at_ms is in milliseconds since 1970-01-01T00:00:00Z.
    """
    key = id_text(client_instance_id.bytes)
    value = write_push_config(judged.stored)
    own_bytes = connection_headers.size_bytes + OWN_HEADER_BYTES
    redacted = make_redaction_headers(judged.violations)
    redacted_bytes = sum(len(one) for _, one in redacted)
    left_bytes = allowed_bytes(body_bytes) - len(value) - own_bytes - redacted_bytes
    if left_bytes < 0:
        room = len(redacted[0][1]) + left_bytes
        if room < 0:
            value = write_push_config(map(_shorten, judged.stored))
        redacted = make_redaction_headers(judged.violations, max(room, 0))
        redacted_bytes = sum(len(one) for _, one in redacted)
    return Record(
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
        size_bytes=len(value) + redacted_bytes + own_bytes,
    )


def _shorten(one: ClientConfig) -> ClientConfig:
    key, value = (_UNREADABLE.sub("\ufffd", text) for text in one[:2])
    return one._replace(config_key=key, config_value=value)
