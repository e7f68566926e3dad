"""The keys of conf/ about how a Kafka is reached: that of the product, and clients'."""

from dataclasses import dataclass

from pipelines.kafka_client.login import MECHANISMS

from .keys import key
from .secret_references import SecretReference


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSettings:
    """The Kafka that holds the topics of the product."""

    bootstrap_servers: str = key(
        "Brokers, as host:port,host:port.",
        default="127.0.0.1:9092",
    )
    security_protocol: str = key(
        "How to connect.",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        default="PLAINTEXT",
    )
    sasl_mechanism: str = key(
        "SASL mechanism; empty without SASL.",
        choices=("", *MECHANISMS),
        default="",
    )
    sasl_username: str = key(
        "SASL user name; empty without SASL, and for OAUTHBEARER.",
        default="",
    )
    sasl_password: SecretReference | None = key(
        "Reference to the SASL password: env:NAME, file:PATH or scope/key. Never the "
        "password.",
        default="",
    )
    sasl_oauthbearer_token_endpoint_url: str = key(
        "OIDC token endpoint, an http or https URL, for OAUTHBEARER: tokens are asked "
        "there as by a client with credentials of its own (client_credentials).",
        default="",
    )
    sasl_oauthbearer_client_id: str = key(
        "Id of that client.",
        default="",
    )
    sasl_oauthbearer_client_secret: SecretReference | None = key(
        "Reference to that client's secret: env:NAME, file:PATH or scope/key. Never "
        "the secret.",
        default="",
    )
    sasl_oauthbearer_scope: str = key(
        "Scope to ask for; empty: the issuer's own choice.",
        default="",
    )
    sasl_oauthbearer_extensions: str = key(
        "SASL extensions that brokers are told beside each token, as "
        "name=value,name=value.",
        default="",
    )
    https_ca_location: str = key(
        "PEM file of certificates trusted for the token endpoint; empty: the host's "
        "own.",
        default="",
    )
    ssl_ca_location: str = key(
        "PEM file of trusted certificates; empty: the host's own.",
        default="",
    )
    ssl_certificate_location: str = key(
        "PEM file of our certificate chain, for mTLS.",
        default="",
    )
    ssl_key_location: str = key(
        "PEM file of our private key (PKCS 8), for mTLS.",
        default="",
    )
    ssl_key_password: SecretReference | None = key(
        "Reference to the password of that key.",
        default="",
    )
    ssl_endpoint_identification_algorithm: str = key(
        "https: the broker's name must stand in its certificate; none: it need not.",
        choices=("https", "none"),
        default="https",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSettings(KafkaSettings):
    """The cluster that clients use.

    The proxy stands in front of it, and its client-metrics subscriptions are followed.
    """

    bootstrap_servers: str = key(
        "Brokers, as host:port,host:port. Empty: the cluster of [kafka], with all its "
        "keys.",
        default="",
    )
    sasl_username: str = key(
        "SASL user name of the bridge itself, which asks for the brokers; clients have "
        "their own. Empty without SASL.",
        default="",
    )
    ssl_certificate_location: str = key(
        "PEM file of our certificate chain, for mTLS; see proxy.upstream_identity.",
        default="",
    )
