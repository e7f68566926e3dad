"""What may go from which table: the file of retention, held to the tables' contracts.

What a job needs to know where it stands never goes: of each topic and partition the
rows of the newest offset stay in its ledger and in the tables that are written before
it, and so do the rows of quarantine that stand for lost records, which tell offsets of
a topic from those of its forerunner.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pipelines.errors import InvalidSetting
from pipelines.settings.retention import (
    FOR_EVER,
    Retention,
    TableRetention,
    find_first_date,
)
from pipelines.streaming.topic_losses import REASONS
from pipelines.tables.contract import TableContract, quote_text
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    QUARANTINE,
)

_FAR_AHEAD_DAYS = 36_500
"""Rows of quarantine that are dated so far ahead go at once: they would never age. A
maintenance host whose clock is some years behind deletes nothing else by that."""
NOTHING = "false"
"""A condition that no row fulfils."""
_AT_MOST = (
    (CLIENT_METRICS.name, "days", CLIENT_PUSHES.name, "days"),
    (CLIENT_INSTANCES.name, "ended_days", CLIENT_PUSHES.name, "days"),
    ("client_configs", "ended_days", CLIENT_INSTANCES.name, "ended_days"),
)
"""What must not be kept longer than another thing, which tells of it."""


def check_retention(
    retention: Retention,
    contracts: Collection[TableContract],
    longest_read_hours: int,
) -> None:
    """Refuse what a table cannot keep, or must not forget.

    Raises: InvalidSetting, naming file and key.
    """
    by_name = {contract.name: contract for contract in contracts}
    for name, kept in {
        "every_table": retention.every_table,
        **retention.tables,
    }.items():
        place = f"{retention.place}: {name}"
        if kept.vacuum_hours < longest_read_hours:
            raise InvalidSetting(
                f"{place}.vacuum_hours: {kept.vacuum_hours} is less than "
                f"maintain_tables.longest_read_hours, {longest_read_hours}: a query, a "
                f"replay or a reader that goes on would lose the files that it reads"
            )
        if kept.log_hours < kept.vacuum_hours:
            raise InvalidSetting(
                f"{place}.log_hours: {kept.log_hours} is less than vacuum_hours, "
                f"{kept.vacuum_hours}: nobody could name the versions whose files stay"
            )
    for name, kept in retention.tables.items():
        if name not in by_name:
            raise InvalidSetting(f"{retention.place}: {name}: there is no such table")
        _check_kinds(retention.place, by_name[name], kept)
    for name, key, longer, longer_key in _AT_MOST:
        mine = getattr(retention.of(name), key)
        theirs = getattr(retention.of(longer), longer_key)
        if theirs != FOR_EVER and (mine == FOR_EVER or mine > theirs):
            raise InvalidSetting(
                f"{retention.place}: {name}.{key}: {mine or 'for ever'} is longer than "
                f"{longer}.{longer_key}, {theirs}"
            )


def _check_kinds(place: str, contract: TableContract, kept: TableRetention) -> None:
    kinds = {
        "days": contract.ages_by,
        "closed_days": contract.closes_by,
        "ended_days": contract.ends_with_instance,
    }
    for key, is_there in kinds.items():
        if getattr(kept, key) != FOR_EVER and not is_there:
            raise InvalidSetting(
                f"{place}: {contract.name}.{key}: rows of this table do not go by that"
            )


def write_moment(moment: datetime) -> str:
    """Return a moment as a literal of SQL, whatever the session's zone is."""
    return f"TIMESTAMP'{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z'"


def old_rows(contract: TableContract, kept: TableRetention, now: datetime) -> str:
    """Return SQL that is true of rows which are too old; NOTHING where none may be."""
    if kept.days == FOR_EVER or not contract.ages_by:
        return NOTHING
    if contract.ages_by in contract.partition_by:
        old = f"`{contract.ages_by}` < DATE'{find_first_date(kept.days, now)}'"
        if contract is not QUARANTINE:
            return old
        # A producer may choose any timestamp for a record.
        ahead = find_first_date(-_FAR_AHEAD_DAYS, now)
        return f"({old} OR `{contract.ages_by}` > DATE'{ahead}')"
    oldest = now - timedelta(days=kept.days)
    return f"`{contract.ages_by}` < {write_moment(oldest)}"


def describe_old_rows(contract: TableContract, days: int) -> str:
    """Return why old_rows chooses rows of a table."""
    why = f"older than {days} days"
    is_ahead = contract is QUARANTINE
    return f"{why} or dated more than 100 years ahead" if is_ahead else why


def closed_rows(contract: TableContract, kept: TableRetention, now: datetime) -> str:
    """Return SQL that is true of rows that were no longer so long ago."""
    if kept.closed_days == FOR_EVER or not contract.closes_by:
        return NOTHING
    oldest = now - timedelta(days=kept.closed_days)
    return f"NOT is_current AND `{contract.closes_by}` < {write_moment(oldest)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a topic."""

    topic: str
    partition: int


def kept_rows(contract: TableContract, newest: Mapping[Position, int]) -> str:
    """Return SQL that is true of old rows that stay, for a job needs them.

    Args:
        newest: The newest offset of each position, where only old rows have it.
    """
    kept = [
        f"(topic = {quote_text(at.topic)} AND partition = {at.partition} "
        f"AND offset = {offset})"
        for at, offset in sorted(newest.items(), key=str)
    ]
    if contract is QUARANTINE:
        kept.append(f"reason IN ({_list(REASONS)})")
    return " OR ".join(kept) or NOTHING


def _list(texts: Iterable[str]) -> str:
    return ", ".join(map(quote_text, texts))
