"""Whether confluent_kafka takes a configuration, before anything is told of it.

Strategy: a handle is made of it and dropped at once. It knows no servers and has
neither TLS nor SASL, so it opens no connection and asks for no token; callbacks and the
log of the application are replaced by such as do nothing. Plugins and builders of
serializers take properties of their own, which only they know: beside them nothing is
tried. What it costs is in tests/bench/client_push.py.
"""

from collections.abc import Callable, Mapping
from typing import Any

import confluent_kafka
from confluent_kafka import admin

from .key_lists import ADMIN, CONSUMER, PRODUCER, SHARE_CONSUMER

_KINDS: Mapping[str, Callable[[dict[str, Any]], object]] = {
    PRODUCER: confluent_kafka.Producer,
    CONSUMER: confluent_kafka.Consumer,
    SHARE_CONSUMER: confluent_kafka.ShareConsumer,
    ADMIN: admin.AdminClient,
}
_CALLBACKS = {"error_cb", "on_commit", "on_delivery", "stats_cb", "throttle_cb"}
_LEFT_OUT = {"bootstrap.servers", "metadata.broker.list", "security.protocol"}
_TOKENS = "oauth_cb"
"""Left out as well: with one, confluent_kafka waits for a token."""
_PLUGINS = "plugin.library.paths"
_BUILDER = ".builder"
SERIALIZERS = (
    "key.serializer",
    "key.serializer.builder",
    "value.serializer",
    "value.serializer.builder",
)
DESERIALIZERS = (
    "key.deserializer",
    "key.deserializer.builder",
    "value.deserializer",
    "value.deserializer.builder",
)
PLAIN_DESERIALIZERS = ("key.deserializer", "value.deserializer")
"""Of DeserializingShareConsumer, which knows no builders."""


class _Silent:
    """A log for what the trial says; the handle itself will say it again."""

    def log(self, *_: object) -> None:
        """Drop a line."""


def _ignore(*_: object) -> None:
    """Stand where the application has a callback."""


def is_taken(
    client_type: str, conf: Mapping[str, Any], serdes: tuple[str, ...] = ()
) -> bool:
    """Return whether confluent_kafka makes a handle of what it is given.

    Args:
        client_type: One of CLIENT_TYPES.
        conf: Without this library's own configs.
        serdes: Names that the client's class takes out itself: SERIALIZERS,
            DESERIALIZERS or PLAIN_DESERIALIZERS; none for the other classes.
    Returns: True as well where that cannot be tried.
    """
    if not can_be_tried(conf, serdes):
        return True
    tried = {
        name: _ignore if name in _CALLBACKS and callable(value) else value
        for name, value in conf.items()
        if name not in _LEFT_OUT and name not in serdes
    }
    if callable(tried.get(_TOKENS)):
        del tried[_TOKENS]
    try:
        _KINDS[client_type](tried | {"logger": _Silent()})
    except Exception:  # noqa: BLE001 - the handle itself will raise it
        return False
    return True


def can_be_tried(conf: Mapping[str, Any], serdes: tuple[str, ...] = ()) -> bool:
    """Return whether no plugin and no builder has properties of its own there."""
    builders = [name for name in serdes if name.endswith(_BUILDER)]
    is_built = any(conf.get(name) is not None for name in builders)
    return not (conf.get(_PLUGINS) or is_built)
