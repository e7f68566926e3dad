"""maintain_tables: tables stay small, quick to read and within what they may keep."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipelines.errors import ChecksNotInstalled

from .call import Call
from .options import CONFIG, ENV, SET, Command, flag, option

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.settings.records import Settings
    from pipelines.streaming.start_records import Ledger


def check(call: Call) -> None:
    """Refuse what cannot be meant, and checks that cannot run.

    Raises: ChecksNotInstalled; InvalidSetting for a retention that is none.
    """
    from pipelines.jobs.maintain.job import read_retention
    from pipelines.tables.registry import ALL_CONTRACTS

    from .submit.spark_words import is_cluster_mode

    known = [contract.name for contract in ALL_CONTRACTS]
    for name in call.arguments.table:
        if name not in known:
            call.arguments.parser.error(
                f"--table {name}: known are {', '.join(sorted(known))}"
            )
    _is_checking(call)
    # With the driver elsewhere the file may be there alone.
    if not is_cluster_mode(call.spark_words):
        read_retention(call.read_settings())


def _is_checking(call: Call) -> bool:
    """Say whether checks follow.

    Raises: ChecksNotInstalled: before anything is done, since whoever starts this each
        night would take what is done for checked.
    """
    from pipelines.quality import HOW_TO_INSTALL, is_installed

    if call.arguments.no_checks or call.arguments.dry_run:
        return False
    if not is_installed():
        raise ChecksNotInstalled(
            f"maintenance ends with checks of the tables, which need "
            f"great-expectations: {HOW_TO_INSTALL}; or leave them out, by --no-checks"
        )
    return True


def list_ledgers() -> "tuple[Ledger, ...]":
    """Return the ledgers of all streaming jobs."""
    from pipelines.jobs.cluster import job as cluster
    from pipelines.jobs.configs import job as configs
    from pipelines.jobs.dynamic_configs import job as dynamic_configs
    from pipelines.jobs.telemetry import job as telemetry
    from pipelines.jobs.traffic import job as traffic
    from pipelines.jobs.wire_configs import job as wire_configs

    return (
        telemetry.LEDGER,
        configs.LEDGER,
        wire_configs.LEDGER,
        traffic.LEDGER,
        cluster.LEDGER,
        dynamic_configs.LEDGER,
    )


def run(call: Call) -> int:
    """Maintain, and print what was done, or what would be; then check the tables."""
    from pipelines.jobs.maintain import job
    from pipelines.jobs.maintain.context import Request
    from pipelines.jobs.maintain.queries import clean_checkpoints, compare_topics

    arguments, ledgers = call.arguments, list_ledgers()
    settings, is_checking = call.read_settings(), _is_checking(call)
    job.read_retention(settings)
    loud: list[str] = []
    try:
        with call.session(job.JOB_NAME) as spark:
            if not arguments.without_topics:
                secrets = call.make_secret_reader(spark)
                loud += compare_topics(spark, settings, secrets, ledgers, print)
            request = Request(tables=arguments.table, is_dry_run=arguments.dry_run)
            outcome = job.run(spark, settings, request, ledgers=ledgers, say=print)
            loud += clean_checkpoints(
                spark, settings, ledgers, print, is_dry_run=arguments.dry_run
            )
            print(outcome.summary())
            is_well = not is_checking or _check_tables(spark, settings, arguments.table)
    finally:
        # Once more, where the last lines of a mail are.
        for line in loud:
            print(line)
    return 1 if loud or outcome.has_failed or not is_well else 0


def _check_tables(
    spark: "SparkSession", settings: "Settings", names: list[str]
) -> bool:
    """Check the newest rows of tables; print what fails, and say whether nothing does.

    Args:
        names: Of tables; none: all that there are.
    """
    from pipelines.quality import check as checks
    from pipelines.quality.results import format_run
    from pipelines.quality.suites import CONTRACTS

    asked = [name for name in names if name in CONTRACTS]
    if names and not asked:
        return True
    request = checks.Request(tables=asked)
    done = checks.run(spark, settings, datetime.now(tz=UTC), request)
    print(format_run(done.outcomes))
    return not done.failures


COMMAND = Command(
    name="maintain_tables",
    help="job: Compact, apply retention, vacuum and check the tables; run it daily",
    options=(
        option(
            "--table",
            "Table to maintain; may be repeated (default: all)",
            default=[],
            action="append",
            metavar="NAME",
        ),
        flag("--dry-run", "Print the planned actions and reasons, and change nothing"),
        flag(
            "--without-topics",
            "Do not compare the retention of topics with the jobs",
        ),
        flag("--no-checks", "Do not run check_tables afterwards"),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    is_job=True,
    check=check,
    run=run,
)
