"""How a client reaches its cluster, from librdkafka's properties.

What librdkafka can do and this cannot is a fault that names the property; then nothing
is pushed, since a connection must never be less checked than the client's own. No text
holds a secret.
Source: librdkafka 2.16, CONFIGURATION.md.
"""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .login import (
    HASHES,
    MECHANISMS,
    Frames,
    log_in_by_oauth,
    log_in_by_plain,
    log_in_by_scram,
)
from .memory_files import as_file

DEFAULT_PORT = 9092
MAX_PORT = 65_535
PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_UNSUPPORTED = (
    "ssl.certificate.verify_cb",
    "ssl.engine.location",
    "ssl.keystore.location",
    "ssl.providers",
    "ssl_ca",
    "ssl_certificate",
    "ssl_key",
)
_UNSECURE_TOKENS = "enable.sasl.oauthbearer.unsecure.jwt"
"""Which librdkafka refuses beside oauth_cb."""
_SERVER = re.compile(
    r"(?:[A-Za-z_]+://)?(?:\[(?P<ipv6>[^\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?"
)

Address = tuple[str, int]
FindValue = Callable[[str], str]
"""Value in force of one of librdkafka's properties; empty where it has none."""


class UnusableConfig(ValueError):
    """Raised when a push cannot go the client's way; the text names the property."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the cluster is reached."""

    servers: tuple[Address, ...]
    tls: ssl.SSLContext | None = field(repr=False)
    mechanism: str | None
    start_login: Callable[[], Frames] | None = field(repr=False)
    """Makes the client's side of one login."""


def make_access(find: FindValue, given: Mapping[str, Any]) -> Access:
    """Read the connection's properties.

    Args:
        find: Values in force.
        given: What the application gave: callbacks, and properties that take objects.
    Raises: UnusableConfig.
    """
    protocol = find("security.protocol").lower()
    if protocol not in PROTOCOLS:
        raise UnusableConfig(f"security.protocol must be one of {', '.join(PROTOCOLS)}")
    mechanism, start_login = None, None
    if protocol.startswith("sasl_"):
        mechanism = find("sasl.mechanisms").upper()
        start_login = _make_login(mechanism, find, given)
    return Access(
        servers=parse_servers(find("bootstrap.servers")),
        tls=_make_context(find, given) if protocol.endswith("ssl") else None,
        mechanism=mechanism,
        start_login=start_login,
    )


def parse_servers(text: str) -> tuple[Address, ...]:
    """Return hosts and ports of `bootstrap.servers`.

    Raises: UnusableConfig.
    """
    servers = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        found = _SERVER.fullmatch(item)
        port = int(found["port"] or DEFAULT_PORT) if found else 0
        if found is None or not 0 < port <= MAX_PORT:
            raise UnusableConfig("bootstrap.servers holds what is not host:port")
        servers.append((found["ipv6"] or found["host"], port))
    if not servers:
        raise UnusableConfig("bootstrap.servers names no server")
    return tuple(servers)


def _make_login(
    mechanism: str, find: FindValue, given: Mapping[str, Any]
) -> Callable[[], Frames]:
    if mechanism not in MECHANISMS:
        raise UnusableConfig(
            f"sasl.mechanism {mechanism} is not supported; {', '.join(MECHANISMS)} are"
        )
    if mechanism == "OAUTHBEARER":
        callback, config = (
            given.get("oauth_cb"),
            find("sasl.oauthbearer.config") or None,
        )
        if not callable(callback):
            raise UnusableConfig("OAUTHBEARER is supported with oauth_cb only")
        if find(_UNSECURE_TOKENS) == "true":
            raise UnusableConfig(f"{_UNSECURE_TOKENS} is not supported")
        return lambda: log_in_by_oauth(callback, config)
    username, password = find("sasl.username"), find("sasl.password")
    if not username or not password:
        # As librdkafka has it, with whom there will be no client.
        raise UnusableConfig("sasl.username and sasl.password must be set")
    if mechanism in HASHES:
        return lambda: log_in_by_scram(mechanism, username, password)
    return lambda: log_in_by_plain(username, password)


def _make_context(find: FindValue, given: Mapping[str, Any]) -> ssl.SSLContext:
    for name in _UNSUPPORTED:
        if given.get(name):
            raise UnusableConfig(f"{name} is not supported")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    is_verified = find("enable.ssl.certificate.verification") == "true"
    algorithm = find("ssl.endpoint.identification.algorithm").lower()
    context.check_hostname = is_verified and algorithm != "none"
    if not is_verified:
        # The application's own words: enable.ssl.certificate.verification=false.
        context.verify_mode = ssl.CERT_NONE
    if ciphers := find("ssl.cipher.suites"):
        _use("ssl.cipher.suites", lambda: context.set_ciphers(ciphers))
    _trust(context, find)
    _identify(context, find)
    return context


def _trust(context: ssl.SSLContext, find: FindValue) -> None:
    location, pem = find("ssl.ca.location"), find("ssl.ca.pem")
    if pem:
        _use("ssl.ca.pem", lambda: context.load_verify_locations(cadata=pem))
    elif location and location != "probe":
        kind = "capath" if Path(location).is_dir() else "cafile"
        _use(
            "ssl.ca.location", lambda: context.load_verify_locations(**{kind: location})
        )
    else:
        context.load_default_certs()
    if crl := find("ssl.crl.location"):
        _use("ssl.crl.location", lambda: context.load_verify_locations(crl))
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _identify(context: ssl.SSLContext, find: FindValue) -> None:
    with (
        _as_file(find, "ssl.certificate") as chain,
        _as_file(find, "ssl.key") as key,
    ):
        if not chain:
            return
        # Without a password, OpenSSL would ask for one on the terminal.
        password = find("ssl.key.password")
        _use(
            "ssl.certificate.location or ssl.key.location",
            lambda: context.load_cert_chain(
                chain, key or None, password=lambda: password
            ),
        )


@contextmanager
def _as_file(find: FindValue, name: str) -> Iterator[str]:
    """Give the place of a file, made for a moment where only its text is known."""
    pem = find(f"{name}.pem")
    if not pem:
        yield find(f"{name}.location")
        return
    # OpenSSL takes our own key from files only.
    try:
        with as_file(pem) as place:
            yield place
    except OSError as error:
        raise UnusableConfig(f"{name}.pem has no place ({error.strerror})") from None


def _use(name: str, load: Callable[[], object]) -> None:
    try:
        load()
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
        raise UnusableConfig(f"{name} cannot be used ({reason or 'no PEM'})") from None
