"""The configs of this library, apart from those that librdkafka takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .catalogs import Config
from .kafka_client.client_configs import DESCRIBE_CLIENT_CONFIGS

ENABLE, ALLOWED_KEYS = "enable.config.push", "config.push.allowed.keys"
API_KEY, API_TIMEOUT = "config.push.api.key", "default.api.timeout.ms"
FIRST_TYPE = "config.push.first.config.type.id"
ENABLE_DYNAMIC, DYNAMIC_API_KEY = (
    "enable.dynamic.configs",
    "dynamic.configs.describe.api.key",
)
ON_DYNAMIC_CONFIG = "on_dynamic_config"
OWN_NAMES = (
    *(ENABLE, ALLOWED_KEYS, API_KEY, API_TIMEOUT, FIRST_TYPE),
    *(ENABLE_DYNAMIC, DYNAMIC_API_KEY, ON_DYNAMIC_CONFIG),
)
DEFAULT_TIMEOUT_MS = 5_000
"""Of everything that comes before the first call returns. The Java client's default for
all its calls is a minute; an application is not to wait that long for a report."""
DEFAULT_API_KEY = 10_071
"""Kafka has not given PushConfig a number; a bridge must have the same one."""
OWN_CONFIGS = {
    one.name: one
    for one in (
        Config(name=ENABLE, type_name="BOOLEAN", default="true"),
        Config(name=ALLOWED_KEYS, type_name="LIST", default=""),
        Config(name=API_TIMEOUT, type_name="INT", default=str(DEFAULT_TIMEOUT_MS)),
        Config(name=ENABLE_DYNAMIC, type_name="BOOLEAN", default="true"),
    )
}
"""Those of them that a push may contain."""
_BOOLEANS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
_MAX_API_KEY, _MAX_INT32, _MAX_FIRST_TYPE = 2**15 - 1, 2**31 - 1, 1


class InvalidOwnConfig(ValueError):
    """Raised for a value that cannot be; the text is made as librdkafka makes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnConfigs:
    """What the application says about the push and about dynamic configs."""

    is_enabled: bool
    allowed_keys: tuple[str, ...] | None
    """None: the default keys of the client's type."""
    api_key: int
    timeout_ms: int
    first_config_type_id: int
    """What BOOLEAN is on the wire: 0 as ConfigDef.Type counts, 1 as DescribeConfigs
    does; a bridge must count alike."""
    is_dynamic: bool
    """Whether dynamic configs are asked for."""
    dynamic_api_key: int
    """Of DescribeClientConfigs; a bridge must have the same one."""
    on_dynamic_config: Callable[[Mapping[str, Any]], object] | None
    """Told what has changed while the client runs."""


def read_own_configs(given: Mapping[str, Any]) -> OwnConfigs:
    """Read them; None and a missing one are the default.

    Raises: InvalidOwnConfig.
    """
    return OwnConfigs(
        is_enabled=_read_boolean(given, ENABLE, default=True),
        allowed_keys=_read_list(given, ALLOWED_KEYS),
        api_key=_read_int(given, API_KEY, DEFAULT_API_KEY, _MAX_API_KEY),
        timeout_ms=_read_int(given, API_TIMEOUT, DEFAULT_TIMEOUT_MS, _MAX_INT32),
        first_config_type_id=_read_int(given, FIRST_TYPE, 0, _MAX_FIRST_TYPE),
        is_dynamic=_read_boolean(given, ENABLE_DYNAMIC, default=True),
        dynamic_api_key=_read_int(
            given, DYNAMIC_API_KEY, DESCRIBE_CLIENT_CONFIGS, _MAX_API_KEY
        ),
        on_dynamic_config=_read_callback(given, ON_DYNAMIC_CONFIG),
    )


def leave_out_own_configs(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what librdkafka is given."""
    return {name: value for name, value in given.items() if name not in OWN_NAMES}


def _read_boolean(given: Mapping[str, Any], name: str, *, default: bool) -> bool:
    value = given.get(name)
    if value is None:
        return default
    text = str(value).strip().lower()
    if text not in _BOOLEANS:
        raise InvalidOwnConfig(f'Expected bool value for "{name}": true or false')
    return _BOOLEANS[text]


def _read_int(given: Mapping[str, Any], name: str, default: int, highest: int) -> int:
    value = given.get(name)
    if value is None:
        return default
    text = str(value).strip()
    if not (text.isascii() and text.isdecimal()) or int(text) > highest:
        raise InvalidOwnConfig(
            f'Configuration property "{name}" must be an integer from 0 to {highest}'
        )
    return int(text)


def _read_list(given: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, str | list | tuple | set | frozenset):
        raise InvalidOwnConfig(
            f'Configuration property "{name}" must be a list, or a text with commas'
        )
    items = value.split(",") if isinstance(value, str) else value
    return tuple(text for item in items if (text := str(item).strip())) or None


def _read_callback(
    given: Mapping[str, Any], name: str
) -> Callable[[Mapping[str, Any]], object] | None:
    value = given.get(name)
    if value is None:
        return None
    if not callable(value):
        raise InvalidOwnConfig(f'Configuration property "{name}" must be callable')
    found: Callable[[Mapping[str, Any]], object] = value
    return found
