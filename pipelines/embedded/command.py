"""The command `kafka`: one throw-away cluster, until a signal ends it."""

import functools
import secrets
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from .cluster import EmbeddedKafka
from .private_files import write_private
from .server_properties import PLAINTEXT, SASL_SSL, SCRAM_MECHANISM

DEFAULT_USER = "kafka-client"
_PASSWORD_BYTES = 18
_CHECK_S = 0.5

# Who reads the lines may be a program at the other end of a pipe.
_print_now = functools.partial(print, flush=True)


def run_kafka(
    *,
    brokers: int = 1,
    port: int = 0,
    security_protocol: str = PLAINTEXT,
    java: str = "java",
    show: Callable[[str], None] = _print_now,
) -> int:
    """Run a cluster until SIGINT or SIGTERM; its data goes with it.

    With SASL_SSL the one user is DEFAULT_USER; the password is made here and stands in
    a file beside the certificate, both named on screen.

    Args:
        brokers: How many.
        port: Clients' port of the first broker, the next ones follow; 0: free ones.
        security_protocol: Of the clients' listener: PLAINTEXT or SASL_SSL.
        java: Program that runs Java.
        show: Takes each line for the user.
    Returns: Exit code 0, when a signal ended it.
    Raises: EmbeddedKafkaError, when it does not start, or a broker ends by itself.
    """
    users = _make_users(security_protocol)
    with _interrupts():
        try:
            with EmbeddedKafka(
                brokers,
                security_protocol=security_protocol,
                users=users,
                port=port,
                java=java,
            ) as kafka:
                for line in _describe(kafka, users):
                    show(line)
                never = threading.Event()
                while not never.wait(_CHECK_S):
                    kafka.check()
        except KeyboardInterrupt:
            show("stopped; its data is removed")
    return 0


def _make_users(security_protocol: str) -> dict[str, str]:
    if security_protocol != SASL_SSL:
        return {}
    return {DEFAULT_USER: secrets.token_urlsafe(_PASSWORD_BYTES)}


def _describe(kafka: EmbeddedKafka, users: Mapping[str, str]) -> Iterator[str]:
    """Say how to connect, in the words of conf/; writes the passwords' files."""
    yield f"bootstrap servers: {kafka.bootstrap_servers}"
    for name, password in users.items():
        password_path = kafka.folder / f"{name}.password"
        write_private(password_path, password)
        yield f"security protocol: {SASL_SSL}, {SCRAM_MECHANISM}"
        yield f"certificate (PEM): {kafka.ca_path}"
        yield f"user: {name}"
        yield f"password: file:{password_path}"
    yield f"log: {kafka.log_path}"


@contextmanager
def _interrupts() -> Iterator[None]:
    """Let SIGINT and SIGTERM both raise KeyboardInterrupt meanwhile.

    SIGINT too: a shell starts a background command with SIGINT ignored.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
