"""client_findings: rules asked of the clients that live, for cron."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .call import Call
from .options import CONFIG, ENV, SET, Command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.settings.finding_rules import FindingRules
    from pipelines.settings.records import Settings


def evaluate(spark: "SparkSession", settings: "Settings", rules: "FindingRules") -> str:
    """Evaluate the rules, and return what came of it in words."""
    from pipelines.jobs.findings import job

    done = job.evaluate(spark, settings, rules, datetime.now(tz=UTC))
    told = (
        f"client_findings: {done.holding} hold, {done.open} are open; "
        f"{done.opened} opened, {done.closed} closed"
    )
    if done.is_first:
        told += "; the first evaluation opens none: run it again"
    return told


def check(call: Call) -> None:
    """Refuse a wrong rule before a job is handed over, as far as no Spark is needed."""
    from pipelines.settings.rules import read_finding_rules

    read_finding_rules(call.read_settings())


def run(call: Call) -> int:
    """Evaluate, and print what was changed."""
    from pipelines.settings.rules import read_finding_rules

    settings = call.read_settings()
    rules = read_finding_rules(settings)
    with call.session(COMMAND.name) as spark:
        print(evaluate(spark, settings, rules))
    return 0


COMMAND = Command(
    name="client_findings",
    help="job: Evaluate the rules for active clients into client_findings",
    options=(ENV, CONFIG, SET),
    takes_spark_options=True,
    is_job=True,
    check=check,
    run=run,
)
