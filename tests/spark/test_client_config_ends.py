"""When telemetry says that a client instance has ended."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipelines.jobs.configs.folds.history import (
    REPLACED_SCHEMA,
    TELEMETRY_SCHEMA,
    TERMINATED_SCHEMA,
    Telemetry,
)
from pipelines.jobs.configs.folds.history import find_ends as fold_ends
from pipelines.jobs.configs.known import select_telemetry
from pipelines.tables.telemetry import IDLE_AFTER_INTERVALS
from tests.support.spark.instance_tables import (
    INSTANCE_SCHEMA,
    PUSH_SCHEMA,
    at,
    make_instance,
    make_push,
)
from udfs.row_keys import conform

MINUTE_MS = 60_000


def find_ends(spark, replaced, instances, pushes, known_to=60):
    """Return {client instance: minutes until its end}.

    Somebody else's telemetry is known up to a minute.
    """
    pushes = [*pushes, *push_each_minute("somebody else", known_to)]
    columns = zip(*replaced, strict=True)
    rows = pa.table([list(column) for column in columns], REPLACED_SCHEMA)
    oldest = pc.min(rows.column("received_at"))
    newest = select_telemetry(
        spark.createDataFrame(pushes, PUSH_SCHEMA),
        spark.createDataFrame(rows.select(["client_instance_id"])),
        oldest.cast(pa.int64()).as_py(),
    )
    known = spark.createDataFrame(instances, INSTANCE_SCHEMA)
    terminated = known.select(*TERMINATED_SCHEMA.names).toArrow()
    telemetry = Telemetry(
        terminated=conform(terminated, TERMINATED_SCHEMA),
        newest=conform(newest.toArrow(), TELEMETRY_SCHEMA),
    )
    return {
        row["client_instance_id"]: (row["ended_at"] - at(0)).total_seconds() / 60
        for row in fold_ends(rows, telemetry).to_pylist()
    }


def push_each_minute(instance, *minutes):
    return [make_push(instance, one, push_interval_ms=MINUTE_MS) for one in minutes]


@pytest.mark.parametrize(
    ("newest", "ends"),
    [(9, {"i": 8}), (8, {}), (7, {})],
    ids=["hit", "at the newest push", "after it"],
)
def test_an_instance_has_ended_after_three_intervals_of_silence(spark, newest, ends):
    """Its last telemetry is of minute 5; silence counts where it ends before `newest`."""
    pushes = push_each_minute("i", 3, 4, 5)
    assert IDLE_AFTER_INTERVALS == 3
    found = find_ends(spark, [("i", at(1), at(newest))], [make_instance("i")], pushes)
    assert found == ends


@pytest.mark.parametrize(
    ("known_to", "ends"), [(8, {"i": 8}), (7, {})], ids=["known", "not read yet"]
)
def test_silence_is_one_where_telemetry_is_known_to_go_on(spark, known_to, ends):
    """Its own of minute 5 is the last of it; what is behind may be read later."""
    pushes = push_each_minute("i", 5)
    given = [("i", at(1), at(20))], [make_instance("i")], pushes
    assert find_ends(spark, *given, known_to=known_to) == ends


def test_the_interval_is_that_of_the_last_push(spark):
    pushes = [
        make_push("i", 1, push_interval_ms=10 * MINUTE_MS),
        make_push("i", 2, push_interval_ms=MINUTE_MS),
    ]
    found = find_ends(spark, [("i", at(0), at(20))], [make_instance("i")], pushes)
    assert found == {"i": 5}


def test_who_pushed_its_configuration_later_had_not_ended(spark):
    """Telemetry before that push says nothing of what came after it."""
    pushes = push_each_minute("i", 1, 2)
    found = find_ends(spark, [("i", at(30), at(60))], [make_instance("i")], pushes)
    assert found == {}


def test_a_terminating_push_says_it_whatever_came_after(spark):
    told = make_instance("i", terminated_at=at(4))
    pushes = push_each_minute("i", 3, 4)
    assert find_ends(spark, [("i", at(1), at(20))], [told], pushes) == {"i": 4}


def test_an_instance_without_telemetry_has_not_ended(spark):
    silent = make_instance("other")
    pushes = push_each_minute("other", 1)
    assert find_ends(spark, [("i", at(1), at(20))], [silent], pushes) == {}
