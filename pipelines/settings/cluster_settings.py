"""The keys of conf/ about the feed of the clients' cluster."""

from dataclasses import dataclass

from pipelines.kafka_client.login import MECHANISMS

from .keys import key
from .secret_references import SecretReference

ADMIN_API, METADATA_LOG, OFF = "admin_api", "metadata_log", "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """What is told of the clients' cluster: brokers, configs, subscriptions, quotas.

    It goes to topics.cluster in [kafka]. One of all bridges feeds it.
    """

    source: str = key(
        "Who is asked: the brokers (admin_api), which needs DESCRIBE_CONFIGS on the "
        "cluster; the controllers' log (metadata_log), which needs CLUSTER_ACTION, a "
        "right that lets its owner act as a broker; or nobody (off).",
        choices=(ADMIN_API, METADATA_LOG, OFF),
        default=ADMIN_API,
    )
    poll_ms: int = key(
        "Time between two looks of admin_api at brokers, quotas, subscriptions and "
        "dynamic configs.",
        unit="ms",
        low=100,
        high=3_600_000,
        default=2000,
    )
    configs_poll_ms: int = key(
        "Time between two looks of admin_api at all configs of a broker, static ones "
        "included; it is also looked at when what is in force changes, and when it is "
        "new, comes back or moves.",
        unit="ms",
        low=100,
        high=86_400_000,
        default=60_000,
    )
    full_set_ms: int = key(
        "Time between two full sets, of which each says all that is so; one is "
        "published at each start of a feed. A topic must keep its records for longer.",
        unit="ms",
        low=1000,
        high=604_800_000,
        default=3_600_000,
    )
    controller_servers: str = key(
        "Listeners of all controllers, as host:port,host:port, for metadata_log.",
        default="",
    )
    controller_security_protocol: str = key(
        "How to connect to controllers.",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        default="PLAINTEXT",
    )
    controller_sasl_mechanism: str = key(
        "SASL mechanism of the controllers; empty without SASL.",
        choices=("", *MECHANISMS),
        default="",
    )
    controller_sasl_username: str = key(
        "SASL user name for the controllers; empty without SASL, and for OAUTHBEARER.",
        default="",
    )
    controller_sasl_password: SecretReference | None = key(
        "Reference to that user's password: env:NAME, file:PATH or scope/key. Never "
        "the password.",
        default="",
    )
    controller_sasl_oauthbearer_token_endpoint_url: str = key(
        "OIDC token endpoint, an http or https URL, for OAUTHBEARER at controllers.",
        default="",
    )
    controller_sasl_oauthbearer_client_id: str = key(
        "Id of the client that asks there.",
        default="",
    )
    controller_sasl_oauthbearer_client_secret: SecretReference | None = key(
        "Reference to that client's secret: env:NAME, file:PATH or scope/key. Never "
        "the secret.",
        default="",
    )
    controller_sasl_oauthbearer_scope: str = key(
        "Scope to ask for; empty: the issuer's own choice.",
        default="",
    )
    controller_sasl_oauthbearer_extensions: str = key(
        "SASL extensions that controllers are told beside each token, as "
        "name=value,name=value.",
        default="",
    )
    controller_https_ca_location: str = key(
        "PEM file of certificates trusted for that token endpoint; empty: the host's "
        "own.",
        default="",
    )
    controller_ssl_ca_location: str = key(
        "PEM file of certificates trusted for controllers; empty: the host's own.",
        default="",
    )
    controller_ssl_certificate_location: str = key(
        "PEM file of our certificate chain for controllers, for mTLS.",
        default="",
    )
    controller_ssl_key_location: str = key(
        "PEM file of our private key for controllers (PKCS 8), for mTLS.",
        default="",
    )
    controller_ssl_key_password: SecretReference | None = key(
        "Reference to the password of that key.",
        default="",
    )
    controller_ssl_endpoint_identification_algorithm: str = key(
        "https: the controller's name must stand in its certificate; none: it need "
        "not.",
        choices=("https", "none"),
        default="https",
    )
