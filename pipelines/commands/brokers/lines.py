"""Brokers as lines of text."""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Row

from pipelines.commands.configs.lines import show_time
from pipelines.counted import counted
from pipelines.reading.text_tables import make_printable

_MAX_WIDTH = 60
"""Longest cell that others are aligned to, and that is shown in a list."""
NULL, UNKNOWN = "null", "unknown"


def list_brokers(brokers: Sequence[Row]) -> Iterator[str]:
    """Return a line for each broker, and the time of the last observation.

    Args:
        brokers: Rows of the view brokers, with_last_observation.
    """
    observed = brokers[0]["observed_at"] if brokers else None
    seen = "" if observed is None else show_time(observed.replace(microsecond=0))
    is_old = any(one["state"] == UNKNOWN for one in brokers)
    names = ("BROKER", "STATE", "RACK", "ENDPOINTS", "REGISTERED", "STATIC-CONFIGS")
    yield from align(
        [
            names,
            *(
                (
                    str(one["broker_id"]),
                    one["state"],
                    one["rack"] or "-",
                    ",".join(map(_show_endpoint, one["endpoints"] or ())) or "-",
                    show_time(one["registered_at"].replace(microsecond=0)),
                    _show_told(one),
                )
                for one in brokers
            ),
        ]
    )

    if is_old:
        yield (
            f"unknown since {seen}, the last observation of the cluster: check the "
            "bridge and run cluster_metadata_to_delta"
        )
    elif seen:
        yield f"last observation of the cluster: {seen}"


def _show_endpoint(endpoint: Row) -> str:
    host = endpoint["host"] or ""
    shown = f"[{host}]" if ":" in host else host
    return f"{endpoint['security_protocol']}://{shown}:{endpoint['port']}"


def _show_told(broker: Row) -> str:
    status, count = broker["static_configs"], broker["config_count"]
    return f"{status} ({count})" if count else str(status)


def describe_drift(
    rows: Sequence[Row], *, configs: int, brokers: int, left_out: int
) -> Iterator[str]:
    """Return the lines of a drift, the name of a config once.

    Args:
        rows: From select_drift, by config.
        configs: That are known.
        brokers: That are compared.
        left_out: Configs that differ and are not shown.
    """
    cells = [("CONFIG", "VALUE", "BROKERS", "SOURCE", "EFFECTIVE")]
    last = None
    for row in rows:
        name = row["config_name"]
        cells.append(
            (
                "" if name == last else name,
                _show_value(row["config_value"]) if row["source"] != "not told" else "",
                ",".join(map(str, row["brokers"])),
                row["source"],
                _show_effective(row),
            )
        )
        last = name
    if rows:
        yield from align(cells)
    count = len({row["config_name"] for row in rows})
    differ = "differs" if count == 1 else "differ"
    told = (
        f"{count} of {counted(configs, 'config')} {differ} between "
        f"{counted(brokers, 'live broker')}"
    )
    if left_out:
        who = "that names" if left_out == 1 else "that name"
        are = "is" if left_out == 1 else "are"
        shows = "it" if left_out == 1 else "them"
        told += f" ({left_out} {who} a broker {are} left out, --all shows {shows})"
    yield told


def _show_effective(row: Row) -> str:
    """Return what is in force, where that is not the static value."""
    source = row["effective_source"]
    if source is None or not source.startswith("dynamic"):
        return ""
    value = row["effective_value"]
    return f"{'(hidden)' if value is None else _show_value(value)} ({source})"


def describe_check(
    broken: Sequence[Row],
    verdicts: Mapping[int, str | None],
    *,
    brokers: int,
) -> Iterator[str]:
    """Return a line for each broker that breaks a constraint.

    Args:
        broken: Of the view broker_configs.
        verdicts: Broker to how it breaks it.
        brokers: That have told the config.
    """
    if broken:
        yield from align(
            [
                ("BROKER", "VALUE", "SOURCE", "VERDICT"),
                *(
                    (
                        str(row["broker_id"]),
                        _show_value(row["config_value"]),
                        row["source"],
                        verdicts[row["broker_id"]] or "",
                    )
                    for row in broken
                ),
            ]
        )
    breaks = "breaks" if len(broken) == 1 else "break"
    of_all = counted(brokers, "live broker")
    yield f"{len(broken)} of {of_all} {breaks} the constraint"


def name_silent(live: Sequence[Row]) -> Iterator[str]:
    """Say whose static configs are not known."""
    silent: dict[str, list[str]] = {}
    for one in live:
        if not one["config_count"]:
            silent.setdefault(one["static_configs"], []).append(str(one["broker_id"]))
    for status, brokers in sorted(silent.items()):
        yield f"not among them: {', '.join(brokers)} (static configs {status})"


def describe_history(rows: Sequence[Row], *, is_one: bool) -> Iterator[str]:
    """Return a line an event.

    Args:
        rows: From select_broker_history.
        is_one: Whether all are of the broker that was named.
    """
    if not rows:
        yield "nothing happened in that time"
    yield from align(
        [
            (
                show_time(row["at"].replace(microsecond=0)),
                *(() if is_one else (_show_whom(row["broker_id"]),)),
                row["what"],
                row["detail"],
            )
            for row in rows
        ]
    )


def _show_whom(broker_id: int | None) -> str:
    return "all brokers" if broker_id is None else f"broker {broker_id}"


def _show_value(value: str | None) -> str:
    return NULL if value is None else value


def align(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lay rows out in columns, all to the left."""
    if not rows:
        return
    cells = [[make_printable(cell) for cell in row] for row in rows]
    widths = [
        max(min(_MAX_WIDTH, len(cell)) for cell in column)
        for column in zip(*cells, strict=True)
    ]
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(padded).rstrip()
