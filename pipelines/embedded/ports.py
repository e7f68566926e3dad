"""Loopback ports that stay free: below those that systems give to outgoing connections.

A broker that is killed and restarted needs its old port, and a client that reconnects
to a port of the ephemeral range while nothing listens can connect to itself.
"""

import random
import socket

LOOPBACK = "127.0.0.1"
# Linux takes outgoing ports from 32768 up, macOS and IANA from 49152 up.
FIRST_PORT = 20_000
LAST_PORT = 31_999
MAX_PORT = 65_535


def is_free_port(port: int) -> bool:
    """Return whether nothing listens on a loopback port."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As Java's server sockets do: a port in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def pick_free_ports(count: int, taken: frozenset[int] = frozenset()) -> list[int]:
    """Return random free ports, none of them in `taken`.

    Random ports seldom clash between parallel starts; the caller retries when one does.
    """
    candidates = random.SystemRandom().sample(
        range(FIRST_PORT, LAST_PORT + 1), LAST_PORT - FIRST_PORT + 1
    )
    ports: list[int] = []
    for port in candidates:
        if len(ports) == count:
            break
        if port not in taken and is_free_port(port):
            ports.append(port)
    return ports
