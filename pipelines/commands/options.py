"""What a command and its options are, the options that several share, their parser."""

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from pipelines.errors import PipelineError
from pipelines.settings.loading import (
    BASE_NAME,
    CONFIG_OPTION,
    LOCAL_NAME,
    list_environments,
)
from pipelines.time_ranges import parse_date, parse_moment

if TYPE_CHECKING:
    from .call import Call


class CommandFault(PipelineError):
    """Raised when a command cannot do what it is told; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option or word of a command."""

    name: str
    takes_value: bool = True
    arguments: dict[str, Any]
    """What argparse is told about it."""

    @property
    def attribute(self) -> str:
        """Return the name of its value among the parsed arguments."""
        name: str = self.arguments.get("dest", self.name.strip("-"))
        return name.replace("-", "_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of a command, with its own options."""

    name: str
    help: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command."""

    name: str
    help: str
    options: tuple[Option, ...] = ()
    """Empty for a command with actions."""
    actions: tuple[Action, ...] = ()
    default_action: str | None = None
    """Action of a call that names none; null: one must be named."""
    takes_spark_options: bool = False
    """Whether words that are not its own go to spark-submit."""
    is_kafka_tool: bool = False
    """Whether it answers a wrong option as Apache Kafka's own tools do."""
    takes_secrets: bool = False
    """Whether a word too many may be a secret: then none is repeated."""
    needs_checkout: bool = False
    """Whether an installation by pip lacks what it needs."""
    is_job: bool = False
    """Whether Spark's own spark-submit starts it, here or on a cluster."""
    is_small: bool = False
    """Whether that job has little to do, and is to take little."""
    check: "Callable[[Call], None]" = lambda _call: None
    """What a job looks at before it is handed over."""
    run: "Callable[[Call], int]"
    """Do it, and return the exit code."""

    def words_of(self, arguments: argparse.Namespace) -> list[str]:
        """Return words that parse to these arguments; options only."""
        words: list[str] = []
        for one in self.options:
            value = getattr(arguments, one.attribute)
            if one.takes_value:
                values = value if isinstance(value, list) else [value]
                words += [
                    word
                    for given in values
                    if given is not None
                    for word in (one.name, _text_of(given))
                ]
            elif value:
                words.append(one.name)
        return words

    @property
    def own_options(self) -> dict[str, bool]:
        """Return option to whether it takes a value, --help included."""
        named = {
            one.name: one.takes_value
            for one in self.all_options
            if one.name.startswith("-")
        }
        return named | {"--help": False, "-h": False}

    @property
    def all_options(self) -> tuple[Option, ...]:
        """Return its options and those of its actions."""
        of_actions = (one for action in self.actions for one in action.options)
        return (*self.options, *of_actions)

    @property
    def defaults(self) -> dict[str, Any]:
        """Return the default of each option by its attribute."""
        return {
            one.attribute: one.arguments.get("default") if one.takes_value else False
            for one in self.all_options
        }


def option(name: str, help_text: str, **arguments: Any) -> Option:
    """Describe an option that takes a value."""
    return Option(name=name, arguments={"help": help_text, **arguments})


def flag(name: str, help_text: str) -> Option:
    """Describe an option that takes none."""
    return Option(
        name=name,
        takes_value=False,
        arguments={"help": help_text, "action": "store_true"},
    )


def one_of(choices: Collection[str]) -> Callable[[str], str]:
    """Return a parser of one of these words, in any case, that repeats no other word.

    What argparse says of its own `choices` holds the word that it refuses.
    """

    def convert(text: str) -> str:
        if text.upper() not in choices:
            raise argparse.ArgumentTypeError(f"expected {' or '.join(choices)}")
        return text.upper()

    return convert


def whole_number(low: int, high: int | None = None) -> Callable[[str], int]:
    """Return a parser of a whole number in a range, both ends included."""
    allowed = f"{low} or more" if high is None else f"from {low} to {high}"

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if number < low or (high is not None and number > high):
            raise argparse.ArgumentTypeError(
                f"expected a whole number, {allowed}, not {text!r}"
            )
        return number

    return convert


def _text_of(value: Any) -> str:
    if not isinstance(value, datetime):
        return str(value)
    # Of midnight its date, which is a moment as well.
    is_midnight = value.time() == time.min
    return value.date().isoformat() if is_midnight else value.isoformat()


def _as_argument(parse: Callable[[str], datetime], what: str) -> Callable[[str], Any]:
    """Return a parser whose ValueError argparse tells in our words."""

    def convert(text: str) -> datetime:
        try:
            return parse(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None

    return convert


DATE = _as_argument(parse_date, "a date, such as 2026-03-01")
MOMENT = _as_argument(parse_moment, "a date or a time, such as 2026-03-01T06:00")

ENV = option(
    "--env",
    f"{', '.join(list_environments())} or {BASE_NAME} "
    f"(default: {LOCAL_NAME}; with {CONFIG_OPTION}: {BASE_NAME})",
    metavar="NAME",
)
CONFIG = option(
    CONFIG_OPTION,
    "Load settings from FILE, which override --env",
    metavar="FILE",
)
SET = option(
    "--set",
    "Override one key, as section.key=value; may be repeated",
    default=[],
    action="append",
    metavar="KEY=VALUE",
)
VERBOSE = flag("--verbose", "Print the complete error with its stack trace")


# argparse's words for a misuse, and those of Kafka's tools.
_KAFKA_WORDS = (
    (re.compile(r"argument --(\S+): expected one argument"), "requires an argument"),
    (
        re.compile(r"unrecognized arguments: -+([^\s=]+).*"),
        "is not a recognized option",
    ),
)
_KAFKA_MISUSE, _MISUSE = 1, 2
COMMAND_WORD, ACTION_WORD = "command", "action"
"""Attributes of the parsed arguments."""


class CommandParser(argparse.ArgumentParser):
    """A parser that can answer a misuse as Apache Kafka's tools do."""

    is_kafka_tool = False
    takes_secrets = False
    """As its Command says."""
    spark_options: Collection[str] = ()
    """Options of spark-submit, if the command takes them."""
    options_elsewhere: Mapping[str, Sequence[str]] = MappingProxyType({})
    """Options of the command's other actions, to the names of these actions."""
    overview: str | None = None
    """The help in place of argparse's own."""

    def format_help(self) -> str:
        """Return what --help prints."""
        return self.overview or super().format_help()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse an unknown command or action with the nearest known one."""
        kind = action.dest
        if kind not in {COMMAND_WORD, ACTION_WORD} or value in (action.choices or ()):
            super()._check_value(action, value)
            return
        known = list(action.choices or ())
        near = difflib.get_close_matches(value, known, n=1, cutoff=0.5)
        if near:
            hint = f"; did you mean {near[0]}?"
        elif kind == ACTION_WORD:
            hint = f"; known actions: {', '.join(known)}"
        else:
            hint = f"; '{self.prog} help' lists the commands"
        raise argparse.ArgumentError(None, f"unknown {kind} {value!r}{hint}")

    def refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        """End the process for words that are neither options nor values."""
        if self.takes_secrets:
            self.error(f"unrecognized arguments: {len(words)}")
        name = words[0].partition("=")[0]
        hint = ""
        if owners := self.options_elsewhere.get(name):
            hint = f"; it belongs to {' and '.join(owners)}"
        elif name.startswith("--") and not self.is_kafka_tool:
            known = [*self._option_string_actions, *self.spark_options]
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
            hint = f"; did you mean {near[0]}?" if near else ""
        self.error(f"unrecognized arguments: {' '.join(words)}{hint}")

    def _format_usage_line(self) -> str:
        words = [
            one.metavar or one.dest
            for one in self._get_positional_actions()
            if isinstance(one.metavar or one.dest, str)
        ]
        options = "[options] (--help lists them)"
        return f"usage: {' '.join([self.prog, *map(str, words), options])}\n"

    def error(self, message: str) -> NoReturn:
        """Print one line of usage and what is wrong, and end the process."""
        if not self.is_kafka_tool:
            self._print_message(self._format_usage_line(), sys.stderr)
            self.exit(_MISUSE, f"{self.prog}: error: {message}\n")
        for pattern, words in _KAFKA_WORDS:
            if found := pattern.fullmatch(message):
                is_missing = words.startswith("requires")
                message = f"{'Option ' if is_missing else ''}{found[1]} {words}"
        print(message, file=sys.stderr)
        self.print_help(sys.stderr)
        sys.exit(_KAFKA_MISUSE)
