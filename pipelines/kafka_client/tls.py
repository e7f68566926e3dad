"""What a fault of TLS means, for a connection to Kafka and to a token endpoint."""

import ssl

from .faults import LoginRefused

_PASSING_ALERTS = ("_ALERT_INTERNAL_ERROR", "_ALERT_USER_CANCELLED")
"""Of a peer that may do better the next time."""


def fault_of_tls(error: ssl.SSLError) -> OSError | LoginRefused:
    """Return what a fault of TLS means for a connection.

    As the Java client has it, a certificate that is not trusted, an alert of the peer
    and what is no TLS at all are refusals; unlike there, two alerts are not. A
    connection that ends in the middle, as that of a server that restarts or of a load
    balancer without one, is a fault of the network.
    """
    reason = error.reason or "the connection was closed"
    is_closed = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)
    if is_closed or not error.reason or reason.endswith(_PASSING_ALERTS):
        return ConnectionError(f"TLS: {reason}")
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = f"{reason}, {error.verify_message}"
    return LoginRefused(f"TLS: {reason}")
