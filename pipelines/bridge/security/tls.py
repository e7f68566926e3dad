"""TLS without sockets: the peer's bytes in, plain bytes and bytes for the peer out.

Strategy: the standard library's ssl over memory. The loop's own TLS would tell of a
connection only once its handshake is over, so that nothing could bound those that
never end it, and would keep 256 kB for each. What comes back when bytes are bad:
BrokenTls, with OpenSSL's reason.
Source: RFC 8446; RFC 5246; Kafka, SslTransportLayer.java.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

TlsContext = ssl.SSLContext
"""What a listener's connections are made with."""
READ_BYTES = 65_536
_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class BrokenTls(Exception):
    """Raised when a peer speaks no TLS that can go on; its connection's end."""


class InvalidCertificate(ValueError):
    """Raised when certificate, key or authorities cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """What one listener's TLS is made of."""

    certificate_location: str
    key_location: str
    key_password: str
    ca_location: str
    client_auth: str
    """none, requested or required."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that a context is read from."""
        names = (self.certificate_location, self.key_location, self.ca_location)
        return tuple(Path(name) for name in names if name)


def make_context(files: TlsFiles) -> TlsContext:
    """Read a listener's files; for new connections only.

    Raises: InvalidCertificate, which names the file and the reason, and no secret.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # One renegotiation costs a peer nothing and us a handshake.
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    try:
        context.load_cert_chain(
            files.certificate_location,
            files.key_location,
            # A function, even where there is no password: otherwise OpenSSL would ask
            # at the terminal for that of an encrypted key.
            password=lambda: files.key_password,
        )
    except (ssl.SSLError, OSError, ValueError) as error:
        raise InvalidCertificate(
            f"{files.certificate_location} with key {files.key_location}: "
            f"{_reason(error)}"
        ) from None
    if files.ca_location:
        try:
            context.load_verify_locations(files.ca_location)
        except (ssl.SSLError, OSError) as error:
            raise InvalidCertificate(f"{files.ca_location}: {_reason(error)}") from None
    context.verify_mode = _CLIENT_AUTH[files.client_auth]
    return context


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "no PEM file of its kind"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class TlsStream:
    """One end of a connection's TLS: the server's, or with a host name the client's."""

    __slots__ = ("_incoming", "_outgoing", "_ssl", "is_open")

    def __init__(self, context: TlsContext, server_hostname: str | None = None) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._ssl = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server_hostname is None,
            server_hostname=server_hostname,
        )
        self.is_open = False
        """Whether the handshake is over."""

    @property
    def waiting_bytes(self) -> int:
        """How many bytes of the peer have not been looked at."""
        return self._incoming.pending

    @property
    def peer_subject(self) -> bytes | None:
        """DER of the subject of the client's certificate, if it has shown one.

        Raises: BrokenTls when it cannot be read.
        """
        certificate = self._ssl.getpeercert(binary_form=True)
        if not certificate:
            return None
        try:
            return x509.load_der_x509_certificate(certificate).subject.public_bytes()
        except ValueError:
            raise BrokenTls("a certificate that cannot be read") from None

    def feed(self, data: bytes) -> None:
        """Keep bytes as they came from the peer."""
        self._incoming.write(data)

    def shake_hands(self) -> bool:
        """Go on with the handshake; say whether it is over.

        Raises: BrokenTls; the alert for the peer is among the outgoing bytes.
        """
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except (ssl.SSLError, OSError) as error:
            raise BrokenTls(_reason(error)) from None
        self.is_open = True
        return True

    def read(self) -> tuple[bytes, bool]:
        """Return what can be deciphered, and whether the peer has said its last.

        Raises: BrokenTls.
        """
        parts = []
        is_over = False
        while self._incoming.pending or self._ssl.pending():
            try:
                part = self._ssl.read(READ_BYTES)
            except ssl.SSLWantReadError:
                break
            except ssl.SSLZeroReturnError:
                is_over = True
                break
            except (ssl.SSLError, OSError) as error:
                raise BrokenTls(_reason(error)) from None
            if not part:
                is_over = True
                break
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts), is_over

    def write(self, data: bytes) -> None:
        """Encipher bytes for the peer.

        Raises: BrokenTls.
        """
        try:
            self._ssl.write(data)
        except (ssl.SSLError, OSError) as error:
            raise BrokenTls(_reason(error)) from None

    def say_goodbye(self) -> None:
        """Tell the peer that nothing more comes; do not wait for its own goodbye."""
        try:
            self._ssl.unwrap()
        except (ssl.SSLError, OSError, ValueError):
            return

    def take_outgoing(self) -> bytes:
        """Return the bytes for the peer, and forget them."""
        return self._outgoing.read()
