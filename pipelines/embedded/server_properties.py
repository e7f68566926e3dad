"""The configuration of one embedded broker, as server.properties; computes only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .ports import LOOPBACK

PLAINTEXT = "PLAINTEXT"
SASL_SSL = "SASL_SSL"
SECURITY_PROTOCOLS = (PLAINTEXT, SASL_SSL)
SCRAM_MECHANISM = "SCRAM-SHA-512"
CONTROLLER_LISTENER = "CONTROLLER"
INTERNAL_LISTENER = "INTERNAL"
MAX_REPLICATION_FACTOR = 3
# Relative to the broker's folder, which is its working directory: a comma or a
# blank in the folder's name would otherwise end up in a list of folders.
LOG_DIR = "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerPorts:
    """Where one broker listens, all on loopback."""

    broker_id: int
    """Node id; the broker is a controller of the quorum too."""
    client: int
    """Listener of the clients."""
    controller: int
    """Listener of the quorum."""
    internal: int
    """Listener between brokers, never encrypted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keystore:
    """The throw-away certificate that brokers show to clients."""

    keystore_path: str
    """PKCS 12 file."""
    password: str
    """Password of that file, made for this cluster only."""


def server_properties(
    broker: BrokerPorts, cluster: Sequence[BrokerPorts], keystore: Keystore | None
) -> dict[str, str]:
    """Return the configuration of one broker; with a keystore clients use SASL_SSL."""
    voters = ",".join(f"{one.broker_id}@{LOOPBACK}:{one.controller}" for one in cluster)
    return {
        "process.roles": "broker,controller",
        "node.id": str(broker.broker_id),
        "controller.quorum.voters": voters,
        "controller.listener.names": CONTROLLER_LISTENER,
        "inter.broker.listener.name": INTERNAL_LISTENER,
        "log.dirs": LOG_DIR,
        **_listeners(broker, SASL_SSL if keystore else PLAINTEXT),
        **_replication(len(cluster)),
        **_QUICK,
        **(_security(keystore) if keystore else {}),
    }


def _listeners(broker: BrokerPorts, security_protocol: str) -> dict[str, str]:
    ports = {
        security_protocol: broker.client,
        INTERNAL_LISTENER: broker.internal,
        CONTROLLER_LISTENER: broker.controller,
    }
    protocols = {
        security_protocol: security_protocol,
        INTERNAL_LISTENER: PLAINTEXT,
        CONTROLLER_LISTENER: PLAINTEXT,
    }
    return {
        "listeners": ",".join(
            f"{name}://{LOOPBACK}:{port}" for name, port in ports.items()
        ),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in protocols.items()
        ),
    }


def _replication(broker_count: int) -> dict[str, str]:
    factor = str(min(broker_count, MAX_REPLICATION_FACTOR))
    in_sync = str(max(1, int(factor) - 1))
    return {
        "default.replication.factor": factor,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": in_sync,
    }


def _security(keystore: Keystore) -> dict[str, str]:
    prefix = f"listener.name.{SASL_SSL.lower()}."
    return {
        f"{prefix}ssl.keystore.type": "PKCS12",
        f"{prefix}ssl.keystore.location": keystore.keystore_path,
        f"{prefix}ssl.keystore.password": keystore.password,
        f"{prefix}sasl.enabled.mechanisms": SCRAM_MECHANISM,
        f"{prefix}{SCRAM_MECHANISM.lower()}.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
    }


# What a throw-away broker does differently from a stock one, and why.
_QUICK = {
    "num.partitions": "3",
    # A group is complete as soon as its first member has joined.
    "group.initial.rebalance.delay.ms": "0",
    # An answer of the controller does not wait for more records to write.
    "controller.quorum.append.linger.ms": "0",
    # Internal topics with the 50 partitions of a stock broker take seconds to make.
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    # The cleaner allocates this at once; the default is 128 MiB of heap.
    "log.cleaner.dedupe.buffer.size": "2097152",
    # A killed broker is taken for alive, and its successor refused, for so long
    # (stock: 9 s); several heartbeats still fit in.
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "500",
    "num.network.threads": "2",
    "num.io.threads": "4",
}


def to_properties_text(properties: Mapping[str, str]) -> str:
    """Write a Java properties file; Kafka reads it as ISO 8859-1 with escapes."""
    return "".join(
        f"{_escape(name)}={_escape(value)}\n" for name, value in properties.items()
    )


def _escape(text: str) -> str:
    escaped = []
    for unit in _utf16_units(text.replace("\\", "\\\\")):
        is_printable_ascii = 0x20 <= unit < 0x7F  # noqa: PLR2004 - space to tilde
        escaped.append(chr(unit) if is_printable_ascii else f"\\u{unit:04x}")
    return "".join(escaped)


def _utf16_units(text: str) -> list[int]:
    encoded = text.encode("utf-16-be")
    return [
        int.from_bytes(encoded[index : index + 2])
        for index in range(0, len(encoded), 2)
    ]
