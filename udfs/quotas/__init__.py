"""Quotas of clients (KIP-55): what is set, what applies, and why."""

from .alterations import Alteration, alter_quotas, judge_alteration
from .entities import (
    CONNECTION_KEY,
    ENTITY_SCHEMA,
    QUOTA_KEYS,
    QuotaEntity,
    parse_entity_path,
    write_entity_paths,
)
from .levels import list_levels
from .resolving import RESOLVED_SCHEMA, resolve_quotas
from .snapshot import QuotaSnapshot, quota_snapshot

__all__ = [
    "CONNECTION_KEY",
    "ENTITY_SCHEMA",
    "QUOTA_KEYS",
    "RESOLVED_SCHEMA",
    "Alteration",
    "QuotaEntity",
    "QuotaSnapshot",
    "alter_quotas",
    "judge_alteration",
    "list_levels",
    "parse_entity_path",
    "quota_snapshot",
    "resolve_quotas",
    "write_entity_paths",
]
