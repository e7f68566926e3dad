"""How the feed of the cluster is set, and how it reaches the controllers."""

import pytest

from pipelines.errors import InvalidSetting
from pipelines.settings import load_settings
from pipelines.settings.kafka import (
    CONTROLLER_PREFIX,
    controller_settings,
    publisher_config,
)
from pipelines.settings.secret_references import SecretReader

SECRETS = SecretReader(environ={"WORD": "sesame"})
PREFIX = f"cluster.{CONTROLLER_PREFIX}"


def test_brokers_are_asked_unless_said_otherwise():
    cluster = load_settings("local").cluster
    assert (cluster.source, cluster.poll_ms, cluster.configs_poll_ms) == (
        "admin_api", 2000, 60_000,
    )  # fmt: skip
    assert cluster.full_set_ms == 3_600_000


def test_controllers_have_security_settings_of_their_own():
    cluster = load_settings(
        "local",
        [
            "cluster.controller_servers=c1:9093,c2:9093",
            "cluster.controller_security_protocol=SASL_SSL",
            "cluster.controller_sasl_mechanism=SCRAM-SHA-512",
            "cluster.controller_sasl_username=feed",
            "cluster.controller_sasl_password=env:WORD",
        ],
    ).cluster
    config = publisher_config(controller_settings(cluster), SECRETS, key_prefix=PREFIX)
    assert config == {
        "bootstrap.servers": "c1:9093,c2:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "feed",
        "sasl.password": "sesame",
        "ssl.endpoint.identification.algorithm": "https",
    }


def test_missing_user_of_the_controllers_is_named_by_its_key():
    cluster = load_settings(
        "local", ["cluster.controller_security_protocol=SASL_SSL"]
    ).cluster
    with pytest.raises(InvalidSetting, match=r"cluster\.controller_sasl_mechanism"):
        publisher_config(controller_settings(cluster), SECRETS, key_prefix=PREFIX)
