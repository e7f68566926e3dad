"""clients: what clients do and do not do, run, and use, client by client."""

from argparse import Namespace

from pipelines.commands.call import Call
from pipelines.commands.options import (
    CONFIG,
    ENV,
    MOMENT,
    SET,
    Action,
    Command,
    flag,
    option,
)

COVERAGE, STALE, UPGRADE = ACTIONS = ("coverage", "stale", "upgrade")


def run(call: Call) -> int:
    """Print an answer; return 1 where something is wrong."""
    words = call.arguments
    _check(words)
    if words.action == COVERAGE:
        return _answer_coverage(call)
    from .software import SoftwareQuestion, answer_stale, answer_upgrade

    asked = SoftwareQuestion(
        principals=tuple(words.principal),
        client_ids=tuple(words.client_id),
        cluster_id=words.cluster_id,
        since=words.since,
        is_all=words.all,
        is_json=words.json,
    )
    settings = call.read_settings()
    with call.session("clients") as spark:
        if words.action == STALE:
            return answer_stale(spark, settings, asked, print)
        return answer_upgrade(spark, settings, asked, words.to, print)


def _answer_coverage(call: Call) -> int:
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


def _check(words: Namespace) -> None:
    """End the process with the usage where the words do not fit together."""
    if words.action == UPGRADE:
        from pipelines.settings.api_versions import load_api_versions

        releases = load_api_versions().releases
        if words.to not in releases:
            words.parser.error(f"--to: expected one of {', '.join(releases)}")


_CLIENT_ID = option(
    "--client-id",
    "Only this client ID; may be repeated",
    default=[],
    action="append",
    metavar="ID",
)
_COMMON = (
    option("--cluster-id", "Only clients of this cluster", metavar="ID"),
    flag("--json", "Print JSON"),
    ENV,
    CONFIG,
    SET,
)
_OF_SOFTWARE = (
    _CLIENT_ID,
    option(
        "--principal",
        "Only this principal, such as User:alice; may be repeated",
        default=[],
        action="append",
        metavar="NAME",
    ),
    option(
        "--since",
        "Only clients seen since 2026-03-01 or 2026-03-01T06:00 (default: 7 days ago)",
        type=MOMENT,
        metavar="TIME",
    ),
    flag("--all", "Include clients without a problem"),
    *_COMMON,
)


COMMAND = Command(
    name="clients",
    help="Print missing metrics, old software and upgrade risks of clients",
    actions=(
        Action(
            name=COVERAGE,
            help="Print the KIP-714 metrics that clients lack",
            options=(
                _CLIENT_ID,
                option(
                    "--client-instance-id",
                    "Only this client instance ID; may be repeated",
                    default=[],
                    action="append",
                    metavar="ID",
                ),
                flag("--all", "Include clients without a problem and ended clients"),
                *_COMMON,
            ),
        ),
        Action(
            name=STALE,
            help="Print clients with unsupported software or known faults",
            options=_OF_SOFTWARE,
        ),
        Action(
            name=UPGRADE,
            help="Print clients that use API versions that a Kafka release lacks",
            options=(
                option(
                    "--to",
                    "Release of the brokers, such as 4.4",
                    required=True,
                    metavar="RELEASE",
                ),
                *_OF_SOFTWARE,
            ),
        ),
    ),
    takes_spark_options=True,
    run=run,
)
