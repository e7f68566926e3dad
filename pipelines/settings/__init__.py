"""What conf/ says, as frozen records: the only reader of conf/."""

from .loading import (
    CONF_PATH,
    list_environments,
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)

__all__ = [
    "CONF_PATH",
    "list_environments",
    "load_client_type_keys",
    "load_config_catalogs",
    "load_settings",
]
