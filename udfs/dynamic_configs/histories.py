# Strategy: alterations are few, and order is what makes their history true: a loop over
# records and dicts, as in `cluster.histories`.
"""What becomes of records of dynamic client configs: rows of tables, and a line each.

All rows are a function of the records in order: records may come at once or one by one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from udfs.cluster.change_texts import NOT_SET, show_value, tell_change
from udfs.cluster.record_keys import quota_entity_path
from udfs.cluster.timelines import Row, Timeline

from .topic_records import ALTERATION, REGISTRATION, REGISTRATIONS, TopicRecord

CONFIG_KEY = ("user_name", "client_id", "is_default_client_id", "config_key")
"""What names a config of an entity."""
SUPPORTS, NO_KEYS = " supports ", "-"
"""What the line of a registration has before its keys, and in the place of none."""
REGISTRATION_KEY = (
    *("user_name", "client_id"),
    *("client_software_name", "client_software_version"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRows:
    """What some records have made."""

    configs: list[Row]
    """Rows of dynamic_client_configs that are new or changed."""
    supported: list[Row]
    """The same of client_supported_configs."""
    ledger: list[Row]
    """A row a record, by the columns of dynamic_client_config_changes."""


def fold_records(
    configs: Iterable[Row],
    supported: Iterable[Row],
    records: Iterable[TopicRecord],
    registered: Iterable[TopicRecord] = (),
) -> ChangedRows:
    """Take records one by one.

    Args:
        configs: Rows before the first record, as Timeline takes them; they are changed
            in place.
        supported: Rows of registrations before it.
        records: In the order of their offsets.
        registered: All that the registrations' topic holds, in the order of its
            offsets. What the table has already is left out.
    """
    timeline = Timeline(CONFIG_KEY, configs, _origin_of)
    registrations = _Registrations(supported)
    ledger = []
    for one in records:
        told = None
        if one.record_type == ALTERATION:
            told = _alter(timeline, one)
        elif one.record_type == REGISTRATION:
            told = registrations.take(one)
        ledger.append(_ledger_row(one, told))
    ledger += [
        _ledger_row(one, registrations.take(one))
        for one in registered
        if one.record_type == REGISTRATION and registrations.lacks(one)
    ]
    return ChangedRows(
        configs=timeline.changed, supported=registrations.changed, ledger=ledger
    )


def _alter(timeline: Timeline, record: TopicRecord) -> str | None:
    """Take an alteration; return what it has changed."""
    name, value = str(record.config_key), record.config_value
    key = (record.user_name, record.client_id, record.is_default_client_id, name)
    before = timeline.find(key)
    shown = NOT_SET if before is None else show_value(before["config_value"])
    if value is None:
        ended = timeline.close(key, record.at)
        return None if ended is None else tell_change(name, shown, NOT_SET)
    beside = {"altered_by": record.altered_by}
    is_new = timeline.put(key, {"config_value": value}, record, beside=beside)
    return tell_change(name, shown, show_value(value)) if is_new else None


class _Registrations:
    """The table client_supported_configs: the newest registration of each key."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = {
            tuple(row[name] for name in REGISTRATION_KEY): row for row in rows
        }
        self._changed: dict[tuple[str, ...], Row] = {}

    @property
    def changed(self) -> list[Row]:
        return list(self._changed.values())

    def lacks(self, record: TopicRecord) -> bool:
        """Return whether a registration is newer than the row of its key."""
        row = self._rows.get(_registration_key(record))
        if record.config_keys is None or row is None:
            return record.config_keys is not None
        if row["registered_at"] != record.at:
            return bool(row["registered_at"] < record.at)
        return bool(row["topic"] == record.topic and row["offset"] < record.offset)

    def take(self, record: TopicRecord) -> str | None:
        """Take a registration; return what it has changed.

        One that a bridge has forgotten stays: the clients could take these keys.
        """
        if record.config_keys is None:
            return None
        key = _registration_key(record)
        before, keys = self._rows.get(key), sorted(set(record.config_keys))
        row: Row = dict(zip(REGISTRATION_KEY, key, strict=True))
        row |= _origin_of(record)
        row |= {"config_keys": keys, "registered_at": record.at}
        self._rows[key] = self._changed[key] = row
        if before is not None and list(before["config_keys"]) == keys:
            return None
        software = f"{record.client_software_name} {record.client_software_version}"
        return (
            f"{show_value(software)}{SUPPORTS}{show_value(', '.join(keys) or NO_KEYS)}"
        )


def _registration_key(record: TopicRecord) -> tuple[str, ...]:
    return tuple(getattr(record, name) for name in REGISTRATION_KEY)


def _origin_of(record: TopicRecord) -> Row:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
    }


def _ledger_row(record: TopicRecord, change: str | None) -> Row:
    return _origin_of(record) | {
        "record_type": record.record_type,
        "at": record.at,
        "altered_by": record.altered_by,
        "entity": entity_path(record),
        "change": change,
    }


def entity_path(record: TopicRecord) -> str:
    """Return what a record is about: `users/alice/clients/<default>`; empty: nobody."""
    if record.record_type == REGISTRATIONS:
        return ""
    parts: list[tuple[str, str | None]] = [("user", record.user_name)]
    if record.is_default_client_id:
        parts.append(("client-id", None))
    elif record.client_id:
        parts.append(("client-id", record.client_id))
    return quota_entity_path(parts)
