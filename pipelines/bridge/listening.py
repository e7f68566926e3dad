"""The address that is listened on, and the one that clients are told."""

import socket

from pipelines.errors import InvalidSetting, MissingService
from pipelines.setting_records import BridgeSettings

from .protocol.metadata import AdvertisedNode

LISTENER_KEYS = "bridge.listen_host and bridge.listen_port"
_EVERY_ADDRESS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - refused, not bound


def bind_listener(host: str, port: int, *, keys: str = LISTENER_KEYS) -> socket.socket:
    """Take an address to listen on; nobody can connect yet.

    Args:
        host: Name or address; empty for every address.
        port: 0 takes a free one.
        keys: The settings that both come from.
    Raises: MissingService when it cannot be had.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise not_available(host, port, keys, error) from None
    try:
        # A stopped bridge must be able to come back while old connections linger.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it: a client whose machine is gone says nothing, for ever.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise not_available(host, port, keys, error) from None
    return listener


def not_available(host: str, port: int, keys: str, error: OSError) -> MissingService:
    """Return what to say where an address cannot be had."""
    return MissingService(
        f"the bridge cannot listen on {host}:{port} ({error.strerror}): free that port "
        f"or set {keys}"
    )


def advertised_node(bridge: BridgeSettings, port: int) -> AdvertisedNode:
    """Return what clients are told to connect to.

    Args:
        bridge: Settings of the bridge.
        port: The port that is listened on.
    Raises: InvalidSetting when that would be no address of anyone.
    """
    host = bridge.advertised_host or bridge.listen_host
    if host in _EVERY_ADDRESS:
        raise InvalidSetting(
            f"bridge.advertised_host: must name what clients connect to, "
            f"since bridge.listen_host is {bridge.listen_host!r}"
        )
    return AdvertisedNode(
        node_id=bridge.node_id,
        host=host,
        port=bridge.advertised_port or port,
        cluster_id=bridge.cluster_id,
    )
