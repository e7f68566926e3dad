"""What is not well, in which words, and what is well although it looks otherwise."""

from dataclasses import replace

import pytest

from pipelines.settings import load_settings
from pipelines.watching.judging import find_problems
from pipelines.watching.site import MS_PER_HOUR, TableLook
from tests.support.sites import (
    AT_MS,
    SITE,
    TABLE,
    ran,
    with_bridge,
    with_job,
    with_stored,
    with_topic,
)

LIMITS = load_settings("base").watching
LATE_MS = AT_MS - LIMITS.max_lag_ms - 1
JOB = "client_telemetry_to_delta"
REJECTED = (
    "101 records of the last hour are in quarantine, more than "
    "watching.max_quarantined (100):"
)
LATE = {"unread": 1_500, "waiting_since_ms": LATE_MS}


AGE_MS = LIMITS.max_run_age_hours * MS_PER_HOUR
LONG_AGO_MS = AT_MS - AGE_MS - 1
LONG_AGO = "more than 72 hours ago (watching.max_run_age_hours)"
OLD_TABLE = replace(TABLE, made_ms=LONG_AGO_MS)


def told(site, limits=LIMITS):
    return [
        one.as_line() for one in find_problems(site, limits, options="--env cluster")
    ]


def late_job(late=LATE, **changes):
    site = with_topic(**late)
    return replace(site, jobs=(replace(site.jobs[0], **changes),))


@pytest.mark.parametrize(
    "site",
    [
        SITE,
        with_job(is_running=False),
        with_job(is_running=None),
        with_job(topic_look=None, was_started=None),
        with_topic(unread=5, waiting_since_ms=LATE_MS + 1),
        with_topic(unread=5),
        with_job(was_started=False),
        with_stored(quarantined=None, maintenance=None),
        with_stored(quarantined={"missing_header": LIMITS.max_quarantined}),
        replace(SITE, bridges=(), not_looked_at=("bridges",)),
        with_stored(maintenance=ran(AT_MS - AGE_MS), checks=ran(AT_MS - AGE_MS)),
        # One is under way, or was just killed.
        with_stored(maintenance=replace(ran(AT_MS), completed_ms=AT_MS - AGE_MS)),
        with_stored(tables=(OLD_TABLE,)),
        with_stored(tables=(replace(TABLE, made_ms=None),), maintenance=None),
        with_stored(tables=(replace(OLD_TABLE, name="else"),), maintenance=None),
        # The first one is under way, or the one after a long time.
        with_stored(tables=(OLD_TABLE,), maintenance=None, is_maintained=True),
        with_stored(maintenance=ran(LONG_AGO_MS), is_maintained=True),
    ],
)
def test_what_harms_nobody_is_well(site):
    assert told(site) == []


@pytest.mark.parametrize(
    ("site", "begin", "advice"),
    [
        (
            with_bridge(has_answered=False, is_ready=False, said="Connection refused"),
            "bridge at b:9193 does not answer (Connection refused): ",
            "start it: ./spark-submit.sh bridge --env cluster;",
        ),
        (
            with_bridge(is_ready=False, said="Kafka has not answered yet"),
            "bridge at b:9193 is not ready (Kafka has not answered yet): ",
            "its log",
        ),
        (
            replace(SITE, kafka_fault="_TRANSPORT"),
            "Kafka at k:9092 does not answer (_TRANSPORT): ",
            "[kafka]",
        ),
        (
            late_job(is_running=False),
            f"{JOB} does not run: 1,500 records wait, for 420 s: ",
            f"start it: ./spark-submit.sh {JOB} --env cluster;",
        ),
        (
            late_job(is_running=None),
            f"{JOB} is behind: 1,500 records wait, for 420 s: ",
            f"start it: ./spark-submit.sh {JOB} --env cluster;",
        ),
        (
            late_job(),
            f"{JOB} runs and is behind: 1,500 records wait, for 420 s: ",
            "max_offsets_per_trigger",
        ),
        (
            late_job({"unread": 1_500}, is_running=None),
            f"1,500 records wait for {JOB}, and Kafka at k:9092 did not say in time ",
            "watching.answer_timeout_ms",
        ),
        (
            with_topic(has_topic=False),
            f"there is no topic clientele.telemetry, which {JOB} reads: ",
            "start the bridge",
        ),
        (
            with_topic(lost=3),
            f"topic clientele.telemetry has deleted 3 records that {JOB} had not read: ",
            "--accept-data-loss",
        ),
        (
            with_topic(is_made_anew=True),
            f"topic clientele.telemetry was deleted and recreated behind {JOB}: ",
            "--accept-data-loss",
        ),
        (
            replace(SITE, jobs=()),
            "no streaming job was ever started with these checkpoint locations: ",
            "--env",
        ),
        (
            with_stored(tables=(TableLook(name="client_pushes", is_there=False),)),
            "table client_pushes is missing at /data/tables: ",
            f"{JOB}, started again, makes it anew and empty",
        ),
        (
            with_stored(tables=(replace(TABLE, fault="DeltaError"),)),
            "table client_pushes at /data/tables cannot be read (DeltaError): ",
            "./spark-submit.sh sql",
        ),
        (
            with_stored(quarantined={"corrupt_frame": 90, "missing_header": 11}),
            f"{REJECTED} 90 corrupt_frame, 11 missing_header: ",
            "quarantine-reasons.md",
        ),
        (
            with_stored(maintenance=ran(AT_MS, "a: vacuum", "b: x")),
            "the last maintenance has failed in a: vacuum, b: x: ",
            "maintenance_runs",
        ),
        (
            with_stored(checks=ran(AT_MS, "a: unique")),
            "the last check has failed in a: unique: ",
            "quality_results",
        ),
        (
            with_stored(unread=("quarantine: DeltaError",)),
            "rows of a table at /data/tables cannot be read (quarantine: DeltaError): ",
            "./spark-submit.sh sql",
        ),
        (
            with_stored(maintenance=ran(LONG_AGO_MS)),
            f"the last maintenance that came to its end began {LONG_AGO}: ",
            "./spark-submit.sh maintain_tables --env cluster",
        ),
        # Each night one begins and is killed.
        (
            with_stored(maintenance=replace(ran(AT_MS), completed_ms=LONG_AGO_MS)),
            f"the last maintenance that came to its end began {LONG_AGO}: ",
            "./spark-submit.sh maintain_tables --env cluster",
        ),
        (
            with_stored(tables=(OLD_TABLE,), maintenance=None),
            f"no maintenance has come to its end, and tables were made {LONG_AGO}: ",
            "./spark-submit.sh maintain_tables --env cluster",
        ),
        (
            with_stored(
                tables=(OLD_TABLE,), maintenance=replace(ran(AT_MS), completed_ms=None)
            ),
            f"no maintenance has come to its end, and tables were made {LONG_AGO}: ",
            "./spark-submit.sh maintain_tables --env cluster",
        ),
        (
            with_stored(checks=ran(LONG_AGO_MS)),
            f"the last check was {LONG_AGO}: ",
            "./spark-submit.sh check_tables --env cluster",
        ),
    ],
)
def test_what_is_not_well_says_what_to_do(site, begin, advice):
    [line] = told(site)
    assert line.startswith(begin)
    assert advice in line.removeprefix(begin)


def test_the_age_of_maintenance_is_no_fault_where_nobody_asks():
    site = with_stored(maintenance=ran(1), checks=ran(1))
    assert told(site, replace(LIMITS, max_run_age_hours=0)) == []


def test_maintenance_whose_rows_cannot_be_read_is_not_said_to_be_missing():
    unread = ("maintenance_runs: DeltaError",)
    [line] = told(with_stored(tables=(OLD_TABLE,), maintenance=None, unread=unread))
    assert "maintenance_runs: DeltaError" in line


def test_a_job_that_must_be_there_is_missed_though_it_never_was():
    site = with_job(was_started=False)
    [line] = told(site, replace(LIMITS, jobs=(JOB,)))
    assert line.startswith(f"{JOB} was never started: start it: ")


def test_what_is_lost_comes_first_and_each_fault_is_told():
    site = with_topic(lost=3, **LATE)
    dead = with_bridge(has_answered=False, is_ready=False, said="x").bridges
    lines = told(replace(site, bridges=dead, kafka_fault="_TRANSPORT"))
    assert [one.split(" ")[0] for one in lines] == ["topic", "Kafka", "bridge", JOB]
