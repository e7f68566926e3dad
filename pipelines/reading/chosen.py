"""Which clients and which time a reader has chosen, as widgets of a notebook say it."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.errors import InvalidSetting, UnknownClient
from pipelines.time_ranges import parse_moment

from .text_tables import make_printable

_SPAN = re.compile(r"(\d+)\s*([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_CLIENT_COLUMNS = ("client_id", "client_instance_id", "logical_client")
_MOST_KNOWN = 10_000
"""Names that a wrong one is compared with."""
_MOST_NAMED = 5
_MOST_WINDOWS = 60
"""Marks of a line that can be told apart."""
_WINDOWS_S = (10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 86_400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Who and when."""

    since: datetime
    """Knows its zone, as until does."""
    until: datetime
    client: str = ""
    """A client id, client instance id or logical client; empty: all."""
    principal: str = ""
    """Empty: all."""

    @property
    def is_narrow(self) -> bool:
        """Return whether a client or a principal is chosen."""
        return bool(self.client or self.principal)

    def window_of(self, rows: DataFrame, column: str = "received_at") -> int:
        """Return a window length, in seconds, that makes a line of rows.

        It is at least the longest push interval, if the rows have push_interval_ms.

        Args:
            rows: Rows in the time range; they may fill a part of it only.
            column: Times.
        """
        interval_s = F.lit(0)
        if "push_interval_ms" in rows.columns:
            interval_s = F.coalesce(F.max("push_interval_ms") / F.lit(1000), F.lit(0))
        first, last, longest = rows.agg(
            F.unix_seconds(F.min(column)), F.unix_seconds(F.max(column)), interval_s
        ).collect()[0]
        span = 0 if first is None else (last - first) / _MOST_WINDOWS
        least = max(span, longest)
        return next((one for one in _WINDOWS_S if one >= least), _WINDOWS_S[-1])

    def of_clients(self, rows: DataFrame) -> DataFrame:
        """Keep the rows of the clients; use with transform.

        Args:
            rows: Have principal, and at least one of the names of a client.
        """
        is_chosen = F.lit(True)
        if self.client:
            names = [one for one in _CLIENT_COLUMNS if one in rows.columns]
            is_chosen = is_chosen & F.lit(self.client).isin(*map(F.col, names))
        if self.principal:
            is_chosen = is_chosen & (F.col("principal") == self.principal)
        return rows.where(is_chosen)

    def check(self, *tables: DataFrame) -> None:
        """Refuse a client or principal that appears in none of these tables.

        Args:
            tables: Tables with principal and client_id, at any time.
        Raises: UnknownClient, naming similar clients or principals.
        """
        if not self.is_narrow or any(
            not rows.transform(self.of_clients).isEmpty() for rows in tables
        ):
            return
        principals = _read_names(tables, "principal")
        if self.principal and self.principal not in principals:
            raise UnknownClient(
                explain_unknown("principal", self.principal, principals)
            )
        told = explain_unknown("client", self.client, _read_names(tables, "client_id"))
        raise UnknownClient(told)

    def in_time(self, rows: DataFrame, column: str = "received_at") -> DataFrame:
        """Keep the rows of the time; use with transform.

        Args:
            rows: Have the column, and event_date where that spares reading files.
            column: Times.
        """
        kept = rows.where(self._covers(F.col(column)))
        if column == "received_at" and "event_date" in rows.columns:
            first, last = (
                one.astimezone(UTC).date() for one in (self.since, self.until)
            )
            kept = kept.where(F.col("event_date").between(first, last))
        return kept

    def select(self, rows: DataFrame) -> DataFrame:
        """Keep the rows of the clients and, by received_at, of the time."""
        return rows.transform(self.of_clients).transform(self.in_time)

    def _covers(self, times: Column) -> Column:
        return (times >= F.lit(self.since)) & (times < F.lit(self.until))


def explain_unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """Return a sentence about an unknown name, with the known ones that are similar.

    Args:
        kind: Noun for the name: client or principal.
        known: Names that exist; if none is similar, the first ones are listed.
    """
    near = difflib.get_close_matches(name, known, n=_MOST_NAMED)
    named = [make_printable(one) for one in near or sorted(known)[:_MOST_NAMED]]
    more = ", …" if len(known) > len(named) else ""
    return (
        f"{kind} {make_printable(name)} not found. "
        f"Known {kind}s: {', '.join(named) or 'none'}{more}"
    )


def _read_names(tables: Sequence[DataFrame], column: str) -> list[str]:
    names = {
        row[0]
        for rows in tables
        for row in rows.select(column).distinct().limit(_MOST_KNOWN).collect()
    }
    return sorted(names - {None})


def choose(
    *, now: datetime, since: str, until: str = "", client: str = "", principal: str = ""
) -> Chosen:
    """Read what widgets say.

    Args:
        now: Knows its zone.
        since: `90m`, `24h` or `7d` before until, or a moment such as 2026-03-01T06:00;
            UTC without an offset.
        until: A moment, not included; empty: now.
        client: As Chosen has it.
        principal: As Chosen has it.
    Raises: InvalidSetting, naming the widget.
    """
    end = read_moment("until", until) if until.strip() else now
    span = _SPAN.fullmatch(since.strip())
    begin = (
        end - timedelta(**{_UNITS[span[2]]: int(span[1])})
        if span
        else read_moment("since", since)
    )
    if begin >= end:
        raise InvalidSetting(f"widget since: {since!r} is not before until")
    return Chosen(
        since=begin, until=end, client=client.strip(), principal=principal.strip()
    )


def read_moment(widget: str, text: str) -> datetime:
    """Return the moment that the text of a widget names.

    Raises: InvalidSetting, naming the widget.
    """
    try:
        return parse_moment(text.strip())
    except ValueError:
        spans = " or a span such as 24h" if widget == "since" else ""
        raise InvalidSetting(
            f"widget {widget}: {text!r} is no moment such as 2026-03-01T06:00{spans}"
        ) from None
