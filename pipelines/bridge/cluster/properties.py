"""Where the cluster is, who we are to it, and TLS, from librdkafka's properties.

One table of conf/ may serve the publisher and this client; so both take the same
properties, and the certificates as files or as PEM text.
"""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.errors import InvalidSetting
from pipelines.kafka_client.memory_files import as_file

from .login import Credentials

DEFAULT_PORT = 9092
MAX_PORT = 65_535
_SERVER = re.compile(
    r"(?:[A-Za-z_]+://)?(?:\[(?P<ipv6>[^\]]+)\]|(?P<host>[^:\[\]]+))(?::(?P<port>[0-9]+))?"
)

KeyName = Callable[[str], str]
"""What the user calls a property of librdkafka."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccess:
    """How the cluster is reached."""

    servers: tuple[tuple[str, int], ...]
    tls: ssl.SSLContext | None = field(repr=False)
    credentials: Credentials | None

    @property
    def place(self) -> str:
        """The servers as text."""
        return ",".join(
            f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            for host, port in self.servers
        )


def make_access(
    connection: Mapping[str, str], *, key_name: KeyName = str
) -> ClusterAccess:
    """Read librdkafka's connection properties.

    Args:
        connection: `bootstrap.servers`, `security.protocol`, `sasl.*`, `ssl.*`.
        key_name: What errors call a property.
    Raises: InvalidSetting, naming the property, never its secret.
    """
    protocol = connection["security.protocol"]
    credentials = None
    if protocol.startswith("SASL_"):
        credentials = Credentials(
            mechanism=connection["sasl.mechanism"],
            username=connection["sasl.username"],
            password=connection["sasl.password"],
        )
    return ClusterAccess(
        servers=_parse_servers(connection["bootstrap.servers"], key_name),
        tls=_make_context(connection, key_name) if protocol.endswith("SSL") else None,
        credentials=credentials,
    )


def _parse_servers(text: str, key_name: KeyName) -> tuple[tuple[str, int], ...]:
    servers = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        found = _SERVER.fullmatch(item)
        port = int(found["port"] or DEFAULT_PORT) if found else 0
        if found is None or not 0 < port <= MAX_PORT:
            raise InvalidSetting(
                f"{key_name('bootstrap.servers')}: {item!r} is not host:port"
            )
        servers.append((found["ipv6"] or found["host"], port))
    if not servers:
        raise InvalidSetting(f"{key_name('bootstrap.servers')}: names no server")
    return tuple(servers)


def _make_context(connection: Mapping[str, str], key_name: KeyName) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    algorithm = connection.get("ssl.endpoint.identification.algorithm", "https")
    context.check_hostname = algorithm != "none"
    _trust(context, connection, key_name)
    _identify(context, connection, key_name)
    return context


def _trust(
    context: ssl.SSLContext, connection: Mapping[str, str], key_name: KeyName
) -> None:
    location, pem = connection.get("ssl.ca.location"), connection.get("ssl.ca.pem")
    if not location and not pem:
        context.load_default_certs()
        return
    name = "ssl.ca.location" if location else "ssl.ca.pem"
    try:
        if location and Path(location).is_dir():
            context.load_verify_locations(capath=location)
        else:
            context.load_verify_locations(cafile=location, cadata=pem)
    except (OSError, ValueError) as error:
        raise _unusable(key_name(name), location, error) from None


def _identify(
    context: ssl.SSLContext, connection: Mapping[str, str], key_name: KeyName
) -> None:
    with (
        _as_file(connection, "ssl.certificate", key_name) as chain,
        _as_file(connection, "ssl.key", key_name) as key,
    ):
        if not chain and not key:
            return
        if not chain or not key:
            missing = "ssl.key.location" if chain else "ssl.certificate.location"
            raise InvalidSetting(f"{key_name(missing)}: is missing beside the other")
        # Without a password, OpenSSL would ask for one on the terminal.
        password = connection.get("ssl.key.password", "")
        try:
            context.load_cert_chain(chain, key, password=lambda: password)
        except (OSError, ValueError) as error:
            place = connection.get("ssl.key.location")
            raise _unusable(key_name("ssl.key.location"), place, error) from None


@contextmanager
def _as_file(
    connection: Mapping[str, str], name: str, key_name: KeyName
) -> Iterator[str]:
    """Give the place of a file, made for a moment where only its text is known."""
    pem = connection.get(f"{name}.pem")
    if not pem:
        yield connection.get(f"{name}.location", "")
        return
    # OpenSSL takes our own key from files only.
    try:
        with as_file(pem) as place:
            yield place
    except OSError as error:
        raise _unusable(key_name(f"{name}.pem"), None, error) from None


def _unusable(name: str, place: str | None, error: Exception) -> InvalidSetting:
    # OpenSSL's reasons are names; a file's fault is the system's own sentence.
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
    what = place or "the text"
    return InvalidSetting(f"{name}: {what} cannot be used ({reason or 'is no PEM'})")
