"""One [kafka] table, two dialects: librdkafka's names and the Java client's names.

Certificates reach Java as PEM text, not as paths: executors on other machines have
no such file. Of OAUTHBEARER Java has its endpoint's certificates, its client and what
goes beside a token among the options of its login module alone.
"""

from dataclasses import fields
from pathlib import Path

from pipelines.errors import InvalidSetting

from .cluster_settings import ClusterSettings
from .kafka_settings import KafkaSettings
from .listener_records import OAUTHBEARER
from .secret_references import SecretReader

SOURCE_OPTION_PREFIX = _KAFKA = "kafka."
CONTROLLER_PREFIX = "controller_"
JAVA_PACKAGE = "org.apache.kafka"
"""Of the classes of Kafka's Java client, where nobody has moved them."""
LOGIN_MODULES = {
    "PLAIN": f"{JAVA_PACKAGE}.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{JAVA_PACKAGE}.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{JAVA_PACKAGE}.common.security.scram.ScramLoginModule",
    OAUTHBEARER: f"{JAVA_PACKAGE}.common.security.oauthbearer.OAuthBearerLoginModule",
}
OIDC_LOGIN_HANDLER = (
    f"{JAVA_PACKAGE}.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
)
ALLOWED_ENDPOINTS_PROPERTY = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
"""Of a JVM: token endpoints that Java clients from Kafka 4.0 on may ask; to older ones
all are allowed where it is not set."""
ENDPOINT_URL = "sasl.oauthbearer.token.endpoint.url"
_NEEDED = {
    OAUTHBEARER: (
        "sasl_oauthbearer_token_endpoint_url",
        "sasl_oauthbearer_client_id",
    )
}
"""Keys beside the secret that a mechanism needs; the others need a name."""
EXTENSION_PREFIX = "extension_"


def controller_settings(cluster: ClusterSettings) -> KafkaSettings:
    """Return how the controllers are reached; their keys have CONTROLLER_PREFIX."""
    named = {
        one.name: getattr(cluster, CONTROLLER_PREFIX + one.name)
        for one in fields(KafkaSettings)
        if one.name != "bootstrap_servers"
    }
    return KafkaSettings(bootstrap_servers=cluster.controller_servers, **named)


def publisher_config(
    kafka: KafkaSettings, secrets: SecretReader, *, key_prefix: str = _KAFKA
) -> dict[str, str]:
    """Return the connection properties of a librdkafka client.

    Args:
        kafka: Where and how to connect.
        secrets: Reads passwords.
        key_prefix: How the keys of conf/ begin that it comes from.
    Errors: none as data; the values hold secrets and must not be logged.
    Raises: InvalidSetting, UnresolvedSecret.
    Source: librdkafka CONFIGURATION.md.
    """
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "security.protocol": kafka.security_protocol,
    }
    if _uses_sasl(kafka, key_prefix):
        config["sasl.mechanism"] = kafka.sasl_mechanism
        config |= (
            _oidc_config(kafka, secrets, key_prefix)
            if kafka.sasl_mechanism == OAUTHBEARER
            else {
                "sasl.username": kafka.sasl_username,
                "sasl.password": _read_secret(
                    kafka, secrets, key_prefix, "sasl_password"
                ),
            }
        )
    if _uses_ssl(kafka):
        algorithm = kafka.ssl_endpoint_identification_algorithm
        config["ssl.endpoint.identification.algorithm"] = algorithm
        config |= _set_only(
            {
                "ssl.ca.location": kafka.ssl_ca_location,
                "ssl.certificate.location": kafka.ssl_certificate_location,
                "ssl.key.location": kafka.ssl_key_location,
                "ssl.key.password": _read_key_password(kafka, secrets),
            }
        )
    return config


def spark_source_options(
    kafka: KafkaSettings, secrets: SecretReader, *, package: str = JAVA_PACKAGE
) -> dict[str, str]:
    """Return the connection options of Spark's Kafka source.

    Args:
        kafka: Where and how to connect.
        secrets: Reads passwords.
        package: Where that source has the classes of Kafka's Java client.
    Errors: none as data; the values hold secrets and must not be logged.
    Raises: InvalidSetting, UnresolvedSecret.
    Source: Spark, Structured Streaming + Kafka Integration Guide; Kafka, SslConfigs.
    """
    config = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "security.protocol": kafka.security_protocol,
    }
    if _uses_sasl(kafka):
        config["sasl.mechanism"] = kafka.sasl_mechanism
        module = LOGIN_MODULES[kafka.sasl_mechanism].replace(JAVA_PACKAGE, package)
        config["sasl.jaas.config"] = _jaas_config(module, kafka, secrets)
        if kafka.sasl_mechanism == OAUTHBEARER:
            config[ENDPOINT_URL] = kafka.sasl_oauthbearer_token_endpoint_url
            config["sasl.login.callback.handler.class"] = OIDC_LOGIN_HANDLER.replace(
                JAVA_PACKAGE, package
            )
    if _uses_ssl(kafka):
        config |= _java_ssl_config(kafka, secrets)
    return {f"{SOURCE_OPTION_PREFIX}{name}": value for name, value in config.items()}


def _uses_sasl(kafka: KafkaSettings, key_prefix: str = _KAFKA) -> bool:
    uses_sasl = kafka.security_protocol.startswith("SASL_")
    if uses_sasl and not kafka.sasl_mechanism:
        raise InvalidSetting(
            f"{key_prefix}security_protocol is {kafka.security_protocol}: it needs "
            f"{key_prefix}sasl_mechanism"
        )
    needed = _NEEDED.get(kafka.sasl_mechanism, ("sasl_username",))
    for name in needed if uses_sasl else ():
        if not getattr(kafka, name):
            raise InvalidSetting(
                f"{key_prefix}sasl_mechanism is {kafka.sasl_mechanism}: it needs "
                f"{key_prefix}{name}"
            )
    return uses_sasl


def _uses_ssl(kafka: KafkaSettings) -> bool:
    return kafka.security_protocol.endswith("SSL")


def _oidc_config(
    kafka: KafkaSettings, secrets: SecretReader, key_prefix: str
) -> dict[str, str]:
    return {
        "sasl.oauthbearer.method": "oidc",
        ENDPOINT_URL: kafka.sasl_oauthbearer_token_endpoint_url,
        "sasl.oauthbearer.client.id": kafka.sasl_oauthbearer_client_id,
        "sasl.oauthbearer.client.secret": _read_secret(
            kafka, secrets, key_prefix, "sasl_oauthbearer_client_secret"
        ),
        **_set_only(
            {
                "sasl.oauthbearer.scope": kafka.sasl_oauthbearer_scope,
                "sasl.oauthbearer.extensions": kafka.sasl_oauthbearer_extensions,
                "https.ca.location": kafka.https_ca_location,
            }
        ),
    }


def _read_secret(
    kafka: KafkaSettings, secrets: SecretReader, key_prefix: str, name: str
) -> str:
    reference = getattr(kafka, name)
    if reference is None:
        raise InvalidSetting(
            f"{key_prefix}sasl_mechanism is {kafka.sasl_mechanism}: it needs "
            f"{key_prefix}{name}, a reference to a secret"
        )
    return secrets.read(reference)


def _read_key_password(kafka: KafkaSettings, secrets: SecretReader) -> str:
    if kafka.ssl_key_password is None:
        return ""
    return secrets.read(kafka.ssl_key_password)


def _jaas_config(module: str, kafka: KafkaSettings, secrets: SecretReader) -> str:
    options = (
        _oidc_options(kafka, secrets)
        if kafka.sasl_mechanism == OAUTHBEARER
        else {
            "username": kafka.sasl_username,
            "password": _read_secret(kafka, secrets, _KAFKA, "sasl_password"),
        }
    )
    words = " ".join(f"{name}={_quote_jaas(value)}" for name, value in options.items())
    return f"{module} required {words};"


def _oidc_options(kafka: KafkaSettings, secrets: SecretReader) -> dict[str, str]:
    name = "sasl_oauthbearer_client_secret"
    options = {
        "clientId": kafka.sasl_oauthbearer_client_id,
        "clientSecret": _read_secret(kafka, secrets, _KAFKA, name),
        **_set_only({"scope": kafka.sasl_oauthbearer_scope}),
    }
    for pair in filter(None, kafka.sasl_oauthbearer_extensions.split(",")):
        extension, _, value = pair.partition("=")
        options[f"{EXTENSION_PREFIX}{extension}"] = value
    if kafka.https_ca_location:
        trusted = _read_pem("https_ca_location", kafka.https_ca_location)
        options["ssl.truststore.type"] = "PEM"
        options["ssl.truststore.certificates"] = trusted
    return options


def _quote_jaas(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n")
    return f'"{escaped}"'


def _java_ssl_config(kafka: KafkaSettings, secrets: SecretReader) -> dict[str, str]:
    algorithm = kafka.ssl_endpoint_identification_algorithm
    is_checked = algorithm != "none"
    config = {
        # Java switches the check off by an empty text.
        "ssl.endpoint.identification.algorithm": algorithm if is_checked else ""
    }
    if kafka.ssl_ca_location:
        config["ssl.truststore.type"] = "PEM"
        config["ssl.truststore.certificates"] = _read_pem(
            "ssl_ca_location", kafka.ssl_ca_location
        )
    if kafka.ssl_key_location:
        config["ssl.keystore.type"] = "PEM"
        config["ssl.keystore.key"] = _read_pem(
            "ssl_key_location", kafka.ssl_key_location
        )
        config["ssl.keystore.certificate.chain"] = _read_pem(
            "ssl_certificate_location", kafka.ssl_certificate_location
        )
        config |= _set_only({"ssl.key.password": _read_key_password(kafka, secrets)})
    return config


def _read_pem(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError as error:
        raise InvalidSetting(
            f"kafka.{name}: {path} cannot be read ({error.strerror})"
        ) from None
    except UnicodeDecodeError:
        raise InvalidSetting(f"kafka.{name}: {path} is not a PEM file") from None


def _set_only(config: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in config.items() if value}
