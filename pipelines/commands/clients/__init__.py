"""clients: what clients do and do not do, client by client."""

from pipelines.commands.call import Call
from pipelines.commands.options import CONFIG, ENV, SET, Command, flag, option

COVERAGE = "coverage"
ACTIONS = (COVERAGE,)


def run(call: Call) -> int:
    """Print an answer; return 1 where something is wrong."""
    from .coverage import CoverageQuestion, answer_coverage

    words = call.arguments
    asked = CoverageQuestion(
        client_ids=tuple(words.client_id),
        client_instance_ids=tuple(words.client_instance_id),
        cluster_id=words.cluster_id,
        is_all=words.all,
        is_json=words.json,
    )
    settings = call.read_settings()
    with call.session("clients") as spark:
        return answer_coverage(spark, settings, asked, print)


COMMAND = Command(
    name="clients",
    help="print whether clients deliver the metrics that KIP-714 asks of them; exit "
    "code 1 where one is missing",
    options=(
        option(
            "action",
            "coverage: each metric of the proposal that a client delivers, is not "
            "asked for, or is asked for and does not deliver",
            choices=ACTIONS,
        ),
        option(
            "--client-id",
            "only of this client.id; may be repeated",
            default=[],
            action="append",
            metavar="ID",
        ),
        option(
            "--client-instance-id",
            "only of this client instance id, as Kafka prints it; may be repeated",
            default=[],
            action="append",
            metavar="ID",
        ),
        option(
            "--cluster-id",
            "only of clients of this cluster",
            metavar="ID",
        ),
        flag("--all", "clients that have terminated as well"),
        flag("--json", "print JSON"),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    run=run,
)
