"""The steps of a start: folder, credentials, ports, and the wait for the brokers."""

import ssl
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import EmbeddedKafkaError

from .broker import Broker
from .certificates import CA_NAME, make_certificate
from .installation import Installation, make_bootstrap
from .ports import LOOPBACK, is_free_port, pick_free_ports
from .server_properties import BrokerPorts, Keystore

START_TIMEOUT_S = 60.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What the brokers of one cluster share."""

    bootstrap: bytes
    """Kafka's bootstrap checkpoint: features and SCRAM credentials."""
    keystore: Keystore | None = None
    """Certificate of the brokers; None without TLS."""
    tls: ssl.SSLContext | None = None
    """What a client trusts; None without TLS."""


def make_folder(given: Path | None) -> Path:
    """Return the folder of the cluster, empty and closed to other users."""
    if given is None:
        return Path(tempfile.mkdtemp(prefix="kafka-clientele-")).resolve()
    folder = given.resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise EmbeddedKafkaError(f"embedded Kafka: folder {folder} is not empty")
    return folder


def make_credentials(
    installation: Installation, folder: Path, users: Mapping[str, str]
) -> Credentials:
    """Make the bootstrap checkpoint and, with users, a certificate beside it."""
    if not users:
        return Credentials(bootstrap=make_bootstrap(installation, folder, {}))
    # Two JVMs side by side: neither needs the other's result.
    with ThreadPoolExecutor(max_workers=1) as pool:
        making = pool.submit(make_certificate, installation.java, folder)
        bootstrap = make_bootstrap(installation, folder, users)
        keystore = making.result()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.load_verify_locations(folder / CA_NAME)
    return Credentials(bootstrap=bootstrap, keystore=keystore, tls=tls)


def pick_cluster_ports(broker_ids: Sequence[int], port: int) -> list[BrokerPorts]:
    """Return ports for all brokers: the clients' as given, else free ones.

    Raises: EmbeddedKafkaError, naming the given port that is taken.
    """
    given = [port + index for index in range(len(broker_ids))] if port else []
    for one in given:
        if not is_free_port(one):
            raise EmbeddedKafkaError(
                f"embedded Kafka: port {one} on {LOOPBACK} is taken; choose another "
                "port, or 0 for a free one"
            )
    free = iter(pick_free_ports(3 * len(broker_ids), frozenset(given)))
    try:
        return [
            BrokerPorts(
                broker_id=broker_id,
                client=given[index] if given else next(free),
                controller=next(free),
                internal=next(free),
            )
            for index, broker_id in enumerate(broker_ids)
        ]
    except RuntimeError:
        raise EmbeddedKafkaError("embedded Kafka: no loopback port is free") from None


def wait_until_ready(
    brokers: Mapping[int, Broker], waited_for: Iterable[int], tls: ssl.SSLContext | None
) -> str | None:
    """Wait until each of these brokers serves and knows all that run.

    Returns: None when ready, else what went wrong, without the log.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    waiting = set(waited_for)
    running = frozenset(number for number, one in brokers.items() if one.is_running())
    while True:
        for number in sorted(waiting):
            if not brokers[number].is_running():
                return f"broker {number} ended with {brokers[number].exit_code}"
        waiting = {
            number
            for number in waiting
            if not brokers[number].is_ready(running | {number}, tls)
        }
        if not waiting:
            return None
        if time.monotonic() > deadline:
            late = ", ".join(map(str, sorted(waiting)))
            return f"broker {late} was not ready after {START_TIMEOUT_S:.0f} s"
        time.sleep(_POLL_S)
