"""What is set, as the store's topics say it: records in, entities out.

Configs are stored in one topic, registrations in another one.
Strategy: records are taken in the order of the topic. One that cannot be read changes
nothing. What another bridge has set and this one does not know is described to admins
and counted, and given to no client.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from pipelines.kafka_client.client_configs import (
    MAX_STRING_BYTES,
    DescribedEntity,
    DescribeRequest,
    Entity,
)
from pipelines.settings.dynamic_config_keys import SUPPORTED_CONFIGS
from udfs.dynamic_configs import (
    ConfigRecord,
    DynamicRecord,
    SupportedRecord,
    UnreadableRecord,
    read_record,
    record_key,
    resolve_configs,
)
from udfs.dynamic_configs.records import UNKNOWN_TYPE

from .dynamic_counters import DynamicConfigCounters
from .rules import AlterationRules, Values, is_match, order_entity

_NOTHING: Values = {}
_MORE = "more"
_ROOM_BYTES = 64
"""In a description of supported keys, for how many versions it leaves out."""


class Place(StrEnum):
    """A topic of the store, by the name of its setting in [topics]."""

    CONFIGS = "client_configs"
    REGISTRATIONS = "client_registrations"


class StoredRecord(NamedTuple):
    """One record of a topic of the store."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int


class DynamicState:
    """All dynamic configs and registrations that have been read."""

    def __init__(self, rules: AlterationRules, counters: DynamicConfigCounters) -> None:
        self._rules = rules
        self._counters = counters
        self._values: dict[Entity, dict[str, str]] = {}
        self._supported: dict[Entity, dict[bytes, SupportedRecord]] = {}
        self._of_user: dict[str, dict[bytes, SupportedRecord]] = {}
        self._registered: dict[bytes, SupportedRecord] = {}
        """Registrations by the keys of their records; by user and entity above."""
        self._missing = {*Place}
        """Topics that have not been read to their end."""
        self._note_size()

    def clear(self, place: Place) -> None:
        """Forget what a topic said: it begins anew."""
        if place is Place.CONFIGS:
            self._values = {}
            self._counters.unknown_values = Counter()
        else:
            self._supported, self._of_user, self._registered = {}, {}, {}
        self._missing.add(place)
        self._note_size()

    @property
    def is_loaded(self) -> bool:
        """Whether the end of the configs' topic has been reached once."""
        return Place.CONFIGS not in self._missing

    @property
    def is_complete(self) -> bool:
        """Whether the ends of both topics have been reached once."""
        return not self._missing

    def note_end(self, place: Place) -> None:
        """Note that nothing more was in a topic."""
        self._missing.discard(place)
        self._note_size()

    def apply(
        self, records: Iterable[StoredRecord], place: Place
    ) -> list[tuple[int, str]]:
        """Take records of a topic.

        Returns: Offset and reason of those that cannot be read.
        """
        unreadable = []
        for one in records:
            try:
                record = _read(one, place)
            except UnreadableRecord as error:
                self._counters.unreadable_records[error.reason] += 1
                unreadable.append((one.offset, error.reason))
                continue
            if isinstance(record, ConfigRecord):
                self._apply_config(record)
            elif isinstance(record, SupportedRecord):
                said = None if record.config_keys is None else record
                self._put_registration(record_key(record), said)
        self._note_size()
        return unreadable

    def find(self, entity: Entity) -> Values:
        """Return what is set for an entity, by any bridge."""
        return self._values.get(entity, _NOTHING)

    def resolve(self, user_name: str, client_id: str | None) -> dict[str, str]:
        """Return what applies to a client, of what this bridge knows."""
        resolved = resolve_configs(user_name, client_id, self._find_known)
        return {key: one.config_value for key, one in resolved.items()}

    def describe(self, request: DescribeRequest) -> Iterator[DescribedEntity]:
        """Yield the entities that a filter takes, in their order."""
        entities = self._values.keys() | self._supported.keys()
        found = [one for one in entities if is_match(one, request)]
        for entity in sorted(found, key=order_entity):
            values = dict(self.find(entity))
            supported = self._supported.get(entity)
            if supported:
                values[SUPPORTED_CONFIGS] = write_supported(supported.values())
            yield DescribedEntity(entity, dict(sorted(values.items())))

    def registrations_of(self, user_name: str) -> Mapping[bytes, SupportedRecord]:
        """Return a user's registrations by the keys of their records."""
        return self._of_user.get(user_name, {})

    def _find_known(self, entity: Entity) -> Values:
        takes = self._rules.takes
        return {key: v for key, v in self.find(entity).items() if takes(key, v)}

    def _apply_config(self, record: ConfigRecord) -> None:
        key, value = record.config_key, record.config_value
        values = self._values.setdefault(record.entity, {})
        self._count_unknown(key, values.get(key), -1)
        if value is None:
            values.pop(key, None)
        else:
            values[key] = value
        self._count_unknown(key, value, 1)
        if not values:
            del self._values[record.entity]

    def _count_unknown(self, key: str, value: str | None, number: int) -> None:
        if value is not None and not self._rules.takes(key, value):
            unknown, shown = self._counters.unknown_values, self._rules.show_key(key)
            unknown[shown] += number
            if not unknown[shown]:
                del unknown[shown]

    def _put_registration(self, key: bytes, record: SupportedRecord | None) -> None:
        """Replace a registration; None: it is forgotten."""
        if record is None:
            known = self._registered.pop(key, None)
            if known is None:
                return
            del self._of_user[known.user_name][key]
            del self._supported[known.entity][key]
            if not self._of_user[known.user_name]:
                del self._of_user[known.user_name]
            if not self._supported[known.entity]:
                del self._supported[known.entity]
            return
        self._registered[key] = record
        self._of_user.setdefault(record.user_name, {})[key] = record
        self._supported.setdefault(record.entity, {})[key] = record

    def _note_size(self) -> None:
        self._counters.entities = len(self._values)
        self._counters.registrations = len(self._registered)
        self._counters.is_loaded = self.is_loaded


def _read(stored: StoredRecord, place: Place) -> DynamicRecord:
    """Read a record of a topic. Raises: UnreadableRecord, also of a wrong topic."""
    record = read_record(stored.key, stored.value, stored.timestamp_ms)
    is_registration = isinstance(record, SupportedRecord)
    if is_registration != (place is Place.REGISTRATIONS):
        raise UnreadableRecord(UNKNOWN_TYPE)
    return record


def write_supported(records: Iterable[SupportedRecord]) -> str:
    """Return the value of supported.configs: which keys each software takes.

    The proposal's better alternative, as JSON: ClientInformation(…) to keys by commas;
    the software registered last comes first. Where a text of Kafka's has no room for
    all, `more` says how many are left out.
    """
    newest = sorted(records, key=lambda one: one.registered_at_ms, reverse=True)
    shown: dict[str, str | int] = {}
    used = _ROOM_BYTES
    for place, one in enumerate(newest):
        software = (
            f"ClientInformation(softwareName={one.client_software_name}, "
            f"softwareVersion={one.client_software_version})"
        )
        keys = ", ".join(one.config_keys or ())
        used += len(json.dumps({software: keys}))
        if used > MAX_STRING_BYTES:
            shown[_MORE] = len(newest) - place
            break
        shown[software] = keys
    return json.dumps(shown)
