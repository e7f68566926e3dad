"""What settings files say, as frozen records."""

from .loading import (
    list_environments,
    load_broker_configs,
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from .places import CONF_PATH

__all__ = [
    "CONF_PATH",
    "list_environments",
    "load_broker_configs",
    "load_client_type_keys",
    "load_config_catalogs",
    "load_settings",
]
