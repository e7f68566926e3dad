"""The keys of conf/ about who may connect, how, and how much of it."""

from dataclasses import dataclass

from .keys import MAX_INT32, MAX_PORT, key
from .secret_references import SecretReference

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
OAUTHBEARER = "OAUTHBEARER"
SASL_MECHANISMS = ("PLAIN", *SCRAM_MECHANISMS, OAUTHBEARER)
SIGNATURE_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Signatures by a key pair; never `none`, never a shared secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """One address that clients connect to; any stands for all bridge.listen_* keys."""

    name: str = key("Name of the listener in the records; one of its kind.")
    host: str = key("Address to listen on.", default="127.0.0.1")
    port: int = key("Port to listen on; 0 takes a free one.", high=MAX_PORT)
    advertised_host: str = key("Host that clients are told; empty: host.", default="")
    advertised_port: int = key(
        "Port that clients are told; 0: the one listened on.", high=MAX_PORT, default=0
    )
    security_protocol: str = key(
        "What clients must speak.", choices=SECURITY_PROTOCOLS, default="PLAINTEXT"
    )
    ssl_certificate_location: str = key(
        "PEM file of the certificate chain, our own first.", default=""
    )
    ssl_key_location: str = key("PEM file of the private key.", default="")
    ssl_key_password: SecretReference | None = key(
        "Reference to the key's password.", default=""
    )
    ssl_ca_location: str = key(
        "PEM file of the authorities that client certificates must come from.",
        default="",
    )
    ssl_client_auth: str = key(
        "Whether clients show a certificate.",
        choices=("none", "requested", "required"),
        default="none",
    )
    ssl_principal_mapping_rules: str = key(
        "A certificate's subject to a principal, in Kafka's words.", default="DEFAULT"
    )
    sasl_mechanisms: tuple[str, ...] = key(
        "SASL mechanisms offered.", choices=SASL_MECHANISMS, default=[]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationSettings:
    """What credentials of clients are checked against."""

    credentials_location: str = key(
        "File of SCRAM verifiers (salt, iterations, stored key, server key; no "
        "passwords), one a line, as scram-credential makes it. For PLAIN and SCRAM.",
        default="",
    )
    oauth_jwks_location: str = key(
        "File or https URL of the keys that sign tokens (JWKS). For OAUTHBEARER, as is "
        "all below.",
        default="",
    )
    oauth_jwks_ca_location: str = key(
        "PEM file of the authorities of that URL; empty: the host's own.",
        default="",
    )
    oauth_jwks_refresh_ms: int = key(
        "How often the keys of a URL are asked for again. Kafka's default.",
        unit="ms",
        low=1_000,
        default=3_600_000,
    )
    oauth_issuer: str = key(
        "The issuer (iss) that tokens must name.",
        default="",
    )
    oauth_audience: str = key(
        "The audience (aud) that tokens must name.",
        default="",
    )
    oauth_algorithms: tuple[str, ...] = key(
        "Signatures that tokens may have; none is never one of them, nor a shared "
        "secret.",
        choices=SIGNATURE_ALGORITHMS,
        default=["RS256", "ES256"],
    )
    oauth_principal_claim: str = key(
        "The claim that names the principal. With the proxy, it must be the same as "
        "sasl.oauthbearer.sub.claim.name of the brokers.",
        default="sub",
    )
    oauth_clock_skew_ms: int = key(
        "How far the clocks of issuer and bridge may differ. Kafka's default.",
        unit="ms",
        high=600_000,
        default=30_000,
    )
    max_reauth_ms: int = key(
        "Longest session before a SASL client must authenticate again; 0: when its "
        "token ends. Kafka's connections.max.reauth.ms.",
        unit="ms",
        default=0,
    )
    failed_delay_ms: int = key(
        "How long a failed authentication waits for its answer. Kafka's "
        "connection.failed.authentication.delay.ms.",
        unit="ms",
        high=10_000,
        default=100,
    )
    reload_interval_ms: int = key(
        "Time between two looks at certificate and credential files.",
        unit="ms",
        low=100,
        default=5000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """How much of the bridge its clients, and strangers, may take."""

    max_connections: int = key(
        "Connections in all.",
        low=1,
        high=1_000_000,
        default=20_000,
    )
    max_connections_per_address: int = key(
        "Connections from one address; 0: no limit. Raise it behind a load balancer, "
        "whose address all clients share.",
        default=5000,
    )
    max_unauthenticated_connections: int = key(
        "Connections in TLS or SASL handshakes; beyond, the oldest of them is closed.",
        low=1,
        default=2000,
    )
    max_unauthenticated_request_bytes: int = key(
        "Largest request before authentication. Kafka's sasl.server.max.receive.size.",
        unit="bytes",
        low=1_024,
        high=MAX_INT32,
        default=524_288,
    )
    max_buffered_request_bytes: int = key(
        "Requests half received, over all connections; beyond, the connection whose "
        "request began first is closed.",
        unit="bytes",
        low=1_024,
        default=268_435_456,
    )
    handshake_timeout_ms: int = key(
        "Longest TLS and SASL handshake, and re-authentication.",
        unit="ms",
        low=1,
        default=30_000,
    )
    request_timeout_ms: int = key(
        "Longest time in which a request that has begun must be whole.",
        unit="ms",
        low=1,
        default=30_000,
    )
    write_timeout_ms: int = key(
        "Longest time that a client may leave replies unread.",
        unit="ms",
        low=1,
        default=30_000,
    )
    idle_timeout_ms: int = key(
        "Longest silence of a client, as Kafka's connections.max.idle.ms. The longest "
        "push interval is 5 minutes, and a first push comes after up to 1.5 intervals, "
        "so that clients which only push are never idle for so long.",
        unit="ms",
        low=1,
        default=600_000,
    )
