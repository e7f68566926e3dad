"""Pushes in any order, batches and restarts fold to the same rows, without Spark."""

import random
from datetime import UTC, datetime

import pytest

from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from tests.support.jobs.memory_tables import MemoryJob
from tests.support.spark.shuffled_pushes import (
    OPEN_MS,
    expect_defaults,
    expect_history,
    expect_newest,
    find_ends,
    make_pushes,
)

PUSHES, SEED, BATCHES = 400, 1324, 8
STATES = (CONFIG_DEFAULTS, CLIENT_CONFIGS, CLIENT_CONFIG_HISTORY)
POINTS = [f"{when} {one.name}" for when in ("before", "after") for one in STATES]
COORDINATES = {"topic", "partition", "offset"}


def to_ms(moment):
    return OPEN_MS if moment is None else round(moment.timestamp() * 1000)


def find_history(job):
    return sorted(
        (
            (
                *(row[n] for n in ("client_id", "client_type", "config_key")),
                row["config_value"],
                to_ms(row["valid_from"]),
                to_ms(row["valid_to"]),
                tuple(row["client_instance_ids"]),
            )
            for row in job.read(CLIENT_CONFIG_HISTORY)
        ),
        key=str,
    )


def find_defaults(job):
    return {
        (row["client_software_version"], row["client_type"], row["config_key"]): (
            row["default_value"],
            row["evidence_count"],
            row["conflicting_values"],
        )
        for row in job.read(CONFIG_DEFAULTS)
    }


def read_states(job):
    return {
        contract.name: [
            {name: value for name, value in row.items() if name not in COORDINATES}
            for row in job.read(contract)
        ]
        for contract in STATES
    }


@pytest.fixture(scope="module")
def pushes():
    return make_pushes(PUSHES, SEED)


@pytest.fixture(scope="module")
def ends(pushes):
    return find_ends(pushes, SEED)


@pytest.fixture(scope="module")
def terminated(ends):
    return [
        {
            "client_instance_id": instance,
            "terminated_at": datetime.fromtimestamp(end / 1000, tz=UTC),
        }
        for instance, end in ends.items()
    ]


@pytest.fixture(scope="module")
def at_once(pushes, terminated):
    """All pushes in one micro-batch."""
    job = MemoryJob(terminated)
    assert job.write(*(push.record(offset) for offset, push in enumerate(pushes)))
    return job


def test_fold_of_all_pushes_matches_the_model(at_once, pushes, ends):
    newest = {
        row["client_instance_id"]: (row["push_id"], row["client_type"], row["offset"])
        for row in at_once.read(CLIENT_CONFIGS)
    }
    assert newest == expect_newest(pushes)
    assert find_defaults(at_once) == expect_defaults(pushes)
    assert find_history(at_once) == expect_history(pushes, ends)


@pytest.mark.parametrize("order", range(4))
def test_fold_in_shuffled_batches_with_restarts_gives_the_same_rows(
    at_once, pushes, terminated, order
):
    dice = random.Random(order)  # noqa: S311 - to be repeatable
    job, stopped, done = MemoryJob(terminated), 0, 0
    shuffled = dice.sample(pushes, len(pushes))
    records = [push.record(offset) for offset, push in enumerate(shuffled)]
    size = len(records) // BATCHES
    while done < len(records):
        batch = records[done : done + dice.randrange(size // 2, 2 * size)]
        point = dice.choice([None, *POINTS])
        if job.write(*batch, stop_at=point):
            done += len(batch)
            continue
        stopped += 1
        if dice.random() < 0.5:
            job.begin_anew()
            batch = batch[: len(batch) // 2]
        assert job.write(*batch)
        done += len(batch)
    assert stopped > 0
    assert read_states(job) == read_states(at_once)
    kinds = {"new", "changed", "gone"}
    changed = {
        kind
        for _, *counts in job.tables.commits
        for kind, count in zip(("new", "changed", "gone"), counts, strict=True)
        if count
    }
    assert changed == kinds
