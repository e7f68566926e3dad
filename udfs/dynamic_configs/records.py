"""Records of the store of dynamic client configs: bytes to what they say, and back.

Strategy: a record's key names one entity and one key of it, so that compaction keeps
the last value of each and two bridges never undo each other. The value says the same
again and the rest, as JSON; a reader needs the key where there is no value alone. What
is removed has a record whose config_value is null: who removed it, and when, is history
too. A record without a value, as an operator may write one, removes as well.
What comes back when bytes are short or bad: UnreadableRecord, and nothing else.
Source: docs/reference/topics.md.
"""

import json
from typing import Any, NamedTuple, TypeVar

from udfs.cluster.record_keys import (
    DEFAULT_ENTITY,
    desanitize,
    quota_entity_path,
    sanitize,
)

CLIENT_CONFIG, SUPPORTED_CONFIGS = "ClientConfig", "SupportedConfigs"
"""Types of records; a key begins with one of them."""
REGISTRATIONS_WRITTEN = "RegistrationsWritten"
"""The whole key of a record that tells readers of new registrations."""
USER, CLIENT_ID = "user", "client-id"
"""Entity types, by Kafka's names."""
RECORD_VERSION = 1
MALFORMED, UNKNOWN_TYPE, UNKNOWN_VERSION, MISNAMED = (
    "malformed",
    "unknown_type",
    "unknown_version",
    "misnamed",
)
"""Why a record cannot be used; the last is one whose key and value differ."""
_MAX_TIME_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: tables hold none beyond it."""
_CLIENTS_PARTS = 2
"""Parts of a key that name a client id: `clients/<name>`."""
_Kind = TypeVar("_Kind")

Entity = tuple[tuple[str, str | None], ...]
"""Entity types and names; a name is None for the default."""


class UnreadableRecord(ValueError):
    """Raised when a record cannot be used; the writer's fault."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        """A word to count by."""


class ConfigRecord(NamedTuple):
    """One dynamic config of one entity, set or removed."""

    user_name: str
    client_id: str | None
    """None for what is set for the user, and for the user's default client id."""
    is_default_client_id: bool
    config_key: str
    config_value: str | None
    """None: the key is removed."""
    altered_by: str | None
    """Principal; None of a record without a value."""
    altered_at_ms: int

    @property
    def entity(self) -> Entity:
        """The entity as requests name it."""
        if self.client_id is None and not self.is_default_client_id:
            return ((USER, self.user_name),)
        return ((USER, self.user_name), (CLIENT_ID, self.client_id))


class SupportedRecord(NamedTuple):
    """Which keys one version of a client's software takes."""

    user_name: str
    client_id: str | None
    """None of a client without one."""
    client_software_name: str
    client_software_version: str
    config_keys: tuple[str, ...] | None
    """In the order in which they were registered; None: it is forgotten."""
    registered_at_ms: int

    @property
    def entity(self) -> Entity:
        """The entity as requests name it."""
        if self.client_id is None:
            return ((USER, self.user_name),)
        return ((USER, self.user_name), (CLIENT_ID, self.client_id))


class RegistrationsWritten(NamedTuple):
    """Tells readers of the configs' topic that the registrations' topic has grown."""

    written_at_ms: int


DynamicRecord = ConfigRecord | SupportedRecord | RegistrationsWritten


def record_key(record: DynamicRecord) -> bytes:
    """Return the key: what the record is about, names percent-encoded as Kafka does."""
    if isinstance(record, RegistrationsWritten):
        return REGISTRATIONS_WRITTEN.encode()
    path = quota_entity_path(record.entity)
    if isinstance(record, ConfigRecord):
        names = [CLIENT_CONFIG, path, sanitize(record.config_key)]
    else:
        software = (record.client_software_name, record.client_software_version)
        names = [SUPPORTED_CONFIGS, path, *map(sanitize, software)]
    return "/".join(names).encode()


def record_value(record: DynamicRecord) -> bytes:
    """Return the value: a JSON object with the record's fields and its version."""
    return json.dumps({"v": RECORD_VERSION, **record._asdict()}).encode()


def read_record(key: bytes | None, value: bytes | None, time_ms: int) -> DynamicRecord:
    """Read one record.

    Args:
        time_ms: The record's own time; that of a removal without a value.
    Raises: UnreadableRecord, for any bytes.
    """
    named = _read_key(key, time_ms)
    if value is None:
        return named
    fields = _read_object(value)
    record: DynamicRecord
    match named:
        case ConfigRecord():
            record = _read_config(fields)
        case SupportedRecord():
            record = _read_supported(fields)
        case RegistrationsWritten():
            record = RegistrationsWritten(_time(fields, "written_at_ms"))
    if record_key(record) != key:
        raise UnreadableRecord(MISNAMED)
    return record


def _read_key(key: bytes | None, time_ms: int) -> DynamicRecord:
    """Return what a record without a value says."""
    try:
        kind, *parts = (key or b"").decode().split("/")
    except UnicodeDecodeError:
        raise UnreadableRecord(MALFORMED) from None
    if kind == REGISTRATIONS_WRITTEN and not parts:
        return RegistrationsWritten(time_ms)
    sizes = {CLIENT_CONFIG: 1, SUPPORTED_CONFIGS: 2}
    if kind not in sizes:
        raise UnreadableRecord(UNKNOWN_TYPE)
    split = len(parts) - sizes[kind]
    entity, names = parts[: max(split, 0)], [desanitize(one) for one in parts[split:]]
    plurals, named = entity[0::2], [desanitize(one) for one in entity[1::2]]
    if plurals not in (["users"], ["users", "clients"]) or len(named) != len(plurals):
        raise UnreadableRecord(MALFORMED)
    is_default = entity[_CLIENTS_PARTS:] == ["clients", DEFAULT_ENTITY]
    client_id = named[1] if named[1:] and not is_default else None
    if kind == CLIENT_CONFIG:
        said = (named[0], client_id, is_default)
        return ConfigRecord(*said, names[0], None, None, time_ms)
    if is_default:
        raise UnreadableRecord(MALFORMED)
    return SupportedRecord(named[0], client_id, names[0], names[1], None, time_ms)


def _read_object(value: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(value.decode())
    # Deep brackets are a RecursionError, numbers of thousands of digits a ValueError.
    except (ValueError, RecursionError):
        raise UnreadableRecord(MALFORMED) from None
    if not isinstance(fields, dict):
        raise UnreadableRecord(MALFORMED)
    version = fields.get("v")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UnreadableRecord(MALFORMED)
    if version > RECORD_VERSION:
        raise UnreadableRecord(UNKNOWN_VERSION)
    return fields


def _read_config(fields: dict[str, Any]) -> ConfigRecord:
    record = ConfigRecord(
        user_name=_text(fields, "user_name"),
        client_id=_optional_text(fields, "client_id"),
        is_default_client_id=_take(fields, "is_default_client_id", bool),
        config_key=_text(fields, "config_key"),
        config_value=_optional_text(fields, "config_value"),
        altered_by=_optional_text(fields, "altered_by"),
        altered_at_ms=_time(fields, "altered_at_ms"),
    )
    if record.is_default_client_id and record.client_id is not None:
        raise UnreadableRecord(MALFORMED)
    return record


def _read_supported(fields: dict[str, Any]) -> SupportedRecord:
    keys = _take(fields, "config_keys", list)
    return SupportedRecord(
        user_name=_text(fields, "user_name"),
        client_id=_optional_text(fields, "client_id"),
        client_software_name=_text(fields, "client_software_name"),
        client_software_version=_text(fields, "client_software_version"),
        config_keys=tuple(_check_text(one) for one in keys),
        registered_at_ms=_time(fields, "registered_at_ms"),
    )


def _take(fields: dict[str, Any], name: str, kind: type[_Kind]) -> _Kind:
    value = fields.get(name)
    if not isinstance(value, kind):
        raise UnreadableRecord(MALFORMED)
    return value


def _time(fields: dict[str, Any], name: str) -> int:
    value = _take(fields, name, int)
    if isinstance(value, bool) or not 0 <= value <= _MAX_TIME_MS:
        raise UnreadableRecord(MALFORMED)
    return value


def _text(fields: dict[str, Any], name: str) -> str:
    return _check_text(fields.get(name))


def _optional_text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return None if value is None else _check_text(value)


def _check_text(value: object) -> str:
    """Return a text that can be written as UTF-8: JSON can hold halves of letters."""
    if not isinstance(value, str):
        raise UnreadableRecord(MALFORMED)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UnreadableRecord(MALFORMED) from None
    return value
