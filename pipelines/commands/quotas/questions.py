"""What `quotas` is asked: its words, and whether they go together."""

import math
import socket
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from udfs.quotas import (
    CONNECTION_KEY,
    QUOTA_KEYS,
    Alteration,
    judge_alteration,
    parse_entity_path,
)

from . import EXPLAIN, WHAT_IF

_PRINCIPAL_TYPE = "User:"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaQuestion:
    """What was asked."""

    action: str
    user: str = ""
    """Name of a user, without its type."""
    client_id: str = ""
    address: str | None = None
    keys: tuple[str, ...] = QUOTA_KEYS
    at: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None
    entity: str | None = None
    """Path as the table has it."""
    alterations: tuple[Alteration, ...] = ()
    file: str | None = None
    cluster_id: str | None = None
    is_json: bool = False
    is_dry_run: bool = False
    is_pruning: bool = False
    """Whether what a file does not name goes."""


def read_question(arguments: Namespace) -> QuotaQuestion:
    """Return what was asked; ends the process with the usage where that is unclear."""
    complaint = _find_fault(arguments)
    if complaint:
        arguments.parser.error(complaint)
    try:
        alterations = read_alterations(arguments.alter, arguments.remove)
        entity = arguments.entity and parse_entity_path(arguments.entity).path
    except ValueError as error:
        arguments.parser.error(str(error))
    is_of_address = arguments.user is None and arguments.ip is not None
    keys = arguments.key or ([CONNECTION_KEY] if is_of_address else QUOTA_KEYS)
    return QuotaQuestion(
        action=arguments.action,
        user=(arguments.user or "").removeprefix(_PRINCIPAL_TYPE),
        client_id=arguments.client_id or "",
        address=arguments.ip,
        keys=tuple(keys),
        at=arguments.at,
        start=arguments.start,
        end=arguments.end,
        entity=entity,
        alterations=alterations,
        file=arguments.file,
        cluster_id=arguments.cluster_id,
        is_json=arguments.json,
        is_dry_run=arguments.dry_run,
        is_pruning=arguments.prune,
    )


def read_alterations(
    changes: Sequence[str], removals: Sequence[str]
) -> tuple[Alteration, ...]:
    """Read changes of quotas.

    Args:
        changes: As `users/alice:producer_byte_rate=1024`.
        removals: The same without a value.
    Raises: ValueError where one is none, or Kafka would refuse it, in Kafka's words.
    """
    found = [_read_change(text) for text in changes]
    found += [_read_removal(text) for text in removals]
    return check_alterations(found)


def check_alterations(
    alterations: Sequence[Alteration], *, is_judged: bool = True
) -> tuple[Alteration, ...]:
    """Return the changes, where Kafka would take them all.

    Args:
        is_judged: Whether that is asked; else only that none is there twice.
    Raises: ValueError in Kafka's words.
    """
    seen = set()
    for one in alterations:
        refusal = judge_alteration(one, _is_resolvable) if is_judged else None
        if refusal is not None:
            raise ValueError(refusal)
        name = one.entity.path, one.quota_key
        if name in seen:
            raise ValueError(f"{name[0]}:{name[1]} is changed twice")
        seen.add(name)
    return tuple(alterations)


def _read_change(text: str) -> Alteration:
    name, _, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if math.isnan(value) or not name:
        raise ValueError(
            f"{text!r} is no change; one is users/alice:producer_byte_rate=1024"
        )
    return _alter(name, value)


def _read_removal(text: str) -> Alteration:
    return _alter(text, None)


def _alter(name: str, value: float | None) -> Alteration:
    path, colon, key = name.rpartition(":")
    if not colon:
        raise ValueError(f"{name!r} names no key; users/alice:producer_byte_rate does")
    return Alteration(entity=parse_entity_path(path), quota_key=key, quota_value=value)


def _is_resolvable(name: str) -> bool:
    try:
        return bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False


def _find_fault(arguments: Namespace) -> str | None:
    """Return why the words are no question."""
    action = arguments.action
    unknown = [key for key in arguments.key if key not in QUOTA_KEYS]
    start, end = arguments.start, arguments.end
    faults = (
        (bool(unknown), f"there is no key {', '.join(unknown)}"),
        (
            action == EXPLAIN and not (arguments.user or arguments.ip),
            "say which client: --user, with --client-id where it has one, or --ip",
        ),
        (
            action == EXPLAIN and arguments.client_id and not arguments.user,
            "a client id alone is no client: --user",
        ),
        (
            action == WHAT_IF and not (arguments.alter or arguments.remove),
            "say what would change: --alter or --remove",
        ),
        (
            arguments.command_config and not arguments.bootstrap_server,
            "--command-config belongs to --bootstrap-server",
        ),
        (bool(start and end and start >= end), "--to must be later than --from"),
    )
    return next((text for is_fault, text in faults if is_fault), None)
