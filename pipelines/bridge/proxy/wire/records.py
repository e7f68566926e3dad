"""Records of configurations seen on the wire: key, value, headers and timestamp.

Source: the value stands in docs/reference/topics.md.
"""

import json
from collections.abc import Mapping

from pipelines.bridge.core.client_identity import ClientIdentity
from pipelines.bridge.core.records import (
    OWN_HEADER_BYTES,
    Record,
    identity_headers,
)
from udfs.configs.wire_keys import WIRE_KEYS
from udfs.sensitive.config_key_names import KEYS_SOFTWARE
from udfs.sensitive.redacted_keys import (
    DROPPED,
    REDACTED,
    Violation,
    make_redaction_headers,
)
from udfs.sensitive.sensitive_key_rules import ALLOW, REDACT
from udfs.sensitive.sensitive_keys import SensitiveKeyRules


def judge_wire_configs(
    configs: Mapping[str, str], rules: SensitiveKeyRules
) -> tuple[dict[str, str | None], list[Violation]]:
    """Decide every value that was seen.

    Args:
        configs: Keys of WIRE_KEYS to values.
    Returns: The values that may be written, and what may not be.
    Nulls: A redacted value is null; a dropped key is not there.
    """
    stored: dict[str, str | None] = {}
    hidden = []
    for key, value in sorted(configs.items()):
        type_name = WIRE_KEYS[key].config_type
        verdict = rules.judge_entry(key, value, type_name, KEYS_SOFTWARE)
        if verdict.action == ALLOW:
            stored[key] = value
            continue
        is_redacted = verdict.action == REDACT
        action = REDACTED if is_redacted else DROPPED
        hidden.append(Violation(key, verdict.rule, action))
        if is_redacted:
            stored[key] = None
    return stored, hidden


def make_wire_config_record(
    configs: Mapping[str, str],
    *,
    client_type: str,
    identity: ClientIdentity,
    rules: SensitiveKeyRules,
    topic: str,
    bridge_id: str,
    push_id: bytes,
    received_at_ms: int,
    cluster_id: str | None = None,
) -> Record:
    """Make the record of what one client has shown on a connection up to now.

    Args:
        configs: Keys of WIRE_KEYS to values.
        client_type: producer, consumer or share_consumer.
        identity: Who it is.
        rules: For sensitive keys; what they hide is not in the record, nor is a client
            id that they hide as a value.
        topic: Where it goes.
        bridge_id: Name of this bridge.
        push_id: Unique.
        received_at_ms: Milliseconds since 1970-01-01T00:00:00Z.
        cluster_id: Of the cluster that the connection is for; None where it has not
            said so.
    """
    stored, hidden = judge_wire_configs(configs, rules)
    value = json.dumps({"client_type": client_type, "configs": stored}).encode()
    headers = identity_headers(identity, bridge_id, rules, cluster_id)
    said = dict(headers.headers)
    key = b"/".join(
        (said["principal"], said.get("client_id", b""), said["client_source_address"])
    )
    return Record(
        topic=topic,
        key=key,
        value=value,
        headers=[
            *headers.headers,
            ("received_at_ms", b"%d" % received_at_ms),
            ("push_id", push_id),
            *make_redaction_headers([*headers.violations, *hidden]),
        ],
        timestamp_ms=received_at_ms,
        is_aside=True,
        size_bytes=len(key) + len(value) + headers.size_bytes + OWN_HEADER_BYTES,
    )
