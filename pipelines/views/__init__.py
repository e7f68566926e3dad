"""What readers see: the tables under their names, and the views beside them."""

from .session_views import CLIENTS, NEWEST_VALUES, SILENT_AFTER_INTERVALS, register

__all__ = ["CLIENTS", "NEWEST_VALUES", "SILENT_AFTER_INTERVALS", "register"]
