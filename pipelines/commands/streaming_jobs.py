"""What the commands of streaming jobs share: their options, and how they run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from pipelines.errors import InvalidSetting
from pipelines.settings.watching_settings import STREAMING_JOBS

from .call import Call
from .job_pages import served_metrics
from .options import CONFIG, ENV, SET, Command, flag

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from pipelines.streaming.start_records import Ledger

_OPTIONS = (
    ENV,
    CONFIG,
    SET,
    flag("--once", "take what is there now, then stop"),
    flag("--continuous", "go on until stopped (the default)"),
    flag(
        "--accept-data-loss",
        "go on behind records that Kafka no longer has; quarantine says which they "
        "were",
    ),
)


def _check(call: Call) -> None:
    """Refuse two words that exclude each other.

    Raises: InvalidSetting.
    """
    if call.arguments.once and call.arguments.continuous:
        raise InvalidSetting("--once and --continuous exclude each other")


def streaming_command(name: str, help_text: str, run: Callable[[Call], int]) -> Command:
    """Return the command of a streaming job."""
    return Command(
        name=name,
        help=help_text,
        options=_OPTIONS,
        takes_spark_options=True,
        is_job=True,
        check=_check,
        run=run,
    )


def run_job(
    call: Call, ledger: "Ledger", start: "Callable[..., StreamingQuery]"
) -> int:
    """Run a job until it is stopped, or, with --once, until all is read.

    Args:
        call: Of its command.
        ledger: That says how far it is.
        start: The job's own, with all arguments that it has alone.
    """
    from pipelines.streaming.job_runs import run_to_end
    from pipelines.streaming.run_stream import RunContext

    settings, name = call.read_settings(), ledger.job_name
    with (
        call.session(call.arguments.command) as spark,
        served_metrics(
            spark, settings, [name], place=STREAMING_JOBS.index(name)
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
