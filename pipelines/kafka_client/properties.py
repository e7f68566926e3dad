"""How a client reaches its cluster, from librdkafka's properties.

What librdkafka can do and this cannot is a fault that names the property, since a
connection must never be less checked than librdkafka's own. No text holds a secret.
Source: librdkafka 2.16, CONFIGURATION.md.
"""

import dataclasses
import re
import secrets
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .login import (
    HASHES,
    MECHANISMS,
    Login,
    log_in_by_oauth,
    log_in_by_plain,
    log_in_by_scram,
)
from .memory_files import as_file
from .oidc import Credentials, find_place, parse_extensions
from .token_source import TokenSource

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
_OAUTH = "sasl.oauthbearer."
_OIDC_ALONE = {
    f"{_OAUTH}grant.type": "client_credentials",
    f"{_OAUTH}metadata.authentication.type": "none",
}
"""Ways of asking an issuer that librdkafka has beside, and the only one here."""
_SERVER = re.compile(
    r"(?:[A-Za-z_]+://)?(?:\[(?P<ipv6>[^\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?"
)
_NONCE_BYTES = 24

Address = tuple[str, int]
FindValue = Callable[[str], str | None]
"""Value in force of one of librdkafka's properties; empty or None where it has none."""


class UnusableConfig(ValueError):
    """Raised when a cluster cannot be reached as the properties say."""

    def __init__(self, name: str, why: str, *, what: str = "") -> None:
        """Say it without the value.

        Args:
            name: The property.
            why: Goes on after the name, or after the value for those who may show it.
            what: The value; empty for a secret, and where there is none.
        """
        super().__init__(f"{name} {why}")
        self.name, self.why, self.what = name, why, what


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a cluster is reached."""

    servers: tuple[Address, ...]
    tls: ssl.SSLContext | None = field(repr=False)
    login: Login | None

    @property
    def place(self) -> str:
        """The servers as text."""
        return ",".join(
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            for host, port in self.servers
        )

    def at(self, address: Address) -> "Access":
        """Return the access to one node, whatever the bootstrap servers are."""
        return dataclasses.replace(self, servers=(address,))


def make_access(find: FindValue, given: Mapping[str, Any] | None = None) -> Access:
    """Read the connection's properties.

    Args:
        find: Values in force.
        given: Callbacks, and properties that take objects.
    Raises: UnusableConfig.
    """
    given = given or {}
    protocol = (find("security.protocol") or "").lower()
    if protocol not in PROTOCOLS:
        raise UnusableConfig(
            "security.protocol", f"must be one of {', '.join(PROTOCOLS)}"
        )
    return Access(
        servers=parse_servers(find("bootstrap.servers") or ""),
        tls=_make_context(find, given) if protocol.endswith("ssl") else None,
        login=_make_login(find, given) if protocol.startswith("sasl_") else None,
    )


def parse_servers(text: str) -> tuple[Address, ...]:
    """Return hosts and ports of `bootstrap.servers`.

    Raises: UnusableConfig.
    """
    name, servers = "bootstrap.servers", []
    for item in filter(None, (part.strip() for part in text.split(","))):
        found = _SERVER.fullmatch(item)
        port = int(found["port"] or DEFAULT_PORT) if found else 0
        if found is None or not 0 < port <= MAX_PORT:
            raise UnusableConfig(name, "is not host:port", what=repr(item))
        servers.append((found["ipv6"] or found["host"], port))
    if not servers:
        raise UnusableConfig(name, "names no server")
    return tuple(servers)


def _make_login(find: FindValue, given: Mapping[str, Any]) -> Login:
    mechanism = (find("sasl.mechanism") or "").upper()
    if mechanism not in MECHANISMS:
        raise UnusableConfig(
            "sasl.mechanism",
            f"{mechanism} is not supported; {', '.join(MECHANISMS)} are",
        )
    if mechanism == "OAUTHBEARER":
        return _make_oauth_login(find, given)
    username, password = (
        _require(find, "sasl.username"),
        _require(find, "sasl.password"),
    )
    if mechanism not in HASHES:
        return Login(
            mechanism=mechanism, start=lambda: log_in_by_plain(username, password)
        )
    return Login(
        mechanism=mechanism,
        start=lambda: log_in_by_scram(
            mechanism, username, password, nonce=secrets.token_urlsafe(_NONCE_BYTES)
        ),
    )


def _require(find: FindValue, name: str) -> str:
    value = find(name)
    if not value:
        # As librdkafka has it, with whom there will be no client.
        raise UnusableConfig(name, "must be set")
    return value


def _make_oauth_login(find: FindValue, given: Mapping[str, Any]) -> Login:
    if (find(f"{_OAUTH}method") or "").lower() == "oidc":
        return _make_oidc_login(find)
    callback, config = given.get("oauth_cb"), find(f"{_OAUTH}config") or None
    if not callable(callback):
        why = f"OAUTHBEARER is supported with oauth_cb and {_OAUTH}method=oidc only"
        raise UnusableConfig("sasl.mechanism", why)
    if find(_UNSECURE_TOKENS) == "true":
        raise UnusableConfig(_UNSECURE_TOKENS, "is not supported")
    return Login(
        mechanism="OAUTHBEARER", start=lambda: log_in_by_oauth(callback, config)
    )


def _make_oidc_login(find: FindValue) -> Login:
    for name, alone in _OIDC_ALONE.items():
        if (find(name) or alone) != alone:
            raise UnusableConfig(name, f"is supported as {alone} only")
    url = _require(find, f"{_OAUTH}token.endpoint.url")
    if find_place(url) is None:
        why = "must be an http or https URL of ASCII, without user and password"
        raise UnusableConfig(f"{_OAUTH}token.endpoint.url", why)
    extensions = parse_extensions(find(f"{_OAUTH}extensions") or "")
    if extensions is None:
        raise UnusableConfig(f"{_OAUTH}extensions", "must be name=value,name=value")
    source = TokenSource(
        url,
        Credentials(
            client_id=_require(find, f"{_OAUTH}client.id"),
            client_secret=_require(find, f"{_OAUTH}client.secret"),
            scope=find(f"{_OAUTH}scope") or "",
        ),
        extensions=extensions,
        tls=_make_endpoint_context(find),
    )
    return Login(
        mechanism="OAUTHBEARER",
        start=source.log_in,
        prepare=source.prepare,
        forget=source.forget,
    )


def _make_endpoint_context(find: FindValue) -> ssl.SSLContext:
    """Return how a token endpoint is trusted: apart from the brokers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _trust(context, find, "https.ca")
    return context


def _make_context(find: FindValue, given: Mapping[str, Any]) -> ssl.SSLContext:
    for name in _UNSUPPORTED:
        if given.get(name):
            raise UnusableConfig(name, "is not supported")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # What is not said is checked.
    is_verified = find("enable.ssl.certificate.verification") != "false"
    algorithm = (find("ssl.endpoint.identification.algorithm") or "").lower()
    context.check_hostname = is_verified and algorithm != "none"
    if not is_verified:
        # The user's own words: enable.ssl.certificate.verification=false.
        context.verify_mode = ssl.CERT_NONE
    if ciphers := find("ssl.cipher.suites"):
        _use("ssl.cipher.suites", ciphers, lambda: context.set_ciphers(ciphers))
    _trust(context, find, "ssl.ca")
    if crl := find("ssl.crl.location"):
        _use("ssl.crl.location", crl, lambda: context.load_verify_locations(crl))
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    _identify(context, find)
    return context


def _trust(context: ssl.SSLContext, find: FindValue, name: str) -> None:
    location, pem = find(f"{name}.location"), find(f"{name}.pem")
    if location and location != "probe":
        kind = "capath" if Path(location).is_dir() else "cafile"
        load = context.load_verify_locations
        _use(f"{name}.location", location, lambda: load(**{kind: location}))
    if pem:
        _use(f"{name}.pem", "", lambda: context.load_verify_locations(cadata=pem))
    if not pem and location in {None, "", "probe"}:
        context.load_default_certs()


def _identify(context: ssl.SSLContext, find: FindValue) -> None:
    with (
        _as_file(find, "ssl.certificate") as chain,
        _as_file(find, "ssl.key") as key,
    ):
        if not chain and not key:
            return
        if not chain or not key:
            missing = "ssl.key.location" if chain else "ssl.certificate.location"
            raise UnusableConfig(missing, "is missing beside the other")
        # Without a password, OpenSSL would ask for one on the terminal.
        password = find("ssl.key.password") or ""
        _use(
            "ssl.key.location",
            find("ssl.key.location") or "",
            lambda: context.load_cert_chain(chain, key, password=lambda: password),
            beside=" with its certificate",
        )


@contextmanager
def _as_file(find: FindValue, name: str) -> Iterator[str]:
    """Give the place of a file, made for a moment where only its text is known."""
    pem = find(f"{name}.pem")
    if not pem:
        yield find(f"{name}.location") or ""
        return
    # OpenSSL takes our own key from files only.
    try:
        with as_file(pem) as place:
            yield place
    except OSError as error:
        raise UnusableConfig(
            f"{name}.pem", f"has no place ({error.strerror})"
        ) from None


def _use(name: str, what: str, load: Callable[[], object], *, beside: str = "") -> None:
    try:
        load()
    except (OSError, ValueError) as error:
        # OpenSSL's reasons are names; a file's fault is the system's own sentence.
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
        why = f"cannot be used{beside} ({reason or 'no PEM'})"
        raise UnusableConfig(name, why, what=what) from None
