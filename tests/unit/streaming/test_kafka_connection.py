"""One [kafka] table becomes librdkafka's names and Java's names."""

import pytest

from pipelines.errors import InvalidSetting
from pipelines.settings import load_settings
from pipelines.settings.kafka import (
    LOGIN_MODULES,
    OIDC_LOGIN_HANDLER,
    publisher_config,
    spark_source_options,
)
from pipelines.settings.secret_references import SecretReader

SECRETS = SecretReader(environ={"PASSWORD": 'pa"ss\\word'})
SASL_SSL = [
    "kafka.bootstrap_servers=broker:9093",
    "kafka.security_protocol=SASL_SSL",
    "kafka.sasl_mechanism=SCRAM-SHA-512",
    "kafka.sasl_username=clientele",
    "kafka.sasl_password=env:PASSWORD",
]


def make_kafka(*overrides):
    return load_settings("local", overrides).kafka


def test_plaintext_has_addresses_and_nothing_else():
    kafka = make_kafka("kafka.bootstrap_servers=broker:9092")
    assert publisher_config(kafka, SECRETS) == {
        "bootstrap.servers": "broker:9092",
        "security.protocol": "PLAINTEXT",
    }
    assert spark_source_options(kafka, SECRETS) == {
        "kafka.bootstrap.servers": "broker:9092",
        "kafka.security.protocol": "PLAINTEXT",
    }


def test_sasl_ssl_is_said_in_both_dialects(tmp_path):
    ca = tmp_path / "ca.pem"
    ca.write_text("certificate")
    kafka = make_kafka(*SASL_SSL, f"kafka.ssl_ca_location={ca}")
    assert publisher_config(kafka, SECRETS) == {
        "bootstrap.servers": "broker:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "clientele",
        "sasl.password": 'pa"ss\\word',
        "ssl.endpoint.identification.algorithm": "https",
        "ssl.ca.location": str(ca),
    }
    assert spark_source_options(kafka, SECRETS) == {
        "kafka.bootstrap.servers": "broker:9093",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required "
            'username="clientele" password="pa\\"ss\\\\word";'
        ),
        "kafka.ssl.endpoint.identification.algorithm": "https",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": "certificate",
    }


def test_mutual_tls_is_said_in_both_dialects(tmp_path):
    for name in ("ca", "chain", "key"):
        (tmp_path / name).write_text(name)
    kafka = make_kafka(
        "kafka.security_protocol=SSL",
        f"kafka.ssl_ca_location={tmp_path}/ca",
        f"kafka.ssl_certificate_location={tmp_path}/chain",
        f"kafka.ssl_key_location={tmp_path}/key",
        "kafka.ssl_key_password=env:PASSWORD",
        "kafka.ssl_endpoint_identification_algorithm=none",
    )
    publisher = publisher_config(kafka, SECRETS)
    assert publisher["ssl.key.location"] == f"{tmp_path}/key"
    assert publisher["ssl.key.password"] == SECRETS.environ["PASSWORD"]
    assert publisher["ssl.endpoint.identification.algorithm"] == "none"
    source = spark_source_options(kafka, SECRETS)
    assert source["kafka.ssl.keystore.key"] == "key"
    assert source["kafka.ssl.keystore.certificate.chain"] == "chain"
    assert source["kafka.ssl.key.password"] == SECRETS.environ["PASSWORD"]
    assert source["kafka.ssl.endpoint.identification.algorithm"] == ""


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ([*SASL_SSL, "kafka.sasl_password="], "kafka.sasl_password"),
        ([*SASL_SSL, "kafka.sasl_mechanism="], "kafka.sasl_mechanism"),
        ([*SASL_SSL, "kafka.ssl_ca_location=/none"], "kafka.ssl_ca_location"),
    ],
)
def test_what_is_missing_is_named(overrides, key):
    with pytest.raises(InvalidSetting, match=key):
        spark_source_options(make_kafka(*overrides), SECRETS)


OIDC = [
    "kafka.security_protocol=SASL_PLAINTEXT",
    "kafka.sasl_mechanism=OAUTHBEARER",
    "kafka.sasl_oauthbearer_token_endpoint_url=https://issuer/token",
    "kafka.sasl_oauthbearer_client_id=me",
    "kafka.sasl_oauthbearer_client_secret=env:PASSWORD",
]


def test_a_token_endpoint_is_said_in_both_dialects(tmp_path):
    ca = tmp_path / "ca.pem"
    ca.write_text("two\nlines\n")
    kafka = make_kafka(
        *OIDC,
        "kafka.sasl_oauthbearer_scope=topics",
        "kafka.sasl_oauthbearer_extensions=logicalCluster=lkc-1,pool=p",
        f"kafka.https_ca_location={ca}",
    )
    publisher = publisher_config(kafka, SECRETS)
    assert publisher.pop("bootstrap.servers")
    assert publisher == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://issuer/token",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": 'pa"ss\\word',
        "sasl.oauthbearer.scope": "topics",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,pool=p",
        "https.ca.location": str(ca),
    }
    source = spark_source_options(kafka, SECRETS)
    assert source.pop("kafka.bootstrap.servers")
    assert source == {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "OAUTHBEARER",
        "kafka.sasl.oauthbearer.token.endpoint.url": "https://issuer/token",
        "kafka.sasl.login.callback.handler.class": OIDC_LOGIN_HANDLER,
        "kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule "
            'required clientId="me" clientSecret="pa\\"ss\\\\word" scope="topics" '
            'extension_logicalCluster="lkc-1" extension_pool="p" '
            'ssl.truststore.type="PEM" '
            'ssl.truststore.certificates="two\\nlines\\n";'
        ),
    }


@pytest.mark.parametrize("mechanism", LOGIN_MODULES)
def test_classes_are_named_where_the_source_has_them(mechanism):
    kafka = make_kafka(
        *OIDC,
        f"kafka.sasl_mechanism={mechanism}",
        "kafka.sasl_username=me",
        "kafka.sasl_password=env:PASSWORD",
    )
    moved = spark_source_options(kafka, SECRETS, package="moved.org.apache.kafka")
    told = [value for value in moved.values() if "org.apache.kafka" in value]
    assert len(told) == (2 if mechanism == "OAUTHBEARER" else 1)
    assert all(value.startswith("moved.org.apache.kafka.common.") for value in told)
    plain = spark_source_options(kafka, SECRETS)
    assert {k: v.removeprefix("moved.") for k, v in moved.items()} == plain


@pytest.mark.parametrize("name", ["token_endpoint_url", "client_id", "client_secret"])
def test_what_a_token_needs_is_named(name):
    key = f"kafka.sasl_oauthbearer_{name}"
    kafka = make_kafka(*OIDC, f"{key}=")
    told = f"^kafka.sasl_mechanism is OAUTHBEARER: it needs {key}"
    with pytest.raises(InvalidSetting, match=told):
        publisher_config(kafka, SECRETS)
    with pytest.raises(InvalidSetting, match=told):
        spark_source_options(kafka, SECRETS)
