"""The addresses that are listened on, and those that clients are told."""

import socket
from collections.abc import Sequence

from pipelines.bridge.protocol.metadata import AdvertisedNode
from pipelines.bridge.security.principal_rules import InvalidRule, PrincipalRules
from pipelines.errors import InvalidSetting, MissingService
from pipelines.settings.listener_records import OAUTHBEARER, ListenerSettings
from pipelines.settings.records import BridgeSettings, Settings

LISTENER_KEYS = "bridge.listen_host and bridge.listen_port, or [[listeners]]"
_EVERY_ADDRESS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - refused, not bound
BACKLOG = 1_024
"""Connections that the system keeps until they are accepted; a burst of them."""


def plan_listeners(settings: Settings) -> tuple[ListenerSettings, ...]:
    """Return the listeners: those of [[listeners]], or else the one of [bridge].

    Raises: InvalidSetting, when they cannot be what they say.
    """
    bridge = settings.bridge
    if not settings.listeners:
        default = ListenerSettings(
            name=bridge.listener,
            host=bridge.listen_host,
            port=bridge.listen_port,
            advertised_host=bridge.advertised_host,
            advertised_port=bridge.advertised_port,
            security_protocol="PLAINTEXT",
            ssl_certificate_location="",
            ssl_key_location="",
            ssl_key_password=None,
            ssl_ca_location="",
            ssl_client_auth="none",
            ssl_principal_mapping_rules="DEFAULT",
            sasl_mechanisms=(),
        )
        return (default,)
    names = [listener.name for listener in settings.listeners]
    for index, listener in enumerate(settings.listeners):
        place = f"listeners[{index}]"
        if not listener.name or listener.name in names[:index]:
            raise InvalidSetting(f"{place}.name: must be a name of its own")
        _check_ssl(listener, place)
        _check_sasl(listener, place, settings)
    return settings.listeners


def _check_ssl(listener: ListenerSettings, place: str) -> None:
    if not listener.security_protocol.endswith("SSL"):
        return
    protocol = f"since {place}.security_protocol is {listener.security_protocol}"
    if not listener.ssl_certificate_location:
        raise InvalidSetting(
            f"{place}.ssl_certificate_location: is missing, {protocol}"
        )
    if not listener.ssl_key_location:
        raise InvalidSetting(f"{place}.ssl_key_location: is missing, {protocol}")
    if listener.ssl_client_auth != "none" and not listener.ssl_ca_location:
        raise InvalidSetting(
            f"{place}.ssl_ca_location: is missing, since {place}.ssl_client_auth is "
            f"{listener.ssl_client_auth}"
        )
    try:
        PrincipalRules(listener.ssl_principal_mapping_rules)
    except InvalidRule as error:
        raise InvalidSetting(f"{place}.ssl_principal_mapping_rules: {error}") from None


def _check_sasl(listener: ListenerSettings, place: str, settings: Settings) -> None:
    if not listener.security_protocol.startswith("SASL_"):
        return
    mechanisms = set(listener.sasl_mechanisms)
    if not mechanisms:
        raise InvalidSetting(
            f"{place}.sasl_mechanisms: is empty, since {place}.security_protocol is "
            f"{listener.security_protocol}"
        )
    needed = []
    if mechanisms - {OAUTHBEARER}:
        needed += ["credentials_location"]
    if OAUTHBEARER in mechanisms:
        needed += ["oauth_jwks_location", "oauth_issuer", "oauth_audience"]
        needed += ["oauth_algorithms", "oauth_principal_claim"]
    for name in needed:
        if not getattr(settings.authentication, name):
            raise InvalidSetting(
                f"authentication.{name}: is empty, since {place}.sasl_mechanisms has "
                f"{', '.join(listener.sasl_mechanisms)}"
            )


def bind_all(
    listeners: Sequence[ListenerSettings], *, is_shared: bool = False
) -> list[socket.socket]:
    """Take the address of every listener, or of none.

    Args:
        listeners: In the order of the sockets returned.
        is_shared: Whether several processes listen there.

    Raises: MissingService when one cannot be had.
    """
    sockets: list[socket.socket] = []
    try:
        for listener in listeners:
            one = bind_listener(listener.host, listener.port, is_shared=is_shared)
            sockets.append(one)
    except MissingService:
        for one in sockets:
            one.close()
        raise
    return sockets


def bind_listener(
    host: str, port: int, *, keys: str = LISTENER_KEYS, is_shared: bool = False
) -> socket.socket:
    """Take an address to listen on; nobody can connect yet.

    Args:
        host: Name or address; empty for every address.
        port: 0 takes a free one.
        keys: The settings that both come from.
        is_shared: Whether several processes listen there.
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
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
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


def advertised_node(
    bridge: BridgeSettings, listener: ListenerSettings, port: int
) -> AdvertisedNode:
    """Return what the clients of a listener are told to connect to.

    Args:
        listener: The listener that was asked.
        port: The port that it listens on.
    Raises: InvalidSetting when that would be no address of anyone.
    """
    host = listener.advertised_host or listener.host
    if host in _EVERY_ADDRESS:
        raise InvalidSetting(
            f"listener {listener.name}: advertised_host must name what clients connect "
            f"to (bridge.advertised_host, or that of [[listeners]]), since it listens "
            f"on {listener.host!r}"
        )
    return AdvertisedNode(
        node_id=bridge.node_id,
        host=host,
        port=listener.advertised_port or port,
        cluster_id=bridge.cluster_id,
    )
