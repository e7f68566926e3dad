"""docs/reference/commands.md: every command with its options, from the registry."""

from collections.abc import Iterator, Sequence
from typing import Any

from pipelines.commands import GROUPS
from pipelines.commands.options import VERBOSE, Command, Option
from pipelines.settings.places import PROGRAM

from .markdown import code, format_page, format_table

_EVERY = (
    "Every command takes `--help` and `--verbose`, which prints the whole of an error. "
    "Exit codes are 0, 1 for what failed, 2 for a wrong word or setting, 130 after "
    "Ctrl-C and 143 after `kill` (0 for `bridge`, `forward` and `kafka`). "
    "`help COMMAND` says what a command takes, and `--version` which version this is."
)
_SPARK = "Any option of spark-submit may be added, `--master` among them."


def format_commands() -> str:
    """Return the page."""
    blocks = [_EVERY]
    for title, group in GROUPS.items():
        blocks.append(f"## {title}")
        for room in group:
            blocks += _format_command(room.COMMAND)
    return format_page("Commands", *blocks)


def _format_command(command: Command) -> Iterator[str]:
    yield f"### {command.name}"
    text = command.help.removeprefix("job: ")
    more = f" {_SPARK}" if command.takes_spark_options else ""
    yield f"{text[0].upper()}{text[1:]}.{more}"
    if not command.actions:
        yield from _format_options(command.name, command.options)
    for action in command.actions:
        yield f"#### {command.name} {action.name}"
        is_default = action.name == command.default_action
        yield f"{action.help}.{' This is the default action.' if is_default else ''}"
        yield from _format_options(f"{command.name} {action.name}", action.options)


def _format_options(name: str, options: Sequence[Option]) -> Iterator[str]:
    words = [one for one in options if not one.name.startswith("-")]
    rest = [one for one in options if one.name.startswith("-")]
    usage = [PROGRAM, name, *map(_name_word, words)]
    yield code(" ".join([*usage, *(["[options]"] if rest else [])]))
    if options:
        yield format_table(
            ("option", "default", "meaning"),
            [_format_option(one) for one in (*words, *rest) if one is not VERBOSE],
        )


def _name_word(one: Option) -> str:
    choices = one.arguments.get("choices")
    name = "|".join(choices) if choices else str(one.arguments.get("metavar", one.name))
    return f"[{name}]" if one.arguments.get("nargs") in {"?", "*"} else name


def _format_option(one: Option) -> tuple[str, str, str]:
    told: dict[str, Any] = one.arguments
    name = one.name
    if one.takes_value and name.startswith("-"):
        choices = told.get("choices")
        value = told.get("metavar") or ("|".join(choices) if choices else "")
        name += f" {value or name.strip('-').replace('-', '_').upper()}"
    default = told.get("default")
    shown = "" if default in (None, [], ()) else str(default)
    return code(name), code(shown), str(told["help"])
