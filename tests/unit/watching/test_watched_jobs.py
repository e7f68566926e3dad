"""What is known of the jobs from outside is what they say themselves."""

import importlib

import pytest

from pipelines.commands import COMMANDS_BY_NAME
from pipelines.settings import load_settings
from pipelines.watching.watched_jobs import WATCHED_JOBS

MODULES = (
    "telemetry",
    "configs",
    "wire_configs",
    "traffic",
    "cluster",
    "dynamic_configs",
)
JOBS = [importlib.import_module(f"pipelines.jobs.{name}.job") for name in MODULES]


@pytest.mark.parametrize(
    ("watched", "job"),
    [*zip(WATCHED_JOBS, JOBS, strict=True)],
    ids=[one.name for one in WATCHED_JOBS],
)
def test_a_job_is_watched_by_its_own_name_topic_and_tables(watched, job):
    ledger = job.LEDGER
    assert watched.name == ledger.job_name
    assert f"topics.{watched.topic_key}" == ledger.topic_setting
    written = {ledger.contract.name, *(one.name for one in ledger.written_before)}
    names = [one.name for one in watched.contracts]
    assert written <= {*names}
    if hasattr(job, "CONTRACTS"):
        assert names == [one.name for one in job.CONTRACTS]


def test_every_streaming_command_is_watched():
    streaming = {
        name
        for name, one in COMMANDS_BY_NAME.items()
        if any(option.name == "--accept-data-loss" for option in one.options)
    }
    assert {one.name for one in WATCHED_JOBS} == streaming - {"jobs"}


def test_topics_and_checkpoints_are_those_of_the_settings():
    settings = load_settings("local", ["topics.traffic=t", "tables.root_path=/r"])
    topics = [one.topic(settings) for one in WATCHED_JOBS]
    assert topics[3] == "t"
    assert len({*topics}) == len(topics)
    places = {one.checkpoint_location(settings) for one in WATCHED_JOBS}
    assert len(places) == len(WATCHED_JOBS)
