"""The keys of [proxy]: how clients reach the brokers through the bridge."""

from collections.abc import Mapping
from dataclasses import dataclass

from .keys import MAX_PORT, key
from .secret_references import SecretReference


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """The ports in front of a cluster: one for all brokers, and one for each."""

    enabled: bool = key("Whether clients can use the cluster through the bridge.")
    listener: str = key("Name of these ports in the records.")
    listen_host: str = key("Address to listen on.")
    advertised_host: str = key("Host that clients are told; empty: listen_host.")
    base_port: int = key(
        "The port for bootstrap.servers. A broker's is this and its node id, broker "
        "0's the one before; 0 takes free ones.",
        high=MAX_PORT,
    )
    ports: Mapping[str, str] = key(
        "Ports of single brokers: node id to port, which stands before base_port."
    )
    metadata_poll_ms: int = key(
        "Time between two looks at which brokers there are.",
        unit="ms",
        low=100,
        high=60_000,
    )
    telemetry: str = key(
        "Who takes telemetry: the bridge (serve), or brokers that do so themselves "
        "(relay).",
        choices=("serve", "relay"),
    )
    telemetry_answer_ms: int = key(
        "Longest time that data waits for the answer to a push before it.",
        unit="ms",
        low=1,
        high=10_000,
    )
    keep_alive_interval_ms: int = key(
        "Longest time that a broker hears nothing of a client whose telemetry the "
        "bridge takes.",
        unit="ms",
        low=100,
        high=3_600_000,
    )
    upstream_identity: str = key(
        "Set shared where brokers see the bridge's certificate instead of those of "
        "its clients.",
        choices=("", "shared"),
    )
    ssl_certificate_location: str = key(
        "PEM file of the certificate chain shown to clients; empty: no TLS."
    )
    ssl_key_location: str = key("PEM file of its private key.")
    ssl_key_password: SecretReference | None = key("Reference to the key's password.")
    ssl_ca_location: str = key(
        "PEM file of the authorities that client certificates must come from."
    )
    ssl_client_auth: str = key(
        "Whether clients show a certificate.", choices=("none", "requested", "required")
    )
    ssl_principal_mapping_rules: str = key(
        "A certificate's subject to a principal, in Kafka's words."
    )
    wire_configs: bool = key(
        "Whether what clients' requests show of their configuration is published."
    )
    wire_configs_interval_ms: int = key(
        "Shortest time between two records of one client's connection.",
        unit="ms",
        low=10,
        high=3_600_000,
    )
    wire_configs_sample_requests: int = key(
        "Requests of one API, at most, between two that are looked at.",
        low=1,
        high=1_000_000,
    )
    proxy_protocol_networks: tuple[str, ...] = key(
        "Networks of load balancers that send a header of PROXY protocol 2."
    )
