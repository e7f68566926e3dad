"""Options of kafka-client-metrics, and which of them go together.

Source: Kafka 4.3, ClientMetricsCommand.java; seen on its tool.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.commands.options import CommandFault

ABOUT = "This tool helps to manipulate and describe client metrics configurations."

SELECTOR_KEYS = (
    "client_id",
    "client_instance_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""The bridge's own; named here so that the parser need not load it."""

OPTIONS = (
    ("--bootstrap-server", "SERVERS", "REQUIRED: the Kafka server to connect to"),
    ("--command-config", "FILE", "Properties of a Java client: security, SASL, TLS"),
    ("--alter", "", "Alter the configuration of a client metrics resource"),
    ("--delete", "", "Delete the configuration of a client metrics resource"),
    ("--describe", "", "Print the configuration of one resource, or of all"),
    ("--list", "", "List the client metrics resources"),
    ("--name", "NAME", "Name of the client metrics resource"),
    ("--generate-name", "", "Generate a UUID to use as the name"),
    ("--interval", "MS", "Push interval in milliseconds; empty: reset it"),
    ("--match", "K1=V1,K2=V2", f"selectors; keys are {', '.join(SELECTOR_KEYS)}"),
    ("--metrics", "M1,M2", "Metric name prefixes"),
    ("--version", "", "Print the version"),
)
"""Name, what its value is called (empty for none), and what it means."""

ACTIONS = ("alter", "delete", "describe", "list")
_EXCLUDED = {
    "delete": ("generate-name", "interval", "match", "metrics"),
    "describe": ("generate-name", "interval", "match", "metrics"),
    "list": ("name", "generate-name", "interval", "match", "metrics"),
}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MAX_INT32 = 2**31 - 1

Given = Mapping[str, Sequence[str] | bool]
"""Option without dashes to its values, or whether it is there."""


class Misuse(ValueError):
    """Raised when options do not go together; the text is Kafka's."""

    def __init__(self, message: str, *, shows_usage: bool = False) -> None:
        super().__init__(message)
        self.shows_usage = shows_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMetricsCall:
    """What one call of the command wants."""

    action: str
    bootstrap_server: str
    command_config: str | None
    name: str | None
    """None for all, or for a generated one."""
    values: Mapping[str, str]
    """Keys to set; an empty value deletes the key."""


def check(given: Given) -> ClientMetricsCall:
    """Read the options as Kafka's command does, in its order.

    Raises: Misuse; CommandFault for an option given twice.
    """
    if not any(given.values()):
        raise Misuse(ABOUT, shows_usage=True)
    actions = [one for one in ACTIONS if given[one]]
    if len(actions) != 1:
        raise Misuse(
            "Command must include exactly one action: --alter, --delete, --describe or "
            "--list.",
            shows_usage=True,
        )
    (action,) = actions
    if not given["bootstrap-server"]:
        raise Misuse("--bootstrap-server must be specified.")
    for one in _EXCLUDED.get(action, ()):
        if given[one]:
            raise Misuse(
                f'Option "[{action}]" can\'t be used with option "[{one}]"',
                shows_usage=True,
            )
    _check_name(action, given)
    interval = _take_one(given, "interval")
    if interval:
        _check_interval(interval)
    values = {
        "interval.ms": interval,
        "metrics": _join(given, "metrics"),
        "match": _join(given, "match"),
    }
    return ClientMetricsCall(
        action=action,
        bootstrap_server=_take_one(given, "bootstrap-server") or "",
        command_config=_take_one(given, "command-config"),
        name=_take_one(given, "name", CommandFault),
        values={key: value for key, value in values.items() if value is not None},
    )


def _check_name(action: str, given: Given) -> None:
    has_name = bool(given["name"])
    if action == "alter" and has_name == bool(given["generate-name"]):
        raise Misuse("One of --name or --generate-name must be specified with --alter.")
    if action == "delete" and not has_name:
        raise Misuse("A client metrics resource name must be specified with --delete.")


def _check_interval(text: str) -> None:
    is_integer = _INTEGER.fullmatch(text) is not None
    if not is_integer or not -_MAX_INT32 - 1 <= int(text) <= _MAX_INT32:
        raise Misuse(
            "Invalid interval value. Enter an integer, or leave empty to reset."
        )


def _values(given: Given, name: str) -> Sequence[str]:
    values = given[name]
    return () if isinstance(values, bool) else values


def _take_one(given: Given, name: str, fault: type[Exception] = Misuse) -> str | None:
    values = _values(given, name)
    if len(values) > 1:
        raise fault(
            f"Found multiple arguments for option {name}, but you asked for only one"
        )
    return values[0] if values else None


def _join(given: Given, name: str) -> str | None:
    """Split and join as Kafka's command does: empty items between others are lost."""
    items = []
    for value in _values(given, name):
        items += [item for item in value.split(",") if item] or [value]
    return ",".join(items) if given[name] else None
