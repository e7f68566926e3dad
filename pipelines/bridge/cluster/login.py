"""SASL as a client: what is sent to a broker, and what of it is believed.

Source: RFC 4616 (PLAIN); RFC 5802 (SCRAM); Kafka, SaslClientAuthenticator.java.
"""

from collections.abc import Generator
from dataclasses import dataclass, field

from scramp import ScramClient, ScramException

from .faults import ClusterRefusal

PLAIN = "PLAIN"
LoginSteps = Generator[bytes, bytes, None]
"""Yields what to send, is sent what came back, ends when the broker is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Who the bridge is to its cluster."""

    mechanism: str
    """PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512."""
    username: str
    password: str = field(repr=False)


def log_in(credentials: Credentials, *, nonce: str) -> LoginSteps:
    """Return the steps of one login.

    Args:
        credentials: Who logs in.
        nonce: Random printable ASCII without a comma, for SCRAM; new for each login.
    Raises: ClusterRefusal, from a step, when the broker is not believed.
    """
    if credentials.mechanism == PLAIN:
        return _log_in_plainly(credentials)
    return _log_in_by_scram(credentials, nonce)


def _log_in_plainly(credentials: Credentials) -> LoginSteps:
    yield f"\0{credentials.username}\0{credentials.password}".encode()


def _log_in_by_scram(credentials: Credentials, nonce: str) -> LoginSteps:
    try:
        client = ScramClient(
            [credentials.mechanism],
            credentials.username,
            credentials.password,
            c_nonce=nonce,
        )
        challenge = yield client.get_client_first().encode()
        client.set_server_first(challenge.decode())
        verdict = yield client.get_client_final().encode()
        client.set_server_final(verdict.decode())
    except (ScramException, UnicodeDecodeError):
        # The library's texts hold what the broker has sent.
        raise ClusterRefusal(
            f"its answer to {credentials.mechanism} is not that of a broker that "
            f"knows the password"
        ) from None
