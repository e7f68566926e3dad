"""Entries of client instances, completed by what is known of defaults."""

import time

import pytest

from pipelines.reading import views
from pipelines.reading.views.catalog_entries import load_catalog_entries
from pipelines.reading.views.client_config_disagreements import DISAGREEMENTS
from pipelines.reading.views.client_config_views import ENTRIES, TIMELINE
from pipelines.reading.views.config_value_sql import PARSED, TRIMMED
from pipelines.reading.views.registry import VIEWS
from pipelines.settings import load_settings
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from tests.support.spark.config_rows import (
    JAVA,
    TYPED,
    held,
    instance,
)
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows
from udfs.sensitive.typed_values import INVALID, parse_value

PATIENCE_S = 120


DEFAULTED = "a client that sends defaults"
BARE = "a client that sends none"
LIBRDKAFKA = {
    "client_software_name": "confluent-kafka-python",
    "client_software_version": "2.16.1-librdkafka-2.15.0",
}


def default(key, value, config_type="STRING", **fields):
    known = {"client_type": "producer", "config_key": key, "default_value": value}
    return JAVA | known | {"config_type": config_type} | fields


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return load_settings("base", [f"tables.root_path={tmp_path_factory.mktemp('t')}"])


@pytest.fixture(scope="module")
def registered(spark, settings):
    """Column to (client instance, key) to value, of the view over all clients."""
    make_tables(spark, settings.tables, CLIENT_CONFIG_CONTRACTS)
    acks = {"acks": held("1")}
    append_rows(
        settings.tables,
        CLIENT_CONFIGS,
        instance(
            DEFAULTED,
            {
                **acks,
                "batch.size": held("9", "INT", "default"),
                "linger.ms": held(None, "LONG", "default"),
                "ssl.key.password": held(None, "PASSWORD", "redacted"),
                "retries": held("many", "INT", "invalid_value"),
            },
        ),
        instance(BARE, acks),
        instance("3.7", acks, client_software_version="3.7.0"),
        instance("4.0", acks, client_software_version="4.0.0"),
        instance("unknown", acks, client_software_version="unknown"),
        instance(
            "librdkafka",
            {"buffer.memory": held("1024", "LONG"), "linger.ms": held("9", "LONG")},
            **LIBRDKAFKA,
        ),
        instance("typeless", acks, client_type=None),
        instance("strange", acks, client_software_name="strange"),
    )
    append_rows(
        settings.tables,
        CONFIG_DEFAULTS,
        default("linger.ms", "7", "LONG"),
        default("linger.ms", "0", "LONG", client_software_version="3.9.2"),
        default("max.block.ms", "3", "LONG"),
    )
    return views.register(spark, settings)


@pytest.fixture(scope="module")
def entries(spark, registered):
    assert ENTRIES in registered
    return {
        (row["client_instance_id"], row["config_key"]): row
        for row in spark.table(ENTRIES).collect()
    }


def of_instance(entries, name, *columns):
    return {
        key: tuple(row[column] for column in columns)
        for (instance_id, key), row in entries.items()
        if instance_id == name
    }


def test_every_table_and_view_is_registered_without_telemetry(spark, registered):
    names = [contract.name for contract in CLIENT_CONFIG_CONTRACTS]
    found = {ENTRIES, TIMELINE, DISAGREEMENTS, "config_catalog"}
    found |= {"client_releases", "client_software", "known_faults", "metric_semantics"}
    found |= {"known_clients", "known_instances", "active_config_entries"}
    assert found <= {one.name for one in VIEWS}
    expected = sorted([*names, *found])
    assert registered == expected
    assert spark.table("config_catalog").where("default_value = 'all'").count() > 0


def test_what_was_pushed_stands_as_it_was_pushed_and_references_are_filled(entries):
    columns = ("config_value", "value_long", "status", "source", "is_pushed")
    # Of a client that sends defaults, a key that it did not send is not known.
    assert of_instance(entries, DEFAULTED, *columns) == {
        "acks": ("1", None, "overridden", "pushed", True),
        "batch.size": ("9", 9, "default", "pushed", True),
        "linger.ms": ("7", 7, "default", "config_defaults", True),
        "ssl.key.password": (None, None, "redacted", "pushed", True),
        "retries": ("many", None, "invalid_value", "pushed", True),
    }


def test_a_client_without_defaults_is_completed_by_learned_ones_then_the_catalog(
    entries,
):
    columns = ("config_value", "value_long", "source", "catalog_version", "is_pushed")
    found = of_instance(entries, BARE, *columns)
    assert found["acks"] == ("1", None, "pushed", None, True)
    assert found["linger.ms"] == ("7", 7, "config_defaults", None, False)
    assert found["batch.size"] == ("16384", 16384, "catalog", "4.3.1", False)
    # What every client sets itself, and what a client may have left out as sensitive.
    hidden = {"bootstrap.servers", "client.id", "ssl.key.password"}
    assert found.keys().isdisjoint(hidden)
    assert len(found) > 30


@pytest.mark.parametrize(
    ("version", "nearest"), [("3.7", "3.9.2"), ("4.0", "4.3.1"), ("unknown", "4.4.0")]
)
def test_the_nearest_catalogued_release_counts(entries, version, nearest):
    assert entries[version, "batch.size"]["catalog_version"] == nearest


def test_a_config_that_librdkafka_calls_otherwise_is_not_completed(entries):
    found = of_instance(entries, "librdkafka", "config_value", "catalog_version")
    others = {"queue.buffering.max.kbytes", "queue.buffering.max.ms"}
    assert found.keys().isdisjoint(others)
    assert found["message.max.bytes"] == ("1000000", "2.15")


@pytest.mark.parametrize("name", ["typeless", "strange"])
def test_a_client_of_unknown_type_or_software_is_only_what_it_pushed(entries, name):
    assert of_instance(entries, name, "source") == {"acks": ("pushed",)}


def test_every_catalogued_default_is_typed_as_the_job_would_type_it(spark):
    texts = {(one.config_type, one.default_value) for one in load_catalog_entries()}
    texts |= {("INT", " 7 "), ("DOUBLE", "1.5f"), ("DOUBLE", "NaN"), ("INT", "1.0")}
    texts |= {("LIST", "a , b,"), ("BOOLEAN", " TRUE"), ("SHORT", "40000")}
    texts |= {("UNHEARD OF", " x "), ("PASSWORD", "x"), ("STRING", " x ")}
    # These end lines, and are no blanks: nothing ends before them.
    kinds = ("STRING", "LIST", "INT", "LONG", "DOUBLE", "BOOLEAN")
    lines = ("5", "5 ", "1.5f", "true", "a,b ", "a ,b \t")
    texts |= {
        (kind, text + end)
        for kind in kinds
        for text in lines
        for end in ("\x85", "\N{LINE SEPARATOR}", "\r\n")
    }
    check_typing(spark, texts)


def test_a_long_run_of_blanks_is_read_once(spark):
    """Read anew from each blank, these take minutes."""
    blanks = " \t" * 150_000
    texts = {(kind, f"\x01a{blanks}b \n") for kind in ("STRING", "LIST", "INT")}
    started = time.monotonic()
    check_typing(spark, {*texts, ("STRING", blanks), ("LIST", f"a{blanks},b{blanks}")})
    assert time.monotonic() - started < PATIENCE_S


def check_typing(spark, texts):
    """Compare the typed values of (config_type, config_value) with the kernel's."""
    rows = spark.createDataFrame(
        sorted(texts), "config_type STRING, config_value STRING"
    )
    parsed = [f"{sql} AS {name}" for name, sql in PARSED.items()]
    found = rows.selectExpr("*", f"{TRIMMED} AS trimmed").selectExpr(
        "config_type", "config_value", *parsed
    )
    for row in found.collect():
        values = [row[name] for name in TYPED if row[name] is not None]
        expected = parse_value(row["config_type"], row["config_value"])
        made = tuple(values[0]) if values and row["value_list"] is not None else None
        value = made if made is not None else (values[0] if values else None)
        nothing = expected is INVALID or expected is None
        assert repr(value) == repr(None if nothing else expected), row
