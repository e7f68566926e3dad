"""Dynamic client configs (KIP-649): records of their store, and what applies."""

from .records import (
    ConfigRecord,
    DynamicRecord,
    RegistrationsWritten,
    SupportedRecord,
    UnreadableRecord,
    read_record,
    record_key,
    record_value,
)
from .resolving import (
    DYNAMIC_CLIENT,
    DYNAMIC_DEFAULT_CLIENT,
    DYNAMIC_USER,
    ResolvedValue,
    resolve_configs,
)

__all__ = [
    "DYNAMIC_CLIENT",
    "DYNAMIC_DEFAULT_CLIENT",
    "DYNAMIC_USER",
    "ConfigRecord",
    "DynamicRecord",
    "RegistrationsWritten",
    "ResolvedValue",
    "SupportedRecord",
    "UnreadableRecord",
    "read_record",
    "record_key",
    "record_value",
    "resolve_configs",
]
