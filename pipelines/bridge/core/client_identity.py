"""Who is at the other end of a connection, and the text forms that Kafka prints."""

import binascii
import ipaddress
import uuid
from dataclasses import dataclass, replace
from typing import Any

from udfs.sensitive.bounded_texts import SHORT_CHARACTERS, bound_text

UUID_TEXT_LENGTH = 22
MAX_SOFTWARE_BYTES = 68
"""Of a name or version of software, as records repeat it."""
MAX_TEXT_BYTES = 256
"""Of any other text of an identity there; a subject of a token may have 255."""
MAX_CLUSTER_ID_BYTES = 64
"""Of the id of a cluster; Kafka makes those of 22 characters."""
_SHORT_SOFTWARE = MAX_SOFTWARE_BYTES // 4
"""Characters that take no more bytes than allowed, whatever they are."""
_MAX_BYTES = (
    ("client_id", MAX_TEXT_BYTES),
    ("client_software_name", MAX_SOFTWARE_BYTES),
    ("client_software_version", MAX_SOFTWARE_BYTES),
    ("principal", MAX_TEXT_BYTES),
    ("listener", MAX_TEXT_BYTES),
    ("client_source_address", MAX_TEXT_BYTES),
)
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientIdentity:
    """What a connection says about its client; payloads never add to it."""

    client_id: str | None
    client_software_name: str
    client_software_version: str
    principal: str
    listener: str
    client_source_address: str
    """As Java's InetAddress.getHostAddress() prints it."""
    client_source_port: int
    broker_id: int | None = None
    """The broker that the connection goes on to; None where it ends at the bridge."""


class KnownCluster:
    """The cluster that connections are for, once it has said who it is."""

    def __init__(self, cluster_id: str | None = None) -> None:
        self.cluster_id = cluster_id

    def note(self, cluster_id: str | None) -> None:
        """Take what the cluster says; one that says nothing stays what it was.

        The same id stays the same object, by which headers are known to be in date.
        """
        if cluster_id is not None and cluster_id != self.cluster_id:
            self.cluster_id = cluster_id


def bound_identity(identity: ClientIdentity) -> ClientIdentity:
    """Return an identity that may be repeated and kept, however long its texts are.

    Args:
        identity: As the client said it.
    Returns: The same object where no text is too long, as nearly always.
    """
    # Each new client instance asks; looking at each text takes four microseconds.
    if (
        len(identity.client_id or "") <= SHORT_CHARACTERS
        and len(identity.client_software_name) <= _SHORT_SOFTWARE
        and len(identity.client_software_version) <= _SHORT_SOFTWARE
        and len(identity.principal) <= SHORT_CHARACTERS
        and len(identity.listener) <= SHORT_CHARACTERS
        and len(identity.client_source_address) <= SHORT_CHARACTERS
    ):
        return identity
    changes: dict[str, Any] = {}
    for name, max_bytes in _MAX_BYTES:
        text = getattr(identity, name)
        if text is not None:
            bounded = bound_text(text, max_bytes)
            if bounded is not text:
                changes[name] = bounded
    return replace(identity, **changes) if changes else identity


def id_text(id_bytes: bytes) -> bytes:
    """Return base64url without padding, as Kafka prints a Uuid."""
    # Each push has one; base64.urlsafe_b64encode takes three times as long.
    text = binascii.b2a_base64(id_bytes, newline=False)
    return text.translate(_URL_SAFE)[:UUID_TEXT_LENGTH]


def uuid_text(client_instance_id: uuid.UUID) -> str:
    """Return a Uuid as Kafka prints it."""
    return id_text(client_instance_id.bytes).decode("ascii")


def address_text(host: str) -> str:
    """Return an address as Java prints it: IPv6 groups written out, no `::`.

    Errors: a text that is no address comes back as it is.
    """
    plain, separator, scope = host.partition("%")
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    groups = (group.lstrip("0") or "0" for group in address.exploded.split(":"))
    return ":".join(groups) + separator + scope
