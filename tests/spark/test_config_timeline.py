"""The history of configurations, closed where telemetry knows more."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.reading import views
from pipelines.reading.views.client_config_views import TIMELINE
from pipelines.settings import load_settings
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
)
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from tests.support.spark.config_records import START_MS, ConfigJob, make_record
from tests.support.spark.config_records import entry as pushed_entry
from tests.support.spark.config_rows import entry, held, hours, instance, span
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows

pytestmark = pytest.mark.long

NOW = datetime.now(tz=UTC)
TELEMETRY = {
    "gone": (9, True),
    "silent": (5, False),
    "live": (1, False),
    "back": (9, False),
}
"""Client instance to hours since its last push, and whether it ended by that."""


def test_a_value_ends_with_the_last_of_its_holders(spark, tmp_path):
    settings = load_settings("base", [f"tables.root_path={tmp_path}"])
    make_tables(spark, settings.tables, CLIENT_CONFIG_CONTRACTS)
    make_tables(spark, settings.tables, [CLIENT_INSTANCES, CLIENT_PUSHES])
    lasts = {name: NOW - timedelta(hours=one[0]) for name, one in TELEMETRY.items()}
    instances = [
        {"client_instance_id": name, "push_interval_ms": 3_600_000}
        | {"terminated_at": lasts[name] if is_terminated else None}
        for name, (_, is_terminated) in TELEMETRY.items()
    ]
    append_rows(settings.tables, CLIENT_INSTANCES, *instances)
    pushes = [{"client_instance_id": n, "received_at": at} for n, at in lasts.items()]
    append_rows(settings.tables, CLIENT_PUSHES, *pushes)
    moved = instance("live", {"acks": held("new")}, received_at=hours(3))
    # It pushed its configuration after it had fallen silent.
    back = instance("back", {"acks": held("back")}, received_at=NOW)
    append_rows(settings.tables, CLIENT_CONFIGS, moved, back)
    push = {"client_instance_id": "live", "principal": "User:a", "client_id": "app"}
    said = {0: ("ok", "moved"), 2: ("truncated", "none"), 3: ("ok", "new")}
    append_rows(
        settings.tables,
        CLIENT_CONFIG_PUSHES,
        *(
            push
            | {"decode_status": status, "received_at": hours(at)}
            | {"configs": [entry("acks", value)]}
            for at, (status, value) in said.items()
        ),
    )
    append_rows(
        settings.tables,
        CLIENT_CONFIG_HISTORY,
        span("acks", "ended", 0, client_instance_ids=["gone", "silent"]),
        span("acks", "unseen", 0, client_instance_ids=["gone", "never seen"]),
        span("acks", "old", 0, 1, client_instance_ids=["gone"]),
        # Who pushed something else meanwhile no longer holds.
        span("acks", "moved", 0, client_instance_ids=["gone", "live"]),
        span("acks", "new", 3, client_instance_ids=["live"]),
        span("acks", "back", 3, client_instance_ids=["back"]),
    )
    views.register(spark, settings)
    rows = spark.table(TIMELINE).collect()
    found = {
        row["config_value"]: (
            row["valid_to"] and row["valid_to"].astimezone(UTC),
            row["is_current"],
        )
        for row in rows
    }
    assert found == {
        "ended": (NOW - timedelta(hours=2), False),
        "unseen": (None, True),
        "old": (hours(1), False),
        "moved": (NOW - timedelta(hours=9), False),
        "new": (None, True),
        "back": (None, True),
    }


HIDDEN = "password=hunter2"
"""A value that a rule of the product hides, whatever its key."""
A, B = 1, 2
MOVES = {
    "both end": ([(A, 0, "1"), (B, 10, "1"), (B, 20, "all")], {A: 30, B: 90}),
    "pushed on": (
        [(A, 0, "1"), (B, 10, "1"), (B, 20, "all"), (B, 60, "all")],
        {A: 30},
    ),
    "went last": ([(A, 0, "1"), (B, 10, "1"), (B, 40, "all")], {A: 30}),
    "to hidden": ([(A, 0, "1"), (B, 10, "1"), (B, 20, HIDDEN)], {A: 30}),
    "from hidden": ([(A, 0, HIDDEN), (B, 10, HIDDEN), (B, 20, "all")], {A: 30}),
    "other client id": (
        [(A, 0, "1"), (B, 10, "1"), (B, 20, "1", "other")],
        {A: 30},
    ),
    # The key is gone, and the type of the client with it in this push alone.
    "key left out": ([(A, 0, "1"), (B, 10, "1"), (B, 20, None)], {A: 30}),
    "back and gone": (
        [(A, 0, "1"), (B, 10, "1"), (B, 20, "all"), (B, 40, "1"), (B, 50, "all")],
        {A: 30},
    ),
    "back and ends": (
        [(A, 0, "1"), (B, 10, "1"), (B, 20, "all"), (B, 40, "1")],
        {A: 30, B: 70},
    ),
    "back to stay": (
        [(A, 0, "1"), (B, 10, "1"), (B, 20, "all"), (B, 40, "1")],
        {A: 30},
    ),
    "lives": ([(A, 0, "1"), (B, 10, "1"), (B, 20, "1")], {A: 30}),
    "still hidden": ([(A, 0, HIDDEN), (B, 10, HIDDEN), (B, 20, HIDDEN)], {A: 30}),
    "nobody ends": ([(A, 0, "1"), (B, 10, "1"), (B, 20, "all")], {}),
}
"""Client id to pushes of acks (instance, second, value, client id), and to ends."""
ENDS = {
    "both end": (30, 90),
    "pushed on": (30, None),
    "went last": (40, None),
    "to hidden": (30, None),
    "from hidden": (30, None),
    "other client id": (30,),
    "key left out": (30,),
    "back and gone": (50, 40, None),
    "back and ends": (70, 40),
    "back to stay": (None, 40),
    "lives": (None,),
    "still hidden": (None,),
    "nobody ends": (None, None),
}
"""Client id to when its values of acks end, in the order of their beginnings."""


def identify(client_id, number):
    return f"{client_id.replace(' ', '')}{number}".rjust(22, "A")


def make_push(offset, client_id, number, second, *entries, own_id=None):
    return make_record(
        offset,
        *entries,
        client_instance_id=identify(client_id, number),
        client_id=own_id or client_id,
        received_at_ms=str(START_MS + second * 1_000),
        push_id=f"push-{offset:03}",
    )


def at(second):
    return datetime.fromtimestamp(START_MS / 1_000 + second, UTC)


def write_ends(spark, job, ended):
    """Have telemetry say when client instances ended, and register the views."""
    make_tables(spark, job.settings.tables, [CLIENT_INSTANCES, CLIENT_PUSHES])
    known = {"push_interval_ms": 3_600_000, "first_seen": at(0)}
    rows = [
        known | {"client_instance_id": name, "terminated_at": at(second)}
        for name, second in ended.items()
    ]
    append_rows(job.settings.tables, CLIENT_INSTANCES, *rows)
    views.register(spark, job.settings)


def read_ends(spark, key):
    """Return {client id: when its values of a key end}, in the order they begin."""
    found = {}
    timeline = spark.table(TIMELINE).where(f"config_key = '{key}'")
    for row in timeline.orderBy("valid_from", "client_id").collect():
        end = row["valid_to"] and (row["valid_to"].astimezone(UTC) - at(0)).seconds
        assert row["is_current"] == (end is None)
        found[row["client_id"]] = (*found.get(row["client_id"], ()), end)
    return found


def test_who_pushes_another_value_holds_until_then(spark, tmp_path):
    job, records, ended = ConfigJob(spark, tmp_path), [], {}
    for client_id, (pushes, ends) in MOVES.items():
        for number, second, value, *other in pushes:
            configs = [] if value is None else [pushed_entry("acks", value)]
            configs.append(pushed_entry("linger.ms", "7", "LONG"))
            own_id = f"{other[0]} of it" if other else None
            records.append(
                make_push(
                    len(records), client_id, number, second, *configs, own_id=own_id
                )
            )
        ended |= {identify(client_id, n): second for n, second in ends.items()}
    job.write(*records)
    write_ends(spark, job, ended)
    found = read_ends(spark, "acks")
    assert found.pop("other of it") == (None,)
    assert found == ENDS


def test_a_reference_to_a_default_is_a_value(spark, tmp_path):
    job = ConfigJob(
        spark, tmp_path, "client_configs_to_delta.store_defaults=references"
    )
    told = [
        ("moved", A, 0, "100", False),
        ("moved", B, 10, "100", False),
        ("moved", B, 20, "5", True),
        ("stays", A, 0, "5", False),
        ("stays", B, 10, "5", True),
    ]
    records = [
        make_push(
            offset,
            client_id,
            number,
            second,
            pushed_entry("linger.ms", value, "LONG", is_default=is_default),
        )
        for offset, (client_id, number, second, value, is_default) in enumerate(told)
    ]
    job.write(*records)
    write_ends(spark, job, {identify(name, A): 30 for name in ("moved", "stays")})
    expected = {"moved": (30, None), "stays": (None,)}
    assert read_ends(spark, "linger.ms") == expected
    # So it is where the default is not known any more.
    root = job.settings.tables.root_path
    spark.sql(f"DELETE FROM delta.`{root}/config_defaults`")  # noqa: S608 - a path
    assert read_ends(spark, "linger.ms") == expected
