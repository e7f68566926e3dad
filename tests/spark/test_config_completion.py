"""What defaults complete: configs by any of their names, and of whom nothing is said."""

import pytest

from pipelines.reading import views
from pipelines.reading.views.client_config_views import ENTRIES
from pipelines.reading.views.view_names import find_names_in
from pipelines.settings import load_settings
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from tests.support.spark.config_rows import JAVA, held, hours, instance
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows
from udfs.configs.key_lists import NOT_OF_SHARE_CONSUMERS

PYTHON = {
    "client_software_name": "confluent-kafka-python",
    "client_software_version": "2.16.1-librdkafka-2.15.0",
}
OLD = JAVA | {"client_software_version": "4.2.0"}
GROUPS = (
    ("acks", "request.required.acks"),
    ("linger.ms", "queue.buffering.max.ms"),
    ("buffer.memory", "queue.buffering.max.kbytes"),
    ("retries", "message.send.max.retries"),
)
"""Names of the same config: Java's, which librdkafka knows or the client library sends,
and librdkafka's own."""


def default(software, key, value, **fields):
    known = {"client_type": "producer", "config_key": key, "default_value": value}
    return software | known | {"config_type": "STRING"} | fields


@pytest.fixture(scope="module")
def found(spark, tmp_path_factory):
    """Client instance to key to (value, source)."""
    settings = load_settings(
        "base", [f"tables.root_path={tmp_path_factory.mktemp('t')}"]
    )
    make_tables(spark, settings.tables, CLIENT_CONFIG_CONTRACTS)
    own = {"batch.size": held("1", "INT")}
    typeless = {"client_type": None}
    share = {"client_type": "share_consumer", "client_software_version": "4.3.1"}
    append_rows(
        settings.tables,
        CLIENT_CONFIGS,
        instance("bare", own, **PYTHON),
        instance("own", {"queue.buffering.max.ms": held("100")}, **PYTHON),
        instance("java's", {"buffer.memory": held("7")}, **PYTHON),
        instance("typeless", own, **OLD | typeless),
        instance(
            "typeless with references",
            {"metadata.max.age.ms": held(None, status="default")},
            **OLD | typeless,
        ),
        instance("plain", own, **OLD),
        instance("share", {"share.acquire.mode": held("x")}, **share),
        instance("consumer", {"fetch.min.bytes": held("1")}, client_type="consumer"),
    )
    append_rows(
        settings.tables,
        CONFIG_DEFAULTS,
        *(default(PYTHON, java, f"learned {java}") for java, _ in GROUPS),
        # Learned by two names: the earlier one counts.
        default(PYTHON, "message.timeout.ms", "late", first_seen=hours(2)),
        default(PYTHON, "delivery.timeout.ms", "early", first_seen=hours(1)),
        *(
            default(software, key, "another's")
            for software in (PYTHON, OLD)
            for key in ("client.id", "bootstrap.servers", "metadata.broker.list")
        ),
        # Learned before a rule hid it.
        default(OLD, "ssl.key.password", "x"),
        default(OLD, "max.block.ms", "3"),
        default(OLD, "metadata.max.age.ms", "7", client_type=""),
        default(OLD, "client.id", "x", client_type=""),
    )
    views.register(spark, settings, find_names_in(ENTRIES))
    made = {}
    for row in spark.table(ENTRIES).collect():
        keys = made.setdefault(row["client_instance_id"], {})
        assert row["config_key"] not in keys
        keys[row["config_key"]] = (row["config_value"], row["source"])
    return made


def test_a_config_is_completed_by_one_of_its_names(found):
    for name in ("bare", "own", "java's"):
        shown = [[key for key in group if key in found[name]] for group in GROUPS]
        assert [len(keys) for keys in shown] == [1] * len(GROUPS)
    assert found["bare"]["linger.ms"] == ("learned linger.ms", "config_defaults")
    assert found["own"]["queue.buffering.max.ms"] == ("100", "pushed")
    assert found["java's"]["buffer.memory"] == ("7", "pushed")
    assert found["bare"]["delivery.timeout.ms"] == ("early", "config_defaults")
    assert "message.timeout.ms" not in found["bare"]
    assert found["bare"]["socket.timeout.ms"][1] == "catalog"


@pytest.mark.long
def test_what_clients_always_set_and_rules_hide_is_not_learned_from_others(found):
    never = {"client.id", "bootstrap.servers", "metadata.broker.list"}
    for name in ("bare", "plain"):
        assert found[name].keys().isdisjoint({*never, "ssl.key.password"})
    assert found["plain"]["max.block.ms"] == ("3", "config_defaults")


@pytest.mark.long
def test_a_client_of_unknown_type_has_only_its_own_keys(found):
    assert found["typeless"] == {"batch.size": ("1", "pushed")}
    referred = {"metadata.max.age.ms": ("7", "config_defaults")}
    assert found["typeless with references"] == referred


@pytest.mark.long
def test_a_share_consumer_is_not_completed_with_what_it_refuses(found):
    assert found["share"].keys().isdisjoint(NOT_OF_SHARE_CONSUMERS)
    assert found["share"]["share.acknowledgement.mode"][1] == "catalog"
    assert found["share"]["fetch.min.bytes"][1] == "catalog"
    assert found["consumer"].keys() >= {"auto.offset.reset", "session.timeout.ms"}
    assert not any(key.startswith("share.") for key in found["consumer"])
