"""Which configs a broker reports (KIP-1326)."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.settings import load_broker_configs
from udfs.cluster.broker_catalog import (
    NEVER_INFIXES,
    NEVER_KEYS,
    NEVER_PREFIXES,
    NEVER_SUFFIXES,
    BrokerConfig,
    judge_name,
)
from udfs.cluster.broker_configs import judge_reported

CATALOG = load_broker_configs()
PARTS = ("a", ".", "\n", "ssl", "class", *NEVER_PREFIXES, *NEVER_INFIXES)
NAMES = st.one_of(
    st.lists(st.sampled_from([*PARTS, *NEVER_SUFFIXES, *NEVER_KEYS]), max_size=4).map(
        "".join
    ),
    st.sampled_from(list(CATALOG)),
    st.text(max_size=8),
)


def test_of_360_keys_of_4_3_1_192_are_reported():
    names = pa.array(list(CATALOG))
    counts = Counter(judge_reported(names, CATALOG).to_pylist())
    with_validator = [name for name, one in CATALOG.items() if one.has_validator]
    verdicts = judge_reported(pa.array(with_validator), CATALOG).to_pylist()
    assert len(names) == 360
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
        (None, "unknown_key"),
    ],
)
def test_a_key_has_its_verdict(name, verdict):
    column = pa.array(["log.dirs", name, "log.dirs"], pa.string())
    assert judge_reported(column, CATALOG).to_pylist()[1] == verdict


@given(st.lists(NAMES, max_size=12))
def test_a_column_has_the_verdicts_of_its_names(names):
    expected = [judge_name(name, CATALOG) for name in names]
    assert judge_reported(pa.array(names, pa.string()), CATALOG).to_pylist() == expected


def test_a_validated_password_is_a_password_all_the_same():
    catalog = {"a": BrokerConfig(frozenset({"PASSWORD", "STRING"}), has_validator=True)}
    assert judge_reported(pa.array(["a"]), catalog).to_pylist() == ["password"]


def test_no_names_no_verdicts_and_dictionaries_are_taken():
    assert judge_reported(pa.array([], pa.string()), CATALOG).to_pylist() == []
    coded = pa.array(["log.dirs", None, "log.dirs"]).dictionary_encode()
    verdicts = judge_reported(coded, CATALOG)
    assert verdicts.type == pa.string()
    assert verdicts.to_pylist() == ["no_validator", "unknown_key", "no_validator"]


def test_an_empty_catalog_knows_nothing():
    verdicts = judge_reported(pa.array(["a", "a.class"]), {})
    assert verdicts.to_pylist() == ["unknown_key", "never"]
