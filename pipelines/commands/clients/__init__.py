"""clients: what clients do and do not do, run, and use, client by client."""

from argparse import Namespace

from pipelines.commands.call import Call
from pipelines.commands.options import (
    CONFIG,
    ENV,
    MOMENT,
    SET,
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
    action, parser = words.action, words.parser
    faults = (
        (action == UPGRADE and not words.to, "upgrade needs --to"),
        (action != UPGRADE and words.to, "--to belongs to upgrade"),
        (
            action != COVERAGE and words.client_instance_id,
            "--client-instance-id belongs to coverage",
        ),
        (
            action == COVERAGE and (words.principal or words.since),
            "--principal and --since belong to stale and upgrade",
        ),
    )
    for is_fault, text in faults:
        if is_fault:
            parser.error(text)
    if action == UPGRADE:
        from pipelines.settings.api_versions import load_api_versions

        releases = load_api_versions().releases
        if words.to not in releases:
            parser.error(f"--to: expected one of {', '.join(releases)}")


COMMAND = Command(
    name="clients",
    help="print what clients deliver of KIP-714's metrics, how old their software is, "
    "or what an upgrade of the brokers breaks; exit code 1 where something is wrong",
    options=(
        option(
            "action",
            "coverage: each metric of KIP-714 that a client delivers, is not asked "
            "for, or is asked for and does not deliver; stale: clients whose software "
            "is out of support or has known faults; upgrade: clients that use API "
            "versions that a release of Kafka's brokers does not serve",
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
            "coverage: only of this client instance id, as Kafka prints it; may be "
            "repeated",
            default=[],
            action="append",
            metavar="ID",
        ),
        option(
            "--principal",
            "stale, upgrade: only of this principal, such as User:alice; may be "
            "repeated",
            default=[],
            action="append",
            metavar="NAME",
        ),
        option(
            "--cluster-id",
            "only of clients of this cluster",
            metavar="ID",
        ),
        option(
            "--to",
            "upgrade: the release of the brokers, such as 4.4",
            metavar="RELEASE",
        ),
        option(
            "--since",
            "stale, upgrade: only what was seen from this moment on: 2026-03-01 or "
            "2026-03-01T06:00 (default: seven days ago)",
            type=MOMENT,
            metavar="TIME",
        ),
        flag(
            "--all",
            "coverage: clients that have terminated as well; stale, upgrade: clients "
            "of which there is nothing to say as well",
        ),
        flag("--json", "print JSON"),
        ENV,
        CONFIG,
        SET,
    ),
    takes_spark_options=True,
    run=run,
)
