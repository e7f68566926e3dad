"""Tables of dynamic client configs are functions of their topic, however it is read."""

import pytest

from pipelines.jobs.purge.dynamic_configs import UnfinishedBatch
from pipelines.tables.dynamic_configs import (
    CLIENT_SUPPORTED_CONFIGS,
    DYNAMIC_CLIENT_CONFIGS,
    DYNAMIC_CONFIG_CHANGES,
)
from pipelines.tables.telemetry import QUARANTINE
from tests.support.dynamic_records import (
    START_MS,
    TOPIC,
    altered,
    place,
    random_records,
    registered,
)
from tests.support.spark.dynamic_job import REGISTRATION_TOPIC, DynamicJob, Stop
from tests.unit.udfs.dynamic_configs.read_records import read
from udfs.dynamic_configs import RegistrationsWritten
from udfs.dynamic_configs.histories import fold_records

BAD = [(None, None), (b"x", b"x")]
RECORDS = [*random_records(seed=7, count=40), *BAD, altered("1", 30), altered(None, 31)]
ROWS = place(RECORDS)


def expected():
    """Return what the histories make of all records at once, as DynamicJob.rows."""
    made = fold_records([], [], read(RECORDS))
    return [sorted(rows, key=repr) for rows in map(_in_order, _tables(made))]


def _tables(made):
    return (
        (DYNAMIC_CLIENT_CONFIGS, made.configs),
        (CLIENT_SUPPORTED_CONFIGS, made.supported),
        (DYNAMIC_CONFIG_CHANGES, made.ledger),
    )


def _in_order(table):
    contract, rows = table
    return [{name: row[name] for name in contract.column_names} for row in rows]


def found(job):
    contracts = (DYNAMIC_CLIENT_CONFIGS, CLIENT_SUPPORTED_CONFIGS)
    return [job.rows(one) for one in (*contracts, DYNAMIC_CONFIG_CHANGES)]


FIRST = 20
"""Records of the first micro-batch."""


# That both write is shown by the tests of both; that both are cut off, by long ones.
@pytest.mark.long
@pytest.mark.parametrize(
    "writer", [pytest.param("spark", marks=pytest.mark.long), "files"]
)
def test_each_record_is_once_in_the_tables_whatever_ends_a_batch(
    spark, tmp_path, writer
):
    job = DynamicJob(spark, tmp_path, f"tables.writer={writer}")
    job.stop_at = "before dynamic_client_config_changes"
    with pytest.raises(Stop):
        job.try_write(ROWS[:FIRST])
    with pytest.raises(UnfinishedBatch, match="start it, stop it"):
        job.purge().check_finished()
    job.stop_at = None
    # The same query in another process has the same micro-batch once more.
    job.restart()
    job.write(ROWS[:FIRST])
    job.stop_at = "before client_supported_configs"
    with pytest.raises(Stop):
        job.try_write([*ROWS[FIRST:], *place([registered("acks")], len(ROWS))])
    job.stop_at = None
    # Another query begins behind the ledger, and takes back what is ahead of it.
    assert job.begin_anew() == FIRST
    job.write(ROWS[FIRST:])
    assert found(job) == expected()
    job.purge().check_finished()
    quarantined = job.rows(QUARANTINE, "offset", "reason", "detail", "source_job")
    assert [tuple(row.values()) for row in quarantined] == [
        (40, "null_value", None, "dynamic_configs_to_delta"),
        (41, "unknown_client_config", "unknown_type", "dynamic_configs_to_delta"),
    ]


TOLD = RegistrationsWritten(START_MS)


def test_registrations_of_their_own_topic_become_rows_once(spark, tmp_path):
    job = DynamicJob(spark, tmp_path)
    job.registered = [registered("acks")]
    job.write(place([registered("acks", client="old"), altered("1")]))
    columns = ("client_id", "config_keys", "offset")
    old = {"client_id": "old", "config_keys": ["acks"], "offset": 0}
    assert job.rows(CLIENT_SUPPORTED_CONFIGS, *columns) == [old]
    job.stop_at = "before dynamic_client_config_changes"
    with pytest.raises(Stop):
        job.try_write(place([TOLD], 2))
    job.stop_at = None
    # More of them are there when the batch is written again.
    job.registered += [registered("acks", client="b")]
    job.write(place([TOLD], 2))
    job.write(place([TOLD], 3))
    own = [
        {"client_id": one, "config_keys": ["acks"], "offset": offset}
        for offset, one in enumerate(("app", "b"))
    ]
    assert job.rows(CLIENT_SUPPORTED_CONFIGS, *columns) == [*own, old]
    lines = job.rows(DYNAMIC_CONFIG_CHANGES, "topic", "offset", "record_type", "entity")
    path = "users/alice/clients"
    assert [tuple(one.values()) for one in lines] == [
        (TOPIC, 0, "registration", f"{path}/old"),
        (TOPIC, 1, "alteration", "users/alice"),
        (TOPIC, 2, "registrations", ""),
        (TOPIC, 3, "registrations", ""),
        (REGISTRATION_TOPIC, 0, "registration", f"{path}/app"),
        (REGISTRATION_TOPIC, 1, "registration", f"{path}/b"),
    ]
    job.purge().check_finished()
