"""What `configs` is asked: its words, and whether they go together."""

from argparse import Namespace
from dataclasses import dataclass
from datetime import datetime

DESCRIBE, DIFF, HISTORY = "describe", "diff", "history"
_TWO = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientName:
    """One client, as it was named."""

    column: str
    """client_id or client_instance_id."""
    text: str

    def __str__(self) -> str:
        """Return it as on the command line."""
        return f"{self.column.replace('_', '-')} {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigQuestion:
    """What was asked."""

    clients: tuple[ClientName, ...]
    principal: str | None = None
    client_type: str | None = None
    keys: tuple[str, ...] = ()
    at: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None
    is_all: bool = False
    is_json: bool = False

    def __str__(self) -> str:
        """Return whom it is about, as on the command line."""
        named = [str(one) for one in self.clients]
        named += [f"principal {self.principal}"] if self.principal else []
        named += [f"client-type {self.client_type}"] if self.client_type else []
        return ", ".join(named) or "all clients"


def read_question(arguments: Namespace) -> ConfigQuestion:
    """Return what was asked; ends the process with the usage where that is unclear."""
    complaint = _find_fault(arguments)
    if complaint:
        arguments.parser.error(complaint)
    client_type = arguments.client_type
    return ConfigQuestion(
        clients=(
            *(ClientName(column="client_id", text=one) for one in arguments.client_id),
            *(
                ClientName(column="client_instance_id", text=one)
                for one in arguments.client_instance_id
            ),
        ),
        principal=arguments.principal,
        # The tables have the names of Java's packages, the options those of its tools.
        client_type=client_type and client_type.replace("-", "_"),
        keys=tuple(arguments.key),
        at=arguments.at,
        start=arguments.start,
        end=arguments.end,
        is_all=arguments.all,
        is_json=arguments.json,
    )


def _find_fault(arguments: Namespace) -> str | None:
    """Return what is wrong with the words as a whole, or nothing."""
    action, start, end = arguments.action, arguments.start, arguments.end
    clients = len(arguments.client_id) + len(arguments.client_instance_id)
    has_range = start is not None or end is not None
    has_moment = arguments.at is not None
    is_named = clients or arguments.principal or arguments.client_type
    is_diff, is_pair = action == DIFF, clients == _TWO
    faults = (
        (start and end and start >= end, "--to must be later than --from"),
        (
            is_diff and clients not in {1, _TWO},
            "diff is about one client, now or at two moments, or about two clients",
        ),
        (
            is_diff and is_pair and has_range,
            "two clients are compared at one moment: --at, or now",
        ),
        (
            is_diff and not is_pair and (has_moment or (end and not start)),
            "one client is compared at two moments: --from, and --to or now",
        ),
        (
            is_diff and arguments.client_instance_id and not (is_pair or start),
            "one instance is compared at two moments: --from, and --to or now",
        ),
        (
            not is_named,
            "say which clients: --client-id, --client-instance-id, --principal, …",
        ),
    )
    return next((text for is_fault, text in faults if is_fault), None)
