"""Numbers of the first screen: what all active clients do now."""

from dataclasses import dataclass

from pipelines.counted import counted

from .fleet import Fleet, Totals

_SCALES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_WHOLE_FROM = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One number of the first screen."""

    title: str
    value: str
    """With its unit; empty: no client reports it."""
    note: str
    is_bad: bool = False
    """Whether the number says that something fails."""
    row: int | None = None
    """Row in CLIENTS of the client that the note names."""
    client: str = ""


def list_numbers(fleet: Fleet) -> list[Number]:
    """Return throughput, lag, errors and throttling of all active clients.

    Without a client that reports any of them, there is no number.
    """
    totals = fleet.totals
    if totals == Totals():
        return []
    lag, errors, throttled = (
        totals.largest_lag,
        totals.errors,
        totals.throttled_clients,
    )
    return [
        Number(
            title="Sent by producers",
            value=_show_bytes(totals.sent_bytes),
            note="all active producers",
        ),
        Number(
            title="Read by consumers",
            value=_show_bytes(totals.consumed_bytes),
            note="all active consumers",
        ),
        Number(
            title="Largest lag",
            value="" if lag is None else _format(lag),
            note="records" if totals.lag_client is None else "records, of",
            client=totals.lag_client or "",
            row=totals.lag_row,
        ),
        Number(
            title="Failed to send",
            value="" if errors is None else f"{_format(errors)}/s",
            note="records of all active producers",
            is_bad=bool(errors),
        ),
        Number(
            title="Throttled",
            value="" if throttled is None else counted(throttled, "client"),
            note="by quotas",
            is_bad=bool(throttled),
        ),
    ]


def _format(value: float) -> str:
    return f"{value:,.0f}" if value >= _WHOLE_FROM or value == 0 else f"{value:.3g}"


def _show_bytes(rate: float | None) -> str:
    if rate is None:
        return ""
    for scale, unit in _SCALES:
        if rate >= scale:
            return f"{rate / scale:.3g} {unit}/s"
    return f"{rate:.3g} B/s"
