"""The keys of [proxy]: how clients reach the brokers through the bridge."""

from collections.abc import Mapping
from dataclasses import dataclass

from .keys import MAX_PORT, key
from .secret_references import SecretReference


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Clients use the cluster through the bridge.

    One port for each broker, one connection to the broker for each of theirs. Data
    passes as it is; telemetry is taken here.
    """

    enabled: bool = key(
        "Whether clients can use the cluster through the bridge.",
        default=False,
    )
    listener: str = key(
        "Name of these ports in the records that the bridge writes.",
        default="PROXY",
    )
    listen_host: str = key(
        "Address to listen on.",
        default="127.0.0.1",
    )
    advertised_host: str = key(
        "Host that clients are told instead of the brokers' hosts; empty: listen_host.",
        default="",
    )
    base_port: int = key(
        "The port that stands in bootstrap.servers. That of a broker is this number "
        "and its node id, that of broker 0 the one before this; 0 takes free ones.",
        high=MAX_PORT,
        default=9292,
    )
    ports: Mapping[str, str] = key(
        'Ports of single brokers, node id to port, where those are to be others: { "7" '
        '= "19100" }.',
        default={},
    )
    metadata_poll_ms: int = key(
        "Time between two looks at which brokers there are.",
        unit="ms",
        low=100,
        high=60_000,
        default=2000,
    )
    max_buffered_response_bytes: int = key(
        "Memory for ShareFetch responses, which the proxy holds until they are "
        "complete and sent; per worker. Above this limit, the proxy stops reading "
        "more of them from brokers. A single larger response still passes.",
        unit="bytes",
        low=1_024,
        default=134_217_728,
    )
    telemetry: str = key(
        "serve: the bridge takes telemetry. relay: brokers do, as they have a receiver "
        "of their own; the bridge passes it on.",
        choices=("serve", "relay"),
        default="serve",
    )
    telemetry_answer_ms: int = key(
        "Longest time that data waits for the answer to a push before it on the same "
        "connection. A push that takes longer is answered as throttled, and kept if "
        "Kafka takes it after all.",
        unit="ms",
        low=1,
        high=10_000,
        default=100,
    )
    keep_alive_interval_ms: int = key(
        "Longest time that a broker hears nothing of a client that only pushes "
        "telemetry, which the bridge answers: then it is asked, in the client's name, "
        "for Metadata without topics. Must be shorter than connections.max.idle.ms of "
        "the brokers, and of what stands between; clients that do nothing at all are "
        "left to that.",
        unit="ms",
        low=100,
        high=3_600_000,
        default=30_000,
    )
    upstream_identity: str = key(
        "shared: brokers see the certificate of [upstream] instead of those of the "
        "clients, for a certificate cannot be passed on. Their ACLs and quotas then "
        "count for the bridge, so that without this word neither certificate is used.",
        choices=("", "shared"),
        default="",
    )
    allow_plaintext_sasl: bool = key(
        "Start without TLS for clients, although brokers require SASL over TLS: "
        "clients then send PLAIN passwords and tokens in clear text.",
        default=False,
    )
    ssl_certificate_location: str = key(
        "PEM file of the certificate chain shown to clients; empty: they speak no TLS.",
        default="",
    )
    ssl_key_location: str = key(
        "PEM file of its private key.",
        default="",
    )
    ssl_key_password: SecretReference | None = key(
        "Reference to the password of that key.",
        default="",
    )
    ssl_ca_location: str = key(
        "PEM file of the authorities that client certificates must come from.",
        default="",
    )
    ssl_client_auth: str = key(
        "Whether clients show a certificate: none, requested or required.",
        choices=("none", "requested", "required"),
        default="none",
    )
    ssl_principal_mapping_rules: str = key(
        "A certificate's subject to a principal, in Kafka's words.",
        default="DEFAULT",
    )
    wire_configs: bool = key(
        "Whether what clients' requests show of their configuration is published: "
        "acks, codec, timeouts, groups and the like, of every client and without its "
        "help.",
        default=False,
    )
    wire_configs_interval_ms: int = key(
        "Shortest time between two records of one connection.",
        unit="ms",
        low=10,
        high=3_600_000,
        default=1000,
    )
    wire_configs_sample_requests: int = key(
        "Requests of one API, at most, between two that are looked at; the first ones "
        "of a connection are nearer to each other.",
        low=1,
        high=1_000_000,
        default=256,
    )
    traffic_interval_ms: int = key(
        "Time that each record of what a client produces and fetches is about; 0: "
        "nothing is counted. Bridges in front of one cluster have the same.",
        unit="ms",
        low=0,
        high=3_600_000,
        default=60_000,
    )
    proxy_protocol_networks: tuple[str, ...] = key(
        'Addresses or networks ("10.0.0.0/8") of load balancers. Connections from '
        "there begin with a header of PROXY protocol 2, which names the client's "
        "address.",
        default=[],
    )
