"""A job says in one sentence why it has no token; without one it asks nobody."""

import socket

import pytest

from pipelines.errors import InvalidSetting, MissingService
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.logins import check_token
from tests.support.kafka.token_server import CLIENT_ID, TokenServer

SECRETS = SecretReader(environ={"SECRET": "hunter2"})
# Whom it asks before all else, so no JVM is met.
NO_SPARK = None


def make_kafka(url, *more):
    return load_settings(
        "local",
        [
            "kafka.bootstrap_servers=broker:9093",
            "kafka.security_protocol=SASL_PLAINTEXT",
            "kafka.sasl_mechanism=OAUTHBEARER",
            f"kafka.sasl_oauthbearer_token_endpoint_url={url}",
            f"kafka.sasl_oauthbearer_client_id={CLIENT_ID}",
            "kafka.sasl_oauthbearer_client_secret=env:SECRET",
            *more,
        ],
    ).kafka


def test_other_mechanisms_ask_no_endpoint():
    check_token(NO_SPARK, load_settings("local").kafka, SECRETS)
    scram = make_kafka("none", "kafka.sasl_mechanism=SCRAM-SHA-512")
    check_token(NO_SPARK, scram, SECRETS)


def test_a_refusal_of_the_endpoint_is_told(tmp_path):
    told = (
        r"^there is no login to Kafka at broker:9093: the token endpoint \S+ refuses "
        r"the client \(invalid_client\): check its id, its secret and its scope; "
        r"nothing was read, and the same command goes on once"
    )
    with (
        TokenServer(tmp_path) as issuer,
        pytest.raises(MissingService, match=told) as caught,
    ):
        check_token(NO_SPARK, make_kafka(issuer.url), SECRETS)
    assert "hunter2" not in str(caught.value)


def test_an_endpoint_that_is_away_is_told():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/token"
    with pytest.raises(
        MissingService, match=rf"{url} does not answer \(Connection ref"
    ):
        check_token(NO_SPARK, make_kafka(url), SECRETS)


def test_an_endpoint_that_can_be_none_is_named_by_its_key():
    told = r"^kafka\.sasl_oauthbearer_token_endpoint_url: must be an http or https URL"
    with pytest.raises(InvalidSetting, match=told):
        check_token(NO_SPARK, make_kafka("issuer/token"), SECRETS)
