"""Commands: a file a command, its options beside what it does.

Importing this imports no Spark, nor what a command alone needs.
"""

import argparse
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from pipelines import __version__
from pipelines.settings.loading import LOCAL_NAME, choose_env
from pipelines.settings.places import IS_CHECKOUT, PROGRAM

from . import (
    bridge,
    brokers,
    check_tables,
    client_configs_to_delta,
    client_findings,
    client_telemetry_to_delta,
    client_traffic_to_delta,
    client_wire_configs_to_delta,
    clients,
    cluster_metadata_to_delta,
    completion,
    configs,
    demo,
    dynamic_configs_to_delta,
    explain_rule,
    feed,
    findings,
    forward,
    import_metadata,
    jobs,
    kafka,
    kafka_client_metrics,
    kafka_configs,
    maintain_tables,
    migrate_tables,
    notebook,
    purge_secrets,
    push_config,
    quotas,
    reference,
    refresh_quotas,
    replay_pushes,
    report,
    scram_credential,
    settings,
    setup,
    shell,
    sql,
    status,
)
from .options import (
    ACTION_WORD,
    COMMAND_WORD,
    VERBOSE,
    Command,
    CommandParser,
    Option,
)
from .submit.spark_words import SPARK_OPTIONS

HELP = "help"
_LINE_WIDTH = 88
GROUPS = {
    "Try it": (demo, kafka, setup),
    "Serve clients": (
        bridge,
        feed,
        forward,
        import_metadata,
        kafka_client_metrics,
        kafka_configs,
        scram_credential,
        push_config,
    ),
    "Fill and keep tables": (
        jobs,
        client_telemetry_to_delta,
        client_configs_to_delta,
        client_wire_configs_to_delta,
        client_traffic_to_delta,
        cluster_metadata_to_delta,
        dynamic_configs_to_delta,
        refresh_quotas,
        client_findings,
        replay_pushes,
        maintain_tables,
        check_tables,
        migrate_tables,
        purge_secrets,
    ),
    "Watch": (status,),
    "Ask": (
        findings,
        report,
        sql,
        configs,
        clients,
        brokers,
        quotas,
        notebook,
        shell,
    ),
    "Look up": (settings, explain_rule, completion, reference),
}
"""The commands, as the help has them."""
EXAMPLES = (
    "demo",
    "bridge --env cluster",
    "client_telemetry_to_delta --env cluster --master spark://host:7077",
    'sql "select * from clients"',
    "notebook notebooks/clients_overview.py",
)
COMMANDS = tuple(one.COMMAND for group in GROUPS.values() for one in group)
COMMANDS_BY_NAME = {
    command.name: replace(
        command,
        options=() if command.actions else (*command.options, VERBOSE),
        actions=tuple(
            replace(one, options=(*one.options, VERBOSE)) for one in command.actions
        ),
    )
    for command in COMMANDS
}


def is_available(command: Command) -> bool:
    """Return whether this copy of the product has what a command needs."""
    return IS_CHECKOUT or not command.needs_checkout


def parse_words(words: list[str]) -> argparse.Namespace:
    """Read the words of one command; ends the process where they are wrong."""
    words = _ask_for_help(words)
    _check_action_is_first(words)
    words = _add_default_action(words)
    arguments, unknown = build_parser().parse_known_args(words)
    parser: CommandParser = arguments.parser
    if parser.is_kafka_tool:
        # Kafka's tools pass over words that are no options.
        unknown = [word for word in unknown if word.startswith("-")]
    if unknown:
        parser.refuse_unknown(unknown)
    if getattr(arguments, "env", LOCAL_NAME) is None:
        arguments.env = choose_env(arguments.config)
    return arguments


def _ask_for_help(words: list[str]) -> list[str]:
    """Return words that ask for help as --help does, where they ask for it."""
    if not words:
        return ["--help"]
    if words[0] != HELP:
        return words
    return [*words[1:3], "--help"]


def _check_action_is_first(words: list[str]) -> None:
    """Refuse options before an action; ends the process."""
    command = COMMANDS_BY_NAME.get(words[0])
    if command is None or command.default_action or not words[1:]:
        return
    names = {one.name for one in command.actions}
    late = [word for word in words[2:] if word in names]
    if words[1].startswith("-") and late:
        build_parser().error(
            f"put the action first: {command.name} {late[0]} {words[1]} …"
        )


def _add_default_action(words: list[str]) -> list[str]:
    """Return words with the action of a call that names none."""
    command = COMMANDS_BY_NAME.get(words[0])
    more = words[1:]
    names_action = bool(more) and (
        not more[0].startswith("-") or more[0] in {"-h", "--help"}
    )
    if command is None or command.default_action is None or names_action:
        return words
    return [words[0], command.default_action, *more]


def build_parser() -> CommandParser:
    """Return the parser of all commands."""
    parser = CommandParser(prog=PROGRAM, allow_abbrev=False)
    parser.overview = _format_overview()
    parser.add_argument(
        "--version", action="version", version=f"kafka-clientele {__version__}"
    )
    subparsers = parser.add_subparsers(
        dest=COMMAND_WORD, required=True, metavar=COMMAND_WORD
    )
    for command in filter(is_available, COMMANDS_BY_NAME.values()):
        epilog = (
            "Any option of spark-submit may be added, --master among them."
            if command.takes_spark_options
            else None
        )
        subparser = subparsers.add_parser(
            command.name,
            help=command.help,
            description=command.help,
            epilog=epilog,
            allow_abbrev=False,
        )
        _fill_parser(subparser, command, command.options)
        if command.actions:
            _add_actions(subparser, command)
    return parser


def _fill_parser(
    parser: CommandParser, command: Command, options: Sequence[Option]
) -> None:
    parser.is_kafka_tool = command.is_kafka_tool
    parser.takes_secrets = command.takes_secrets
    if command.takes_spark_options:
        parser.spark_options = SPARK_OPTIONS
    parser.set_defaults(parser=parser)
    for one in options:
        parser.add_argument(one.name, **one.arguments)


def _add_actions(parser: CommandParser, command: Command) -> None:
    """Give each action a parser with its own options."""
    names = "|".join(one.name for one in command.actions)
    subparsers = parser.add_subparsers(dest=ACTION_WORD, required=True, metavar=names)
    owners: dict[str, list[str]] = {}
    for action in command.actions:
        for one in action.options:
            owners.setdefault(one.name, []).append(f"{command.name} {action.name}")
    for action in command.actions:
        is_default = action.name == command.default_action
        subparser = subparsers.add_parser(
            action.name,
            help=f"{action.help} (default)" if is_default else action.help,
            description=action.help,
            epilog=parser.epilog,
            allow_abbrev=False,
        )
        own = {one.name for one in action.options}
        subparser.options_elsewhere = {
            name: names for name, names in owners.items() if name not in own
        }
        # Code that reads a question finds a value for each option of the command.
        subparser.set_defaults(**command.defaults)
        _fill_parser(subparser, command, action.options)


def _format_overview() -> str:
    width = max(len(command.name) for command in COMMANDS)
    examples = [
        one for one in EXAMPLES if is_available(COMMANDS_BY_NAME[one.split()[0]])
    ]
    lines = [
        f"usage: {PROGRAM} command [options]",
        "",
        "kafka-clientele: which clients use this cluster, and how.",
    ]
    for title, rooms in GROUPS.items():
        group = [one for one in rooms if is_available(one.COMMAND)]
        if not group:
            continue
        lines += ["", f"{title}:"]
        for one in group:
            name, text = one.COMMAND.name, one.COMMAND.help.removeprefix("job: ")
            lines += textwrap.wrap(
                f"{name:<{width}}  {text}",
                initial_indent="  ",
                subsequent_indent=" " * (width + 4),
                width=_LINE_WIDTH,
                break_on_hyphens=False,
            )
    more = f"{PROGRAM} help COMMAND says what a command takes; --version which this is."
    lines += ["", "Examples:", *(f"  {PROGRAM} {one}" for one in examples)]
    return "\n".join([*lines, "", more, ""])
