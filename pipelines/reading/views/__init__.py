"""What readers see: the tables under their names, and the views beside them."""

from .client_software_views import CLIENT_RELEASES, CLIENT_SOFTWARE, KNOWN_FAULTS
from .clients_view import CLIENTS
from .coverage_view import COVERAGE
from .labelled_view import LABELLED
from .metric_faults import METRICS_FAULT, select_wrong_metrics
from .newest_values_view import NEWEST_VALUES, select_newest_values
from .session_views import register, register_row
from .view_names import (
    TABLES_AND_VIEWS,
    explain_missing,
    find_names,
    find_names_in,
)

__all__ = [
    "CLIENTS",
    "CLIENT_RELEASES",
    "CLIENT_SOFTWARE",
    "COVERAGE",
    "KNOWN_FAULTS",
    "LABELLED",
    "METRICS_FAULT",
    "NEWEST_VALUES",
    "TABLES_AND_VIEWS",
    "explain_missing",
    "find_names",
    "find_names_in",
    "register",
    "register_row",
    "select_newest_values",
    "select_wrong_metrics",
]
