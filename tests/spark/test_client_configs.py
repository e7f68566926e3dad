"""Pushed configurations become rows of every table, and no secret one of any."""

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.client_config_tables import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
    CONFIG_VIOLATIONS,
)
from pipelines.tables import QUARANTINE
from tests.spark.config_records import START_MS, ConfigJob, entry, make_record

SECRET = "hunter2-hunter2"
FIRST, SECOND = "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"


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


def statuses(job, *instances):
    """Return {key: status} of each client instance."""
    rows = job.read(CLIENT_CONFIGS).select("client_instance_id", "configs").collect()
    found = {
        row[0]: {key: held["status"] for key, held in row[1].items()} for row in rows
    }
    return [found[one] for one in instances]


def seconds(name):
    return F.expr(f"unix_millis({name}) - {START_MS}").cast("int") / 1000


def history(job, *more):
    return job.rows(
        CLIENT_CONFIG_HISTORY,
        "config_key",
        F.coalesce("config_value", F.lit("(redacted)")),
        seconds("valid_from"),
        F.coalesce(seconds("valid_to"), F.lit(-1)),
        *more,
    )


def test_a_push_stands_in_every_table(job):
    job.write(
        push(
            0,
            0,
            entry("acks", "all", is_default=True),
            entry("linger.ms", " 7 ", "LONG"),
            entry("ssl.key.password", SECRET, "PASSWORD"),
            entry("com.acme.token", ""),
            redacted_keys="com.acme.token,and 2 more",
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
    ]
    assert job.rows(QUARANTINE, "offset", "source_job", "reason", "detail", "body") == [
        (1, "client_configs_to_delta", "truncated_push_config", None, None),
        (2, "client_configs_to_delta", "missing_header", "push_id", None),
    ]
    held = job.read(CLIENT_CONFIGS).collect()[0]["configs"]
    assert held["linger.ms"]["value_long"] == 7
    assert statuses(job, FIRST) == [
        {
            "acks": "default",
            "linger.ms": "overridden",
            "ssl.key.password": "redacted",
            "com.acme.token": "redacted",
        }
    ]
    violations = job.read(CONFIG_VIOLATIONS).orderBy("entry_index").collect()
    assert [
        (row["entry_index"], row["config_key"], row["action"], row["found_by"])
        for row in violations
    ] == [
        (0, "com.acme.token", "redacted", "bridge"),
        (1, "(and 2 more)", "redacted", "bridge"),
        (2, "ssl.key.password", "redacted", "job"),
    ]
    assert [row["rule"] is None for row in violations] == [True, True, False]


def test_the_newest_push_of_an_instance_counts(job):
    """Two in a batch, a late one, the same one again, and one that lacks a key."""
    job.write(push(0, 2, entry("acks", "1")), push(1, 3, entry("acks", "all")))
    job.write(push(2, 1, entry("acks", "0")))
    assert [row.configs["acks"].config_value for row in job.read(CLIENT_CONFIGS).collect()] == ["all"]  # fmt: skip
    assert history(job) == [
        ("acks", "0", 1, 2),
        ("acks", "1", 2, 3),
        ("acks", "all", 3, -1),
    ]
    done = job.versions(CLIENT_CONFIGS), job.versions(CLIENT_CONFIG_HISTORY)
    job.write(push(3, 3, entry("acks", "all"), push_id="push-1"))
    assert done == (job.versions(CLIENT_CONFIGS), job.versions(CLIENT_CONFIG_HISTORY))
    job.write(push(4, 9, entry("linger.ms", "5")))
    assert history(job)[2:] == [("acks", "all", 3, 9), ("linger.ms", "5", 9, -1)]


def test_instances_of_a_client_hold_values_side_by_side(job):
    ids = ("size(client_instance_ids)",)
    job.write(push(0, 0, entry("acks", "all")))
    job.write(push(1, 5, entry("acks", "1"), instance=SECOND))
    assert history(job) == [("acks", "1", 5, -1), ("acks", "all", 0, -1)]
    job.write(push(2, 7, entry("acks", "all"), instance=SECOND))
    assert history(job, *map(F.expr, ids)) == [
        ("acks", "1", 5, 7, 1),
        ("acks", "all", 0, -1, 2),
    ]


def test_a_default_that_is_learned_later_changes_what_was_said_before(job):
    job.write(push(0, 5, entry("acks", "1"), entry("com.x", "y")))
    assert statuses(job, FIRST)[0]["acks"] == "overridden"
    told = entry("acks", "1", is_default=True)
    job.write(push(1, 4, told, entry("linger.ms", "5"), instance=SECOND))
    assert statuses(job, FIRST)[0]["acks"] == "set_to_default"
    older = entry("acks", "all", is_default=True)
    third = "AAAAAAAAAAAAAAAAAAAAAg"
    job.write(push(2, 3, older, instance=third))
    assert statuses(job, FIRST)[0]["acks"] == "overridden"
    assert job.rows(
        CONFIG_DEFAULTS, "default_value", "evidence_count", "conflicting_values"
    ) == [("all", 2, ["1"])]


def test_a_known_default_may_go_without_its_value(spark, tmp_path):
    job = ConfigJob(
        spark, tmp_path, "client_configs_to_delta.store_defaults=references"
    )
    same, other = entry("acks", "all", is_default=True), entry("linger.ms", "5")
    job.write(push(0, 0, same, other), push(1, 1, same, instance=SECOND))
    rows = job.read(CLIENT_CONFIGS).orderBy("client_instance_id").collect()
    assert [row.configs["acks"].config_value for row in rows] == [None, None]
    assert rows[0].configs["linger.ms"].config_value == "5"
    older = entry("acks", "1", is_default=True)
    job.write(push(2, -1, older, instance="AAAAAAAAAAAAAAAAAAAAAg"))
    rows = job.read(CLIENT_CONFIGS).orderBy("client_instance_id").collect()
    assert [row.configs["acks"].config_value for row in rows] == ["all", "all", None]
