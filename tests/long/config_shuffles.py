"""The same pushes in other orders, batches and with restarts give the same tables.

Usage: python tests/long/config_shuffles.py [--pushes 1000] [--orders 10]
[--first-order 0]

Each order is a topic of its own, read in micro-batches of random sizes. Some of them are
cut off between two tables and written again, by the same query or by one with a new
checkpoint location and other batches. In the end all tables must hold the same but for
the coordinates of records, and what a replay of the pushes in plain Python says.
"""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pyspark.sql import functions as F  # noqa: E402, N812 - path; Spark's own habit

from pipelines.tables.configs import (  # noqa: E402 - path
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES, QUARANTINE  # noqa: E402 - path
from tests.support.spark.config_records import ConfigJob  # noqa: E402 - path
from tests.support.spark.empty_tables import make_tables  # noqa: E402 - path
from tests.support.spark.local_session import start_session  # noqa: E402 - path
from tests.support.spark.shuffled_pushes import (  # noqa: E402 - path
    OPEN_MS,
    expect_defaults,
    expect_history,
    expect_newest,
    find_ends,
    make_pushes,
)

SEED = 1324
RESTART_SHARE, NEW_CHECKPOINT_SHARE = 0.4, 0.5
COORDINATES = {"topic", "partition", "offset"}


class CutOffError(Exception):
    """Raised between two tables of a micro-batch."""


def write_ends(job, ends):
    """Let telemetry say when instances ended; no pushes of it are needed for that."""
    contracts = (CLIENT_INSTANCES, CLIENT_PUSHES)
    make_tables(job.spark, job.settings.tables, contracts)
    rows = [
        (one, "User:alice", "x", "x", "x", "x", 1000, end, end)
        for one, end in ends.items()
    ]
    ddl = (
        "client_instance_id STRING, principal STRING, client_software_name STRING, "
        "client_software_version STRING, client_source_address STRING, "
        "listener STRING, push_interval_ms INT, first_seen BIGINT, terminated_at BIGINT"
    )
    frame = job.spark.createDataFrame(rows, ddl)
    for name in ("first_seen", "terminated_at"):
        frame = frame.withColumn(name, F.timestamp_millis(name))
    path = f"{job.settings.tables.root_path}/{CLIENT_INSTANCES.name}"
    frame.write.format("delta").mode("append").save(path)


def write_shuffled(job, pushes, dice, batches):
    """Write the pushes in an order and in micro-batches of their own."""
    shuffled = dice.sample(pushes, len(pushes))
    records = [push.record(offset) for offset, push in enumerate(shuffled)]
    size = -(-len(records) // batches)
    done = restarts = 0
    while done < len(records):
        taken = records[done : done + (dice.randrange(size // 2, size) + 1)]
        if dice.random() < RESTART_SHARE:
            restarts += 1
            cut_off(job, taken, dice.choice(points()))
            if dice.random() < NEW_CHECKPOINT_SHARE:
                done = job.begin_anew()
                continue
        job.write(*taken)
        done += len(taken)
    return restarts


def points():
    """Return where a micro-batch may be cut off."""
    names = [contract.name for contract in (QUARANTINE, *CLIENT_CONFIG_CONTRACTS)]
    return [f"{when} {name}" for when in ("before", "after") for name in names]


def cut_off(job, records, point):
    """Write a micro-batch up to a point; it is the next one still."""

    def stop(reached, _rows):
        if reached == point:
            raise CutOffError

    job.on_point = stop
    try:
        job.try_write(*records)
    except CutOffError:
        pass
    finally:
        job.on_point = None


def read_everything(job):
    """Return {table: rows as texts, sorted} without the coordinates of records."""
    tables = {}
    for contract in (QUARANTINE, *CLIENT_CONFIG_CONTRACTS):
        names = [c for c in contract.column_names if c not in COORDINATES]
        rows = job.read(contract).select(F.to_json(F.struct(*names)))
        tables[contract.name] = sorted(row[0] for row in rows.collect())
    return tables


def find_faults(job, pushes, ends):
    """Compare tables with what a replay of the pushes says; return their names.

    The number of a push is its offset.
    """
    history = job.read(CLIENT_CONFIG_HISTORY).select(
        "client_id",
        "client_type",
        "config_key",
        "config_value",
        F.unix_millis("valid_from"),
        F.coalesce(F.unix_millis("valid_to"), F.lit(OPEN_MS)),
        "client_instance_ids",
    )
    found = [(*row[:6], tuple(row[6])) for row in history.collect()]
    columns = ("client_instance_id", "push_id", "client_type", "offset")
    newest = job.read(CLIENT_CONFIGS).select(*columns).collect()
    defaults = {
        (row["client_software_version"], row["client_type"], row["config_key"]): (
            row["default_value"],
            row["evidence_count"],
            row["conflicting_values"],
        )
        for row in job.read(CONFIG_DEFAULTS).collect()
    }
    is_right = {
        CLIENT_CONFIG_HISTORY.name: sorted(found, key=str)
        == expect_history(pushes, ends),
        CLIENT_CONFIGS.name: {row[0]: tuple(row[1:]) for row in newest}
        == expect_newest(pushes),
        CONFIG_DEFAULTS.name: defaults == expect_defaults(pushes),
    }
    return [name for name, one in is_right.items() if not one]


def run_shuffles(spark, folder, *, count, orders, batches, first_order=0):
    """Return what differs, and how often a micro-batch was cut off.

    Args:
        spark: A session.
        folder: For the tables.
        count: Pushes.
        orders: Orders beside the one in which all are one micro-batch.
        batches: Micro-batches of each order, about.
        first_order: Number of the first of them: the same number is the same order.
    """
    pushes = make_pushes(count, SEED)
    ends = find_ends(pushes, SEED)
    first = ConfigJob(spark, folder / "first")
    write_ends(first, ends)
    first.write(*(push.record(offset) for offset, push in enumerate(pushes)))
    faults = [f"first: {name}" for name in find_faults(first, pushes, ends)]
    expected, restarts = read_everything(first), 0
    for order in range(first_order, first_order + orders):
        job = ConfigJob(spark, folder / f"order-{order}")
        write_ends(job, ends)
        dice = random.Random(order)  # noqa: S311 - to be repeatable
        restarts += write_shuffled(job, pushes, dice, batches)
        found = read_everything(job)
        for name, rows in expected.items():
            if found[name] != rows:
                faults.append(f"order {order}: {name}: {describe(rows, found[name])}")
    return faults, restarts


def describe(wanted, found):
    """Return how two lists of rows differ, in few words."""
    missing = [json.loads(one) for one in set(wanted) - set(found)]
    extra = [json.loads(one) for one in set(found) - set(wanted)]
    return (
        f"{len(found)} rows for {len(wanted)}, {len(missing)} missing {missing[:2]}, "
        f"{len(extra)} not expected {extra[:2]}"
    )


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pushes", type=int, default=1_000)
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--first-order", type=int, default=0)
    parser.add_argument("--batches", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = start_session(folder / "warehouse")
        faults, restarts = run_shuffles(
            spark,
            folder,
            count=given.pushes,
            orders=given.orders,
            batches=given.batches,
            first_order=given.first_order,
        )
        spark.stop()
    print(
        f"{given.pushes:,} pushes in {given.orders} orders from number "
        f"{given.first_order}, {restarts} micro-batches "
        f"cut off: {len(faults)} differences"
    )
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
