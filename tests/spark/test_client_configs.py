"""Pushed configurations become rows of every table, and no secret one of any."""

from dataclasses import dataclass

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.telemetry import QUARANTINE
from tests.support.spark.config_records import START_MS, ConfigJob, entry, make_record

SECRET = "hunter2-hunter2"
FIRST, SECOND = "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"
NEWEST, SIDE_BY_SIDE, LEARNED, TYPED = "newest", "side-by-side", "learned", "typed"
MISTAKEN = "mistaken-default"
"""Clients that have nothing to do with each other."""


@pytest.fixture
def job(spark, tmp_path):
    return ConfigJob(spark, tmp_path)


def push(offset, second, *entries, instance=FIRST, **changes):
    return make_record(
        offset,
        *entries,
        client_instance_id=instance,
        received_at_ms=str(START_MS + second * 1000),
        push_id=changes.pop("push_id", f"push-{offset}"),
        **changes,
    )


def push_of(client_id, number, offset, second, *entries, **changes):
    """Return a push of a client's instance of this number; ids are its own."""
    return push(
        offset,
        second,
        *entries,
        instance=instance_of(client_id, number),
        client_id=client_id,
        client_software_version=f"4.3.{len(client_id)}",
        **changes,
    )


def instance_of(client_id, number):
    return f"{client_id}{number}".rjust(22, "A")


def seconds(name):
    return F.expr(f"unix_millis({name}) - {START_MS}").cast("int") / 1000


def test_a_push_stands_in_every_table(job):
    job.write(
        push(
            0,
            0,
            entry("acks", "all", is_default=True),
            entry("linger.ms", " 7 ", "LONG"),
            entry("ssl.key.password", SECRET, "PASSWORD"),
            entry("com.acme.token", ""),
            entry("client.id", ""),
            redacted_keys="com.acme.token,com.acme.gone,(no name)",
            redactions='{"v":1,"redacted":{"custom-key":["com.acme.token"]},'
            '"dropped":{"gone":["com.acme.gone",""]}}',
        ),
        make_record(1, body=b"\x05cut"),
        make_record(2, body=b"", without=["push_id"]),
    )
    assert job.rows(CLIENT_CONFIG_PUSHES, "offset", "decode_status", "client_type") == [
        (0, "ok", "producer"),
        (1, "truncated_push_config", None),
    ]
    pushed = job.read(CLIENT_CONFIG_PUSHES).where("offset = 0")
    assert [tuple(one) for one in pushed.collect()[0]["configs"]] == [
        ("acks", "all", "STRING", True),
        ("linger.ms", " 7 ", "LONG", False),
        ("ssl.key.password", None, "PASSWORD", False),
        ("com.acme.token", None, "STRING", False),
        ("client.id", "", "STRING", False),
    ]
    assert job.rows(QUARANTINE, "offset", "source_job", "reason", "detail", "body") == [
        (1, "client_configs_to_delta", "truncated_push_config", None, None),
        (2, "client_configs_to_delta", "missing_header", "push_id", None),
    ]
    held = job.read(CLIENT_CONFIGS).collect()[0]["configs"]
    assert held["linger.ms"]["value_long"] == 7
    assert {key: one["status"] for key, one in held.items()} == {
        "acks": "default",
        "linger.ms": "overridden",
        "ssl.key.password": "redacted",
        "com.acme.token": "redacted",
        "client.id": "overridden",
    }
    violations = job.read(CONFIG_VIOLATIONS).orderBy("entry_index").collect()
    assert [
        (
            row["entry_index"],
            row["config_key"],
            row["rule"],
            row["action"],
            row["found_by"],
        )
        for row in violations
    ] == [
        (0, "com.acme.token", "custom-key", "redacted", "bridge"),
        (1, "com.acme.gone", "gone", "dropped", "bridge"),
        (2, "(no name)", "gone", "dropped", "bridge"),
        (3, "ssl.key.password", "password-type", "redacted", "job"),
    ]


STEPS = (
    (
        push_of(NEWEST, 1, 0, 2, entry("acks", "1")),
        push_of(NEWEST, 1, 1, 3, entry("acks", "all")),
        push_of(SIDE_BY_SIDE, 1, 2, 0, entry("acks", "all")),
        push_of(LEARNED, 1, 3, 5, entry("acks", "1"), entry("com.x", "y")),
        push_of(TYPED, 1, 11, 2, entry("client.id", "a")),
        push_of(MISTAKEN, 1, 14, 0, entry("linger.ms", "5ms", "LONG", is_default=True)),
        push_of(MISTAKEN, 3, 15, 2, entry("linger.ms", "5", "LONG")),
    ),
    (
        push_of(NEWEST, 1, 4, 1, entry("acks", "0")),
        push_of(SIDE_BY_SIDE, 2, 5, 5, entry("acks", "1")),
        push_of(
            LEARNED, 2, 6, 4,
            entry("acks", "1", is_default=True), entry("linger.ms", "5", "LONG"),
        ),
        push_of(TYPED, 1, 12, 1, entry("client.id", "a"), entry("acks", "1")),
        push_of(MISTAKEN, 2, 16, 1, entry("linger.ms", "5", "LONG", is_default=True)),
        push_of(MISTAKEN, 4, 17, 3, entry("linger.ms", "6s", "LONG", is_default=True)),
    ),
    (push_of(NEWEST, 1, 7, 3, entry("acks", "all"), push_id="push-1"),),
    (
        push_of(NEWEST, 1, 8, 9, entry("linger.ms", "5")),
        push_of(SIDE_BY_SIDE, 2, 9, 7, entry("acks", "all")),
        push_of(LEARNED, 3, 10, 3, entry("acks", "all", is_default=True)),
        push_of(TYPED, 1, 13, 9, entry("client.id", "b")),
    ),
)  # fmt: skip
"""Pushes of each micro-batch. It takes Spark seconds, whoever is in it, so that the
clients of several tests share them."""


@dataclass(frozen=True)
class Seen:
    """What the tables say after a micro-batch."""

    history: list
    """(client_id, key, value, from, to or -1, instances), sorted"""
    configs: dict
    """{client instance: {key: what is held}}"""
    types: set
    """(client_id, client_type, logical_client) of both tables"""
    versions: tuple
    """What was done to both tables, oldest first."""

    def history_of(self, client_id):
        return [row[1:] for row in self.history if row[0] == client_id]

    def types_of(self, client_id):
        return [row[1] for row in self.types if row[0] == client_id]

    def held_by(self, client_id, number):
        return self.configs[instance_of(client_id, number)]


def look(job):
    history = job.rows(
        CLIENT_CONFIG_HISTORY,
        "client_id",
        "config_key",
        "config_value",
        seconds("valid_from"),
        F.coalesce(seconds("valid_to"), F.lit(-1)),
        F.expr("size(client_instance_ids)"),
    )
    rows = job.read(CLIENT_CONFIGS).select("client_instance_id", "configs").collect()
    contracts = CLIENT_CONFIGS, CLIENT_CONFIG_HISTORY
    who = "client_id", "client_type", "logical_client"
    types = {row for one in contracts for row in job.rows(one, *who)}
    versions = tuple(job.versions(one) for one in contracts)
    return Seen(history, {row[0]: row[1] for row in rows}, types, versions)


@pytest.fixture(scope="module")
def seen(spark, tmp_path_factory):
    """What the tables said after each of STEPS, and the defaults in the end."""
    job, after = ConfigJob(spark, tmp_path_factory.mktemp("steps")), []
    for records in STEPS:
        job.write(*records)
        after.append(look(job))
    columns = ("default_value", "evidence_count", "conflicting_values")
    return after, job.rows(CONFIG_DEFAULTS, *columns)


@pytest.mark.long
def test_the_newest_push_of_an_instance_counts(seen):
    """Two in a batch, a late one, the same one again, and one that lacks a key."""
    (_, late, again, last), _ = seen
    assert late.held_by(NEWEST, 1)["acks"]["config_value"] == "all"
    assert late.history_of(NEWEST) == [
        ("acks", "0", 1, 2, 1),
        ("acks", "1", 2, 3, 1),
        ("acks", "all", 3, -1, 1),
    ]
    assert again.versions == late.versions
    assert last.history_of(NEWEST)[2:] == [
        ("acks", "all", 3, 9, 1),
        ("linger.ms", "5", 9, -1, 1),
    ]


@pytest.mark.long
def test_instances_of_a_client_hold_values_side_by_side(seen):
    (_, second, _, last), _ = seen
    assert second.history_of(SIDE_BY_SIDE) == [
        ("acks", "1", 5, -1, 1),
        ("acks", "all", 0, -1, 1),
    ]
    assert last.history_of(SIDE_BY_SIDE) == [
        ("acks", "1", 5, 7, 1),
        ("acks", "all", 0, -1, 2),
    ]


@pytest.mark.long
def test_all_pushes_of_an_instance_say_what_type_of_client_it_is(seen):
    """The first one lacks the key that says it, which comes late; so does the last."""
    (first, late, _, last), _ = seen
    types = [one.types_of(TYPED) for one in (first, late, last)]
    assert types == [[None], ["producer"], ["producer"]]
    assert last.history_of(TYPED) == [
        ("acks", "1", 1, 2, 1),
        ("client.id", "a", 1, 9, 1),
        ("client.id", "b", 9, -1, 1),
    ]


@pytest.mark.long
def test_a_default_that_is_learned_later_changes_what_was_said_before(seen):
    (before, told, _, older), defaults = seen
    said = [one.held_by(LEARNED, 1)["acks"]["status"] for one in (before, told, older)]
    assert said == ["overridden", "set_to_default", "overridden"]
    assert defaults[1:] == [("all", 2, ["1"])]


@pytest.mark.long
def test_a_value_that_does_not_fit_its_type_tells_no_default(seen):
    """Neither as the oldest nor as another one."""
    (before, told, *_), defaults = seen
    said = [one.held_by(MISTAKEN, 3)["linger.ms"]["status"] for one in (before, told)]
    assert said == ["overridden", "set_to_default"]
    held = [told.held_by(MISTAKEN, one)["linger.ms"]["status"] for one in (1, 2, 4)]
    assert held == ["invalid_value", "default", "invalid_value"]
    assert defaults[0] == ("5", 1, [])


@pytest.mark.long
def test_a_known_default_may_go_without_its_value(spark, tmp_path):
    job = ConfigJob(
        spark, tmp_path, "client_configs_to_delta.store_defaults=references"
    )
    same, other = entry("acks", "all", is_default=True), entry("linger.ms", "5")
    # The second one teaches what the type of the first one does not take.
    word = entry("batch.size", "1e3", is_default=True)
    number = entry("batch.size", "1e3", "INT", is_default=True)
    job.write(push(0, 0, same, other, number), push(1, 1, same, word, instance=SECOND))
    rows = job.read(CLIENT_CONFIGS).orderBy("client_instance_id").collect()
    assert [row.configs["acks"].config_value for row in rows] == [None, None]
    assert rows[0].configs["linger.ms"].config_value == "5"
    older = entry("acks", "1", is_default=True)
    job.write(push(2, -1, older, instance="AAAAAAAAAAAAAAAAAAAAAg"))
    rows = job.read(CLIENT_CONFIGS).orderBy("client_instance_id").collect()
    assert [row.configs["acks"].config_value for row in rows] == ["all", "all", None]
    assert rows[0].configs["batch.size"].config_value == "1e3"
