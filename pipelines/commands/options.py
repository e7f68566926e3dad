"""What a command and its options are, the options that several share, their parser."""

import argparse
import re
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, time
from typing import TYPE_CHECKING, Any, NoReturn

from pipelines.errors import PipelineError
from pipelines.settings.loading import BASE_NAME, CONFIG_OPTION, list_environments
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command."""

    name: str
    help: str
    options: tuple[Option, ...]
    takes_spark_options: bool = False
    """Whether words that are not its own go to spark-submit."""
    is_kafka_tool: bool = False
    """Whether it answers a wrong option as Apache Kafka's own tools do."""
    takes_secrets: bool = False
    """Whether a word too many may be a secret: then none is repeated."""
    former_name: str | None = None
    """What it was called; taken for one release, with a word on it."""
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
            destination = one.arguments.get("dest", one.name.strip("-"))
            value = getattr(arguments, destination.replace("-", "_"))
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
        named = {o.name: o.takes_value for o in self.options if o.name.startswith("-")}
        return named | {"--help": False, "-h": False}


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

LOCAL = "local"
ENV = option(
    "--env",
    f"Environment, a file of conf/: {', '.join(list_environments())} "
    f"(default: {LOCAL}, or {BASE_NAME} with {CONFIG_OPTION})",
    metavar="NAME",
)
CONFIG = option(
    CONFIG_OPTION,
    "Load settings from FILE; overrides --env",
    metavar="FILE",
)
SET = option(
    "--set",
    "Override one key, as section.key=value; may be repeated",
    default=[],
    action="append",
    metavar="KEY=VALUE",
)
VERBOSE = flag("--verbose", "print the whole of an error, with its stack")


# argparse's words for a misuse, and those of Kafka's tools.
_KAFKA_WORDS = (
    (re.compile(r"argument --(\S+): expected one argument"), "requires an argument"),
    (
        re.compile(r"unrecognized arguments: -+([^\s=]+).*"),
        "is not a recognized option",
    ),
)
_KAFKA_MISUSE = 1


class CommandParser(argparse.ArgumentParser):
    """A parser that can answer a misuse as Apache Kafka's tools do."""

    is_kafka_tool = False
    takes_secrets = False
    """As its Command says."""
    overview: str | None = None
    """The help in place of argparse's own."""

    def format_help(self) -> str:
        """Return what --help prints."""
        return self.overview or super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and how it is right, and end the process."""
        if not self.is_kafka_tool:
            super().error(message)
        for pattern, words in _KAFKA_WORDS:
            if found := pattern.fullmatch(message):
                is_missing = words.startswith("requires")
                message = f"{'Option ' if is_missing else ''}{found[1]} {words}"
        print(message, file=sys.stderr)
        self.print_help(sys.stderr)
        sys.exit(_KAFKA_MISUSE)
