"""Configurations of clients as lines of text, in the manner of kafka-configs.sh."""

import difflib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from pyspark.sql import Row

from pipelines.reading.client_states import ACTIVE
from pipelines.reading.text_tables import format_table, make_printable

HIDDEN = "null"
"""As Kafka shows a sensitive value."""
_NO_CLIENT_ID = "without a client-id"
_REDACTED, _UNKNOWN = "redacted", "unknown"
_DYNAMIC = "dynamic_"
"""Sources of dynamic client configs begin with it."""
_SHOWN_NAMES = 3
"""Most instances of one value that a line names."""
_MAX_WIDTH = 60
"""Longest key and value that others are aligned to."""


def describe_instance(
    instance: Row,
    entries: Sequence[Row],
    is_all: bool,  # noqa: FBT001 - of one option
) -> Iterator[str]:
    """Return the lines of one client instance.

    Args:
        instance: Of client_configs, with state.
        entries: Of client_config_entries or effective_client_configs, of this
            instance.
        is_all: Whether defaults are among them.
    """
    which = "All configs" if is_all else "Configs that are not defaults"
    software = (
        f"{instance['client_software_name']} {instance['client_software_version']}"
    )
    state = f", {instance['state']}" if instance["state"] else ""
    at = instance["received_at"]
    pushed = "not pushed" if at is None else f"pushed {show_time(at)}"
    yield make_printable(
        f"{which} for client-instance-id {instance['client_instance_id']} "
        f"({show_client(instance)}, {software}, {pushed}{state}) are:"
    )
    has_dynamic = any(map(_is_dynamic, entries))
    yield from _align(
        [
            (
                f"{row['config_key']}={_show_value(row)}",
                f"sensitive={_flag(row['status'] == _REDACTED)}",
                f"type={row['config_type'] or 'UNKNOWN'}",
                f"status={row['status'] or _UNKNOWN}",
                f"source={_show_source(row)}",
                *(_show_dynamic(row) if has_dynamic else ()),
            )
            for row in entries
        ]
    )


def describe_moment(
    at: str,
    rows: Sequence[Row],
    is_all: bool,  # noqa: FBT001 - of one option
) -> Iterator[str]:
    """Return the lines of logical clients at a moment.

    Args:
        at: The moment, as text.
        rows: From select_configs_at, by client and key; a null value was hidden.
        is_all: Whether defaults are among them.
    """
    which = "All configs" if is_all else "Configs that are not defaults"
    if not rows:
        yield f"{which} at {at}: none"
    for client, of_client in _by_client(rows):
        yield make_printable(f"{which} for {client} at {at} are:")
        yield from _align(
            [
                (
                    f"{row['config_key']}={_show_value(row)}",
                    f"sensitive={_flag(row['config_value'] is None)}",
                    f"type={row['config_type'] or 'UNKNOWN'}",
                    f"default={_flag(row['is_default'])}",
                    f"instances={len(row['client_instance_ids'])}",
                )
                for row in of_client
            ]
        )


def describe_diff(titles: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Return the lines of a difference.

    Args:
        titles: Of both sides.
        rows: From client_config_diff.
    """
    yield make_printable(f"- {titles[0]}")
    yield make_printable(f"+ {titles[1]}")
    if not rows:
        yield "no difference"
    for row in rows:
        yield make_printable(f"  {row['config_key']} ({row['change']})")
        for sign, values in (("-", row["before"]), ("+", row["after"])):
            for one in values:
                note = " (default)" if one["is_default"] else ""
                yield make_printable(f"{sign}   {_show_value(one)}{note}")


def describe_disagreements(
    instances: Sequence[Row], rows: Sequence[Row]
) -> Iterator[str]:
    """Return the lines of how active instances disagree, or that they do not.

    Args:
        instances: Of client_configs, with state: of all clients that are meant.
        rows: Of client_config_disagreements, by client and key.
    """
    clients: dict[str, Row] = {}
    for row in (*instances, *rows):
        clients.setdefault(row["logical_client"], row)
    for logical_client, client in clients.items():
        differing = [row for row in rows if row["logical_client"] == logical_client]
        who = make_printable(show_client(client))
        if differing:
            yield f"Active instances of {who} disagree:"
            yield from _describe_keys(differing)
            continue
        active = [
            row
            for row in instances
            if row["logical_client"] == logical_client and is_active(row)
        ]
        plural = "" if len(active) == 1 else "s"
        yield f"{len(active)} active instance{plural} of {who}: no difference"


def _describe_keys(rows: Sequence[Row]) -> Iterator[str]:
    """Return the lines of values of one client, each with those that have it."""
    keys = dict.fromkeys(row["config_key"] for row in rows)
    for key in keys:
        yield make_printable(f"  {key}")
        yield from _align(
            [
                (
                    f"  {_show_value(row)}{' (default)' if row['is_default'] else ''}",
                    f"instances={row['instances']}",
                    _show_some(row["client_instance_ids"]),
                )
                for row in rows
                if row["config_key"] == key
            ]
        )


def _show_some(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    return f"{', '.join(names[:_SHOWN_NAMES])}{more}"


def describe_history(rows: Sequence[Row]) -> Iterator[str]:
    """Return the lines of a history.

    Args:
        rows: Of client_config_timeline, by client, key and time.
    """
    if not rows:
        yield "no value in that time"
    names = ("config_key", "value", "default", "from", "to", "instances")
    for client, of_client in _by_client(rows):
        yield make_printable(f"History of {client}:")
        cells = [
            (
                row["config_key"],
                _show_value(row),
                _flag(row["is_default"]),
                show_time(row["valid_from"]),
                show_time(row["valid_to"]) if row["valid_to"] else "now",
                len(row["client_instance_ids"]),
            )
            for row in of_client
        ]
        yield format_table(names, cells, max_width=_MAX_WIDTH)


def is_active(instance: Row) -> bool:
    """Return whether an instance is active.

    Args:
        instance: Has state.
    """
    return bool(instance["state"] == ACTIVE)


def show_client(row: Row) -> str:
    """Return who a logical client is."""
    client_id = row["client_id"]
    name = _NO_CLIENT_ID if client_id is None else f"client-id {client_id}"
    return f"{name}, {row['client_type'] or 'client'} of {row['principal']}"


def show_time(moment: datetime) -> str:
    """Return a moment as ISO 8601, in UTC."""
    # Spark gives moments without a zone, in that of this process.
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def find_near(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return known names that are like the wanted ones."""
    near = [
        make_printable(name)
        for one in wanted
        for name in difflib.get_close_matches(one, known, n=3)
    ]
    return list(dict.fromkeys(near))


def _by_client(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    clients: dict[str, list[Row]] = {}
    for row in rows:
        clients.setdefault(row["logical_client"], []).append(row)
    for of_client in clients.values():
        yield show_client(of_client[0]), of_client


def _align(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    printable = [[make_printable(cell) for cell in row] for row in cells]
    widths = [
        min(_MAX_WIDTH, max(map(len, column)))
        for column in zip(*printable, strict=True)
    ]
    for row in printable:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield f"  {' '.join(padded)}".rstrip()


def _show_value(row: Row) -> str:
    value: str | None = row["config_value"]
    return HIDDEN if value is None else value


def _show_source(row: Row) -> str:
    version, source = row["catalog_version"], row["source"] or _UNKNOWN
    # A dynamic config is of no release.
    is_catalogued = version and not source.startswith(_DYNAMIC)
    return f"{source}:{version}" if is_catalogued else str(source)


def _is_dynamic(row: Row) -> bool:
    return row.asDict().get("dynamic_value") is not None


def _show_dynamic(row: Row) -> tuple[str, ...]:
    """Return what is set for the client, whose it is, and what became of it."""
    if not _is_dynamic(row):
        return ("", "", "", "")
    obeyed = row["is_obeyed"]
    return (
        f"dynamic={row['dynamic_value']}",
        f"of={row['dynamic_source']}",
        f"state={row['state']}",
        f"obeyed={_UNKNOWN if obeyed is None else _flag(obeyed)}",
    )


def _flag(value: object) -> str:
    return "true" if value else "false"
