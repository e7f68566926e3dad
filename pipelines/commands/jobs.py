"""jobs: every streaming job in one process, for a site that gives each too little."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from pipelines.errors import InvalidSetting

from . import (
    client_configs_to_delta,
    client_findings,
    client_telemetry_to_delta,
    client_traffic_to_delta,
    client_wire_configs_to_delta,
    cluster_metadata_to_delta,
    dynamic_configs_to_delta,
)
from .call import Call
from .failures import describe
from .job_pages import served_metrics
from .options import Command, Option, flag, option
from .streaming_jobs import OPTIONS, PreparedJob, check_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from pipelines.settings.records import Settings
    from pipelines.streaming.job_groups import GroupedJob, JobGroup
    from pipelines.streaming.sources import Gathering

_logger = logging.getLogger(__name__)
# The first one comes first: most look at what it writes.
_MODULES = (
    client_telemetry_to_delta,
    client_configs_to_delta,
    client_wire_configs_to_delta,
    client_traffic_to_delta,
    cluster_metadata_to_delta,
    dynamic_configs_to_delta,
)
PREPARE = {one.COMMAND.name: one.prepare for one in _MODULES}
"""The jobs in the order of their first starts."""


def choose_jobs(call: Call) -> list[str]:
    """Return the names of the jobs to run.

    Raises: InvalidSetting where --only and --without leave none.
    """
    only, without = call.arguments.only, call.arguments.without
    chosen = [name for name in PREPARE if name in (only or PREPARE)]
    chosen = [name for name in chosen if name not in without]
    if not chosen:
        raise InvalidSetting("--only and --without leave no job")
    return chosen


def _check(call: Call) -> None:
    check_once(call)
    choose_jobs(call)
    if call.arguments.findings:
        if not call.arguments.once:
            raise InvalidSetting("--findings goes with --once; else use cron")
        client_findings.check(call)


def run(call: Call) -> int:
    """Run the jobs until they are stopped, or, with --once, until all is read.

    Findings are evaluated even if a job was skipped or failed.
    """
    from pipelines.commands.session import start_further_session
    from pipelines.settings.rules import read_finding_rules
    from pipelines.streaming.job_groups import GroupedJob, JobGroup
    from pipelines.streaming.run_stream import JobRun, RunContext

    settings = call.read_settings()
    prepared = [PREPARE[name](call) for name in choose_jobs(call)]
    names = [job.ledger.job_name for job in prepared]
    with ExitStack() as served:
        spark = served.enter_context(call.session(COMMAND.name))
        sessions = [start_further_session(spark) for _ in prepared]
        metrics = served.enter_context(served_metrics(sessions, settings, names))
        secrets = call.make_secret_reader(spark)

        def group(job: PreparedJob, session: "SparkSession") -> GroupedJob:
            gathering = _gather(settings, job.ledger.job_name)

            def start(job_run: JobRun) -> "StreamingQuery":
                context = RunContext(
                    secrets=secrets,
                    is_once=call.arguments.once,
                    job_run=job_run,
                    gathering=gathering,
                    on_batch=metrics.observe(job.ledger.job_name),
                )
                return job.start(session, settings, context)

            return GroupedJob(
                spark=session,
                ledger=job.ledger,
                start=start,
                is_required=job.ledger.job_name in call.arguments.only,
            )

        jobs = JobGroup(
            spark,
            settings,
            secrets,
            is_once=call.arguments.once,
            accepts_data_loss=call.arguments.accept_data_loss,
            describe=describe,
            on_end=metrics.note_end,
        )
        evaluate = None
        if call.arguments.findings:
            rules = read_finding_rules(settings)
            evaluate = partial(client_findings.evaluate, spark, settings, rules)
        _run_group(jobs, [*map(group, prepared, sessions)], evaluate)
    return 0


def _run_group(
    jobs: "JobGroup",
    grouped: Sequence["GroupedJob"],
    evaluate: Callable[[], str] | None,
) -> None:
    """Run jobs, print the names of those that were skipped, and evaluate findings.

    Raises: The error of a job, even if the evaluation fails as well.
    """
    try:
        jobs.run(grouped)
    except Exception:
        _print_skipped(jobs)
        # Rules need the tables, and one job that failed has not emptied them.
        if evaluate is not None and not jobs.has_driver_ended():
            try:
                print(evaluate())
            except Exception as error:  # noqa: BLE001 - the error of the job counts
                _logger.error("Evaluating findings failed: %s", describe(error))  # noqa: TRY400 - a sentence
        raise
    _print_skipped(jobs)
    if evaluate is not None:
        print(evaluate())


def _print_skipped(jobs: "JobGroup") -> None:
    for name in sorted(jobs.skipped):
        print(f"{name}: skipped, because its topic was never created")


def _gather(settings: "Settings", job_name: str) -> "Gathering":
    """Return how the records of a job are waited for."""
    from pipelines.streaming.sources import Gathering

    waiting = settings.jobs
    is_telemetry = job_name == client_telemetry_to_delta.COMMAND.name
    return Gathering(
        min_records=waiting.min_records,
        max_wait_ms=waiting.max_wait_ms if is_telemetry else waiting.max_config_wait_ms,
    )


def _choice(name: str, help_text: str) -> Option:
    return option(
        name,
        help_text,
        default=[],
        action="append",
        choices=[*PREPARE],
        metavar="JOB",
    )


COMMAND = Command(
    name="jobs",
    help="job: Run all streaming jobs in one process, for a small deployment",
    options=(
        *OPTIONS,
        _choice("--only", "Run this job; may be repeated (default: all)"),
        _choice("--without", "Skip this job; may be repeated"),
        flag("--findings", "With --once: evaluate findings after all jobs ended"),
    ),
    takes_spark_options=True,
    is_job=True,
    is_small=True,
    check=_check,
    run=run,
)
