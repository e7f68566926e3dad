"""Whether confluent_kafka takes a configuration, before anything is told of it.

Strategy: a handle is made of it and dropped at once. It knows no servers and has
neither TLS nor SASL, so it opens no connection and asks for no token; callbacks,
plugins and the log of the application are left out. What it costs is in
tests/bench/client_push.py.
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
_CALLBACKS = {
    "error_cb",
    "oauth_cb",
    "on_commit",
    "on_delivery",
    "stats_cb",
    "throttle_cb",
}
_LEFT_OUT = {
    "bootstrap.servers",
    "metadata.broker.list",
    "plugin.library.paths",
    "security.protocol",
    # Of the serializing clients, which take them out themselves.
    "key.deserializer",
    "key.serializer",
    "value.deserializer",
    "value.serializer",
}


class _Silent:
    """A log for what the trial says; the handle itself will say it again."""

    def log(self, *_: object) -> None:
        """Drop a line."""


def is_taken(client_type: str, conf: Mapping[str, Any]) -> bool:
    """Return whether confluent_kafka makes a handle of what it is given.

    Args:
        client_type: One of CLIENT_TYPES.
        conf: Without this library's own configs.
    """
    tried = {
        name: value
        for name, value in conf.items()
        if name not in _LEFT_OUT and not (name in _CALLBACKS and callable(value))
    }
    try:
        _KINDS[client_type](tried | {"logger": _Silent()})
    except Exception:  # noqa: BLE001 - the handle itself will raise it
        return False
    return True
