"""Which configs a broker reports (KIP-1326)."""

from collections import Counter

import pytest

from pipelines.settings import load_broker_configs
from udfs.cluster.broker_catalog import BrokerConfig, judge_name

CATALOG = load_broker_configs()


def test_of_360_keys_of_4_3_1_192_are_reported():
    counts = Counter(judge_name(name, CATALOG) for name in CATALOG)
    with_validator = [name for name, one in CATALOG.items() if one.has_validator]
    verdicts = [judge_name(name, CATALOG) for name in with_validator]
    assert len(CATALOG) == 360
    assert Counter(verdicts) == {"reported": 192, "never": 10}
    assert counts["reported"] == 192
    assert counts["password"] == 10
    assert counts["unknown_key"] == 0


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("log.segment.bytes", "reported"),
        ("log.dirs", "no_validator"),
        ("ssl.key.password", "password"),
        ("sasl.jaas.config", "password"),
        ("ssl.client.auth", "never"),
        ("security.inter.broker.protocol", "never"),
        ("authorizer.class.name", "never"),
        ("principal.builder.class", "never"),
        ("controller.quorum.voters", "never"),
        ("controller.quorum.bootstrap.servers", "never"),
        ("listener.name.x.ssl.keystore.location", "never"),
        ("a.sasl.b", "never"),
        ("x.classes", "never"),
        ("x.classes.a", "unknown_key"),
        ("xssl.a", "unknown_key"),
        ("ssl", "unknown_key"),
        ("", "unknown_key"),
        ("x.class\n", "unknown_key"),
        ("Log.Segment.Bytes", "unknown_key"),
    ],
)
def test_a_key_has_its_verdict(name, verdict):
    assert judge_name(name, CATALOG) == verdict


def test_a_validated_password_is_a_password_all_the_same():
    catalog = {"a": BrokerConfig(frozenset({"PASSWORD", "STRING"}), has_validator=True)}
    assert judge_name("a", catalog) == "password"


def test_an_empty_catalog_knows_nothing():
    verdicts = [judge_name(name, {}) for name in ("a", "a.class")]
    assert verdicts == ["unknown_key", "never"]
