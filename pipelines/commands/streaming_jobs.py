"""What the commands of streaming jobs share: their options, and how they run."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pipelines.errors import InvalidSetting
from pipelines.settings.watching_settings import STREAMING_JOBS

from .call import Call
from .job_pages import served_metrics
from .options import CONFIG, ENV, SET, Command, flag

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from pipelines.streaming.start_records import Ledger

OPTIONS = (
    ENV,
    CONFIG,
    SET,
    flag("--once", "Read all present records, then stop"),
    flag("--continuous", "Run until stopped (default)"),
    flag(
        "--accept-data-loss",
        "Continue after records that Kafka has deleted; quarantine lists them",
    ),
)


class PreparedJob(NamedTuple):
    """A job, before a session of Spark is there."""

    ledger: "Ledger"
    """That says how far it is."""
    start: "Callable[..., StreamingQuery]"
    """Takes session, settings and context; all that it has alone is given."""


Prepare = Callable[[Call], PreparedJob]
"""Imports a job and reads what it alone needs."""


def check_once(call: Call) -> None:
    """Refuse two words that exclude each other.

    Raises: InvalidSetting.
    """
    if call.arguments.once and call.arguments.continuous:
        raise InvalidSetting("--once and --continuous exclude each other")


def streaming_command(name: str, help_text: str, prepare: Prepare) -> Command:
    """Return the command of a streaming job."""
    return Command(
        name=name,
        help=help_text,
        options=OPTIONS,
        takes_spark_options=True,
        is_job=True,
        check=check_once,
        run=lambda call: _run_job(call, prepare),
    )


def _run_job(call: Call, prepare: Prepare) -> int:
    """Run a job until it is stopped, or, with --once, until all is read."""
    from pipelines.streaming.job_runs import run_to_end
    from pipelines.streaming.run_stream import RunContext

    settings = call.read_settings()
    ledger, start = prepare(call)
    name = ledger.job_name
    with (
        call.session(call.arguments.command) as spark,
        served_metrics(
            [spark], settings, [name], place=STREAMING_JOBS.index(name)
        ) as metrics,
    ):
        secrets = call.make_secret_reader(spark)
        run_to_end(
            spark,
            settings,
            secrets,
            ledger,
            lambda job_run: start(
                spark,
                settings,
                RunContext(
                    secrets=secrets,
                    is_once=call.arguments.once,
                    job_run=job_run,
                    on_batch=metrics.observe(name),
                ),
            ),
            accepts_data_loss=call.arguments.accept_data_loss,
        )
    return 0
