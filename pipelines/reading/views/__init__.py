"""What readers see: the tables under their names, and the views beside them."""

from pipelines.tables.telemetry import SILENT_AFTER_INTERVALS

from .session_views import register
from .view_names import (
    CLIENTS,
    COVERAGE,
    LABELLED,
    NEWEST_VALUES,
    explain_missing,
    find_names,
    find_names_in,
)

__all__ = [
    "CLIENTS",
    "COVERAGE",
    "LABELLED",
    "NEWEST_VALUES",
    "SILENT_AFTER_INTERVALS",
    "explain_missing",
    "find_names",
    "find_names_in",
    "register",
]
