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
        "File of SCRAM verifiers, for PLAIN and SCRAM; see scram-credential."
    )
    oauth_jwks_location: str = key(
        "File, or https URL, of the keys that sign tokens (JWKS)."
    )
    oauth_jwks_ca_location: str = key(
        "PEM file of authorities of that URL; empty: the host's."
    )
    oauth_jwks_refresh_ms: int = key(
        "How often the keys of a URL are asked for again.", unit="ms", low=1_000
    )
    oauth_issuer: str = key("The issuer (iss) that tokens must name.")
    oauth_audience: str = key("The audience (aud) that tokens must name.")
    oauth_algorithms: tuple[str, ...] = key(
        "Signatures that tokens may have.", choices=SIGNATURE_ALGORITHMS
    )
    oauth_principal_claim: str = key("The claim that names the principal.")
    oauth_clock_skew_ms: int = key(
        "How far the clocks of issuer and bridge may differ.", unit="ms", high=600_000
    )
    max_reauth_ms: int = key(
        "Longest session before a client must authenticate again; 0: no limit but "
        "the token's own.",
        unit="ms",
    )
    failed_delay_ms: int = key(
        "How long a failed authentication waits for its answer.",
        unit="ms",
        high=10_000,
    )
    reload_interval_ms: int = key(
        "How often certificate and credential files are looked at.",
        unit="ms",
        low=100,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """How much of the bridge its clients, and strangers, may take."""

    max_connections: int = key("Connections in all.", low=1, high=1_000_000)
    max_connections_per_address: int = key("Connections from one address; 0: no limit.")
    max_unauthenticated_connections: int = key(
        "Connections in TLS or SASL handshakes; beyond, the oldest is closed.", low=1
    )
    max_unauthenticated_request_bytes: int = key(
        "Largest request before authentication.",
        unit="bytes",
        low=1_024,
        high=MAX_INT32,
    )
    max_buffered_request_bytes: int = key(
        "Bytes of requests half received, over all connections; beyond, the one "
        "begun first is closed.",
        unit="bytes",
        low=1_024,
    )
    handshake_timeout_ms: int = key(
        "Longest TLS and SASL handshake, and re-authentication.", unit="ms", low=1
    )
    request_timeout_ms: int = key(
        "Longest time in which a request that has begun must be whole.",
        unit="ms",
        low=1,
    )
    write_timeout_ms: int = key(
        "Longest time that a client may leave replies unread.", unit="ms", low=1
    )
    idle_timeout_ms: int = key(
        "Longest silence of a client; above 1.5 times the longest push interval.",
        unit="ms",
        low=1,
    )
