"""After a rule was tightened nothing of what it hides is left, in no byte."""

import dataclasses
import pathlib
from datetime import UTC

import pytest

from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.setup import ensure_tables
from pipelines.errors import MissingTable
from pipelines.jobs.purge import job as purge_secrets
from pipelines.jobs.purge.job import SecretsRemain
from pipelines.settings import load_settings
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
    DYNAMIC_CONFIG_CHANGES,
    DYNAMIC_CONFIG_CONTRACTS,
)
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.spark.config_rows import (
    JAVA,
    entry,
    held,
    hours,
    instance,
    span,
)
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.older_tables import make_older
from tests.support.spark.purge_rows import (
    HIDDEN_CLIENT,
    find_text,
    hash_of,
    plant_client_ids,
    plant_dynamic_configs,
    plant_traffic,
    rule,
)
from tests.support.spark.table_rows import append_rows

pytestmark = pytest.mark.long

CANARY = "canary7f3a"
BY_VALUE, BY_KEY, DROPPED = (f"{CANARY}-{n}" for n in ("value", "key", "dropped"))

TIGHTER = (
    rule("a", "redact", keys=("client.rack",)),
    rule("b", "drop", keys=("metrics.context",)),
    rule("c", "redact", value_patterns=("canary7f3a-value",)),
    rule("d", "redact", value_patterns=("^svc pin-",)),
)
CONFIGS = {
    "acks": held(BY_VALUE),
    "client.rack": held(BY_KEY),
    "metrics.context": held(DROPPED),
    "linger.ms": held("5", "LONG"),
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    lax = load_settings("base", [f"tables.root_path={tmp_path_factory.mktemp('p')}"])
    rules = (*TIGHTER, *lax.sensitive_keys.rules)
    tight = dataclasses.replace(lax.sensitive_keys, rules=rules)
    return dataclasses.replace(lax, sensitive_keys=tight)


def read(spark, settings, contract, *columns):
    table = spark.table(identify_table(spark, settings.tables, contract))
    return table.select(*columns).collect()


def plant(spark, settings):
    """Write what a job with laxer rules would have written, in two versions each."""
    contracts = (*CLIENT_CONFIG_CONTRACTS, *DYNAMIC_CONFIG_CONTRACTS, CLIENT_TRAFFIC)
    make_tables(spark, settings.tables, contracts)
    plant_traffic(settings)
    plant_dynamic_configs(settings, (BY_VALUE, BY_KEY))
    push = JAVA | {"logical_client": "app", "decode_status": "ok"}
    entries = [entry(key, one[0], one[1]) for key, one in CONFIGS.items()]
    pushes = [
        push | {"offset": 1, "configs": entries, "content_hash": "of all"},
        push | {"offset": 2, "configs": [entry("linger.ms", "5", "LONG")]},
        push | {"offset": 3, "configs": None, "decode_status": "truncated"},
    ]
    append_rows(settings.tables, CLIENT_CONFIG_PUSHES, *pushes)
    said = {"offset": 1, "entry_index": 0, "config_key": "ssl.key.password"}
    append_rows(settings.tables, CONFIG_VIOLATIONS, said | {"rule": "password-type"})
    counted = {"offset": 2, "entry_index": 0, "config_key": "(and 50 more)"}
    append_rows(settings.tables, CONFIG_VIOLATIONS, counted)
    append_rows(settings.tables, CLIENT_CONFIGS, instance("one", CONFIGS))
    append_rows(settings.tables, CLIENT_CONFIGS, instance("two", {"acks": held("1")}))
    append_rows(
        settings.tables,
        CLIENT_CONFIG_HISTORY,
        span("acks", "1", 0, 1),
        span("acks", None, 1, 2, client_instance_ids=["zero"]),
        span("acks", BY_VALUE, 2, 3),
        span("acks", f"{BY_VALUE}-too", 2, client_instance_ids=["two"]),
        span("client.rack", BY_KEY, 0, 1),
        span("client.rack", f"{BY_KEY}-later", 4),
        span("metrics.context", DROPPED, 0),
        # Of a client that no other table knows: judged as every software.
        span("client.rack", BY_KEY, 0, logical_client="forgotten"),
    )
    known = JAVA | {"client_type": "producer"}
    append_rows(
        settings.tables,
        CONFIG_DEFAULTS,
        known | {"config_key": "acks", "default_value": BY_VALUE},
        known | {"config_key": "client.rack", "default_value": BY_KEY},
        known
        | {"config_key": "linger.ms", "default_value": "5"}
        | {"conflicting_values": [BY_VALUE, "7"]},
    )
    # As a program has left it that did not know clusters.
    ensure_tables(spark, settings.tables, [make_older(CLIENT_WIRE_CONFIGS)])
    # Of a software whose keys nobody knows.
    seen = {"client_software_name": "strange", "config_type": "STRING"}
    append_rows(
        settings.tables,
        CLIENT_WIRE_CONFIGS,
        *(
            seen | {"wire_client": "app", "config_key": key, "config_value": one[0]}
            for key, one in CONFIGS.items()
        ),
    )
    plant_client_ids(settings, push)
    # A version of the rows that is only marked as deleted.
    table = identify_table(spark, settings.tables, CLIENT_CONFIGS)
    spark.sql(f"UPDATE {table} SET push_id = 'y'")  # noqa: S608 - a table of ours


@pytest.fixture(scope="module")
def purged(spark, settings):
    """What the dry run and the purge printed."""
    with pytest.raises(MissingTable, match="config_violations`: there is none"):
        purge_secrets.run(spark, settings, is_dry_run=True, say=print)
    # Uncompressed, so that a search finds what a file holds.
    codec = "spark.sql.parquet.compression.codec"
    spark.conf.set(codec, "uncompressed")
    plant(spark, settings)
    spark.conf.unset(codec)
    before = find_text(settings, CANARY)
    printed = []
    purge_secrets.run(spark, settings, is_dry_run=True, say=printed.append)
    assert find_text(settings, CANARY) == before
    assert len(before) >= 6
    dry = list(printed)
    printed.clear()
    purge_secrets.run(spark, settings, is_dry_run=False, say=printed.append)
    return dry, printed


def test_it_says_what_it_found_and_what_is_out_of_reach(purged):
    dry, printed = purged
    assert "client_config_pushes: 3 entries in 1 rows would be taken out" in dry
    assert "client_config_pushes: 3 entries in 1 rows are taken out" in printed
    assert "client_config_history: 6 entries in 6 rows are taken out" in printed
    assert "config_defaults: 3 entries in 3 rows are taken out" in printed
    assert "config_violations: nothing to take out" in printed
    assert "topic clientele.configs" in printed[-1]


def test_no_byte_of_it_is_left(purged, settings):
    assert purged
    assert find_text(settings, CANARY) == []


def test_no_client_id_that_is_hidden_is_left_but_in_the_log(purged, settings):
    dry, printed = purged
    for name, count in (
        ("client_config_pushes", 1), ("config_violations", 1), ("client_configs", 1),
        ("client_config_history", 2), ("client_wire_configs", 2),
        ("client_traffic", 2), ("dynamic_client_configs", 2),
        ("client_supported_configs", 2), ("dynamic_client_config_changes", 1),
    ):  # fmt: skip
        assert f"{name}: client ids of {count} rows would be taken out" in dry
        assert f"{name}: client ids of {count} rows are taken out" in printed
    assert "client ids in client_pushes" in printed[-1]
    folder = pathlib.Path(settings.tables.root_path)
    files = [path.read_bytes() for path in folder.rglob("*.parquet")]
    assert len(files) >= 6
    assert not any(b"svc pin-" in one or b"svc%20pin-" in one for one in files)


def test_clients_whose_ids_are_hidden_are_one(purged, spark, settings):
    assert purged
    client = ("client_id", "logical_client")
    for contract, key, value in (
        (CLIENT_CONFIG_PUSHES, "offset", 4),
        (CLIENT_CONFIGS, "client_instance_id", "three"),
    ):
        rows = read(spark, settings, contract, key, *client)
        found = [tuple(row)[1:] for row in rows if row[0] == value]
        assert found == [("(redacted)", HIDDEN_CLIENT)]
    rows = read(spark, settings, CLIENT_CONFIG_HISTORY, "*")
    assert sorted(
        (row["config_value"], row["client_id"], row["valid_from"].astimezone(UTC),
         row["is_current"], row["client_instance_ids"])
        for row in rows
        if row["logical_client"] in {HIDDEN_CLIENT, "pin", "other"}
    ) == [
        ("5", "(redacted)", hours(0), True, ["five", "four", "three"]),
        ("7", "(redacted)", hours(0), False, ["five"]),
    ]  # fmt: skip
    wire = read(spark, settings, CLIENT_WIRE_CONFIGS, "*")
    (row,) = (one for one in wire if one["client_id"] == "(redacted)")
    assert row["config_value"] == "new"
    assert row["wire_client"] == hash_of("User:a", "(redacted)", None, "x")


def test_pushes_and_configs_keep_what_is_allowed(purged, spark, settings):
    assert purged
    rows = read(
        spark, settings, CLIENT_CONFIG_PUSHES, "offset", "configs", "content_hash"
    )
    rows = {row["offset"]: row for row in rows}
    assert [tuple(one)[:2] for one in rows[1]["configs"]] == [
        ("acks", None),
        ("client.rack", None),
        ("linger.ms", "5"),
    ]
    assert rows[3]["configs"] is None
    hashes = {row["client_instance_id"]: row for row in read(
        spark, settings, CLIENT_CONFIGS, "client_instance_id", "configs", "content_hash"
    )}  # fmt: skip
    assert hashes["one"]["content_hash"] == rows[1]["content_hash"] != "of all"
    configs = hashes["one"]["configs"]
    assert configs.keys() == {"acks", "client.rack", "linger.ms"}
    assert configs["acks"].status == "redacted"
    assert configs["acks"].value_string is None
    assert configs["linger.ms"].value_long == 5
    assert hashes["two"]["configs"]["acks"].config_value == "1"


def test_each_entry_is_a_violation_once(purged, spark, settings):
    assert purged
    rows = read(
        spark, settings, CONFIG_VIOLATIONS,
        "entry_index", "config_key", "rule", "action", "found_by",
    )  # fmt: skip
    assert sorted(tuple(row)[:4] for row in rows) == [
        (0, "(and 50 more)", None, "x"),
        (0, "client.id", "d", "redacted"),
        (0, "linger.ms", "r", "x"),
        (0, "ssl.key.password", "password-type", "x"),
        (1, "acks", "c", "redacted"),
        (2, "client.rack", "a", "redacted"),
        (3, "metrics.context", "b", "dropped"),
    ]


def test_history_is_as_if_the_value_had_never_been_known(purged, spark, settings):
    assert purged
    rows = read(spark, settings, CLIENT_CONFIG_HISTORY, "*")
    found = sorted(
        (
            row["logical_client"],
            row["config_key"],
            row["value_id"],
            row["valid_from"].astimezone(UTC),
            row["valid_to"] and row["valid_to"].astimezone(UTC),
            row["is_current"],
            row["client_instance_ids"],
        )
        for row in rows
        if row["client_id"] == "app"
    )
    assert found == [
        ("app", "acks", "-", hours(1), None, True, ["one", "two", "zero"]),
        ("app", "acks", "id of 1", hours(0), hours(1), False, ["one"]),
        ("app", "client.rack", "-", hours(0), hours(1), False, ["one"]),
        ("app", "client.rack", "-", hours(4), None, True, ["one"]),
        ("forgotten", "client.rack", "-", hours(0), None, True, ["one"]),
    ]


def test_what_was_seen_on_the_wire_is_hidden_or_gone(purged, spark, settings):
    assert "client_wire_configs: 3 entries in 3 rows are taken out" in purged[1]
    columns = ("wire_client", "config_key", "config_value")
    rows = read(spark, settings, CLIENT_WIRE_CONFIGS, *columns)
    rows = [row[1:] for row in rows if row[0] == "app"]
    expected = [("acks", None), ("client.rack", None), ("linger.ms", "5")]
    assert sorted(map(tuple, rows)) == expected


def test_traffic_of_clients_whose_ids_are_hidden_is_added_up(purged, spark, settings):
    assert purged
    columns = ("client_id", "produced_bytes", "throttle_ms_max", "push_ids")
    rows = read(spark, settings, CLIENT_TRAFFIC, *columns)
    assert sorted(map(tuple, rows)) == [
        ("(redacted)", 127, 30, ["a", "b", "c"]), ("app", 5, 1, []),
    ]  # fmt: skip


def test_a_hidden_dynamic_config_has_no_row(purged, spark, settings):
    printed = purged[1]
    assert "dynamic_client_configs: 2 entries in 2 rows are taken out" in printed
    assert "until their configs are altered" in printed[-1]
    columns = ("client_id", "config_key", "config_value", "valid_from", "is_current")
    rows = read(spark, settings, DYNAMIC_CLIENT_CONFIGS, *columns, "valid_to")
    assert sorted((*row[:3], row[3].astimezone(UTC), row[4]) for row in rows) == [
        ("", "acks", "1", hours(0), False),
        ("(redacted)", "linger.ms", "5", hours(0), False),
        ("(redacted)", "linger.ms", "9", hours(1), True),
    ]
    (cut,) = (row for row in rows if row["config_value"] == "5")
    assert cut["valid_to"].astimezone(UTC) == hours(1)


def test_a_hidden_key_is_none_of_those_that_clients_take(purged, spark, settings):
    assert purged
    columns = ("client_id", "config_keys", "offset")
    rows = read(spark, settings, CLIENT_SUPPORTED_CONFIGS, *columns)
    assert sorted(map(tuple, rows)) == [
        ("(redacted)", ["linger.ms"], 2), ("app", ["acks"], 3),
    ]  # fmt: skip


def test_lines_of_changes_tell_nothing_that_is_hidden(purged, spark, settings):
    assert purged
    columns = ("offset", "entity", "change")
    rows = read(spark, settings, DYNAMIC_CONFIG_CHANGES, *columns)
    assert sorted(map(tuple, rows)) == [
        (1, "users/alice", "acks (hidden) -> (hidden)"),
        (2, "users/alice", "client.rack set to (hidden)"),
        (3, "users/alice/clients/%28redacted%29", "linger.ms set to 5"),
        (4, "users/alice/clients/app", "library 1 supports acks"),
        (5, "users/alice/clients/<default>", None),
    ]


def test_a_hidden_default_is_unlearned(purged, spark, settings):
    assert purged
    columns = ("config_key", "default_value", "conflicting_values")
    rows = read(spark, settings, CONFIG_DEFAULTS, *columns)
    assert [tuple(row) for row in rows] == [("linger.ms", "5", ["7"])]


def test_what_a_job_with_older_rules_writes_meanwhile_is_told(purged, spark, settings):
    assert purged
    late = JAVA | {"offset": 9, "configs": [entry("client.rack", "a rack")]}

    def write_once(line):
        if line.startswith(CLIENT_CONFIG_PUSHES.name):
            append_rows(settings.tables, CLIENT_CONFIG_PUSHES, late)

    with pytest.raises(SecretsRemain, match="client_config_pushes: a job that was"):
        purge_secrets.run(spark, settings, is_dry_run=False, say=write_once)
