"""The configuration that a client of librdkafka really runs with.

Strategy: what the application gave, by librdkafka's own names, over librdkafka's
defaults; then what librdkafka itself changes, such as for idempotent producers.
Source: librdkafka 2.16, CONFIGURATION.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .catalogs import Config, load_java_catalog, load_librdkafka_catalog
from .derived_configs import PRODUCER_DEFAULTS, derive
from .key_lists import ADMIN, COUNTERPARTS, PRODUCER, RENAMED_KEYS, Counterpart
from .librdkafka_values import as_text, read_own_value, read_value

_TOPIC_CONFIG = "default.topic.config"
_WHOLE = {"INT", "SHORT", "LONG"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigInForce:
    """One config of a client."""

    config_value: str
    type_name: str
    """Name of a ConfigDef.Type."""
    is_default: bool

    def __repr__(self) -> str:
        return f"ConfigInForce({self.type_name}, is_default={self.is_default})"


class LibrdkafkaConfigs:
    """What one client has in force."""

    def __init__(
        self, client_type: str, given: Mapping[str, Any], extra: Mapping[str, Config]
    ) -> None:
        """Take what the application gave.

        Args:
            client_type: One of CLIENT_TYPES.
            given: The dictionary of the application; None and an empty text leave a
                default in force.
            extra: Properties that librdkafka does not have.
        """
        self._client_type = client_type
        # An admin client is a producer to librdkafka.
        own = "P" if client_type in {PRODUCER, ADMIN} else "C"
        self._client_types = {"*", own}
        self._catalog = load_librdkafka_catalog()
        self._extra = extra
        self._given: dict[str, str] = {}
        # confluent_kafka sets the properties for topics last.
        topic = given.get(_TOPIC_CONFIG) or {}
        for source in (given, topic):
            for name, value in source.items():
                if name != _TOPIC_CONFIG and not callable(value):
                    self._take(self._name_of(name), value)
        self._changed: dict[str, str] = {}
        self._changed = derive(self.find, self._given, is_producer=own == "P")

    def _take(self, name: str, value: object) -> None:
        text = "" if value is None else as_text(value)
        known = self._catalog.configs.get(name)
        if not text:
            self._given.pop(name, None)
        elif known is not None:
            self._given[name] = read_value(known, text)
        else:
            self._given[name] = read_own_value(self._extra.get(name), text)

    def find(self, name: str) -> str:
        """Return the value in force by librdkafka's name; empty where there is none."""
        found = self._find_own(name)
        return "" if found is None else found.config_value

    def find_config(self, key: str) -> ConfigInForce | None:
        """Return a config by the Java client's name or by librdkafka's.

        Nulls: None where neither has such a config, or only the Java client has it.
        """
        key = RENAMED_KEYS.get(key, key)
        counterpart = COUNTERPARTS[self._client_type].get(key)
        other = counterpart or Counterpart(name=key)
        found = self._find_own(other.name)
        if found is None:
            return None
        value = other.convert(found.config_value)
        java = load_java_catalog(self._client_type).get(key)
        type_name = found.type_name if java is None else java.type_name
        if type_name in _WHOLE and not value.lstrip("-").isdecimal():
            # librdkafka has linger.ms as a fraction, too.
            type_name = found.type_name
        return ConfigInForce(
            config_value=value, type_name=type_name, is_default=found.is_default
        )

    def _find_own(self, name: str) -> ConfigInForce | None:
        name = self._name_of(name)
        known = self._catalog.configs.get(name, self._extra.get(name))
        if known is None or known.client_types not in self._client_types:
            return None
        own = self._changed.get(name, self._given.get(name))
        value = self._default_of(known) if own is None else own
        return ConfigInForce(
            config_value=value,
            type_name=known.type_name,
            is_default=own is None,
        )

    def _default_of(self, known: Config) -> str:
        if "P" in self._client_types:
            return PRODUCER_DEFAULTS.get(known.name, known.default)
        return known.default

    def _name_of(self, name: str) -> str:
        return self._catalog.aliases.get(name, name)
