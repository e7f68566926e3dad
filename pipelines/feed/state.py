"""What the topic says of one cluster, folded from its records, and full sets of it.

Strategy: the newest record of each key is what is so, and a removal takes its key away.
Of a broker, what follows its registration (fenced, unfenced, changed) adds to it, and
the next registration ends it. A full set says all of that anew in the order in which it
was written, so the same fold comes to the same state.
Records of another cluster or source are no part of it, but for one thing: which cluster
answered last at an address.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from udfs.cluster.record_bytes import read_record
from udfs.cluster.record_keys import broker_entity, full_set_key, record_key

from .records import FeedRecord, make_record

CLUSTER_ID, SOURCE, OBSERVED, NOT_BEFORE = (
    "cluster_id", "source", "observed_at_ms", "not_before_ms",
)  # fmt: skip
OFFSET, EPOCH, TIMESTAMP, SET_ID = "offset", "epoch", "timestamp_ms", "set_id"
DEFAULTS, WITHHELD, STATIC_CONFIGS = "defaults", "withheld", "static_configs"
SERVERS = "servers"
"""Of the record that closes a set: at which address that cluster answered."""
BROKERS, CONFIGS, QUOTAS, SUBSCRIPTIONS = (
    "brokers", "configs", "quotas", "subscriptions",
)  # fmt: skip
COVERS = (BROKERS, CONFIGS, QUOTAS, SUBSCRIPTIONS)
"""What a full set may be whole of."""
REGISTER, UNREGISTER = "RegisterBroker", "UnregisterBroker"
FOLLOW_UPS = ("FenceBroker", "UnfenceBroker", "BrokerRegistrationChange")
_FULL_SET = full_set_key("")
_SET_VERSION = 1


class Position(NamedTuple):
    """A record of the metadata log that is published, with all before it."""

    offset: int
    epoch: int


def type_of(key: str) -> str:
    """Return the record type that a key begins with."""
    return key.partition("/")[0]


def is_removal(record: FeedRecord) -> bool:
    """Return whether a record takes its key away: what is hidden is still there."""
    read = read_record(record.value)
    fields = read.fields or {}
    if read.record_type == "Config":
        return fields.get("value") is None and not record.number(WITHHELD)
    if read.record_type == "FeatureLevel":
        return fields.get("feature_level") == 0
    return bool(fields.get("remove"))


class FeedState:
    """What is so, by the records that said it."""

    def __init__(self, cluster_id: str, source: str) -> None:
        self._cluster_id, self._source = cluster_id, source
        self.is_whole = False
        """Whether a complete full set is the ground of it."""
        self.position: Position | None = None
        self.observed_ms: int | None = None
        """Time of the newest record."""
        self.timestamp_ms: int | None = None
        """Of the metadata log at the position."""
        self._said: dict[str, FeedRecord] = {}
        self._follow_ups: dict[str, list[FeedRecord]] = {}
        self._open_sets: dict[str, list[FeedRecord]] = {}

    def take(self, record: FeedRecord) -> None:
        """Add the next record of the topic."""
        is_ours = record.text(CLUSTER_ID) == self._cluster_id
        if not is_ours or record.text(SOURCE) != self._source:
            return
        self.observed_ms = record.number(OBSERVED) or self.observed_ms
        set_id = record.text(SET_ID)
        if record.key.startswith(_FULL_SET):
            self._close_set(record, set_id or "")
        elif set_id is not None:
            self._open_sets.setdefault(set_id, []).append(record)
        else:
            self._move_to(record)
            self._fold(record)

    def begin_anew(self) -> "FeedState":
        """Return a state of the same cluster and source in which nothing is so."""
        return FeedState(self._cluster_id, self._source)

    def copy(self) -> "FeedState":
        """Return the same state, which goes its own way."""
        copied = FeedState(self._cluster_id, self._source)
        copied.is_whole, copied.position = self.is_whole, self.position
        copied.observed_ms, copied.timestamp_ms = self.observed_ms, self.timestamp_ms
        copied._said = dict(self._said)
        copied._follow_ups = {key: list(one) for key, one in self._follow_ups.items()}
        return copied

    def find(self, key: str) -> FeedRecord | None:
        """Return the record that says what is so; None where nothing is."""
        return self._said.get(key)

    def records(self) -> list[FeedRecord]:
        """Return the records that say all that is so, in the order of writing."""
        records = []
        for key, one in self._said.items():
            records.append(one)
            records += self._follow_ups.get(key, ())
        return records

    def list_keys(self) -> list[str]:
        """Return the keys of what is so, without what follows registrations."""
        return list(self._said)

    def _close_set(self, closing: FeedRecord, set_id: str) -> None:
        records = self._open_sets.pop(set_id, [])
        try:
            wanted = json.loads(closing.value)["records"]
        except (ValueError, KeyError, TypeError):
            return
        if wanted != len(records):
            return
        self.is_whole = True
        self._said, self._follow_ups = {}, {}
        for one in records:
            self._fold(_without_set(one))
        self._move_to(closing)

    def _move_to(self, record: FeedRecord) -> None:
        offset, epoch = record.number(OFFSET), record.number(EPOCH)
        if offset is not None and epoch is not None:
            self.position = Position(offset, epoch)
            self.timestamp_ms = record.number(TIMESTAMP) or self.timestamp_ms

    def _fold(self, record: FeedRecord) -> None:
        kind, _, entity = record.key.partition("/")
        registration = record_key(REGISTER, entity)
        if kind in FOLLOW_UPS:
            if registration in self._said:
                self._follow_ups.setdefault(registration, []).append(record)
        elif kind == UNREGISTER:
            self._said.pop(registration, None)
            self._follow_ups.pop(registration, None)
        elif is_removal(record):
            self._said.pop(record.key, None)
        else:
            # What is said anew keeps its place: brokers stand before what is later.
            self._said[record.key] = record
            self._follow_ups.pop(record.key, None)


def restore(records: Iterable[FeedRecord], cluster_id: str, source: str) -> FeedState:
    """Return the state at the end of some records of the topic."""
    state = FeedState(cluster_id, source)
    for one in records:
        state.take(one)
    return state


def holds_full_set(records: Sequence[FeedRecord], cluster_id: str, source: str) -> bool:
    """Return whether these records are enough to restore a state."""
    return restore(records, cluster_id, source).is_whole


def last_cluster_at(records: Iterable[FeedRecord], servers: str) -> str | None:
    """Return the id of the cluster that last answered at an address; None: unknown."""
    found = None
    for one in records:
        if one.text(SERVERS) == servers:
            found = one.text(CLUSTER_ID)
    return found


def make_full_set(
    records: Sequence[FeedRecord],
    set_id: str,
    covers: Sequence[str],
    closing: Iterable[tuple[str, str | int | None]],
) -> list[FeedRecord]:
    """Return the records of a full set, and the one that closes it.

    Args:
        records: All that is so; each keeps its headers.
        covers: What the set is whole of.
        closing: Further headers of the closing record.
    """
    part = (SET_ID, set_id.encode())
    members = [one._replace(headers=(*one.headers, part)) for one in records]
    return [*members, close_set(set_id, len(members), covers, closing)]


def close_set(
    set_id: str,
    count: int,
    covers: Sequence[str],
    headers: Iterable[tuple[str, str | int | None]],
) -> FeedRecord:
    """Return the record that closes a full set of so many records."""
    value = {"v": _SET_VERSION, "records": count, "covers": list(covers)}
    text = json.dumps(value, separators=(",", ":")).encode()
    return make_record(full_set_key(set_id), text, [*headers, (SET_ID, set_id)])


def _without_set(record: FeedRecord) -> FeedRecord:
    headers = tuple(one for one in record.headers if one[0] != SET_ID)
    return record._replace(headers=headers)


def registration_key(broker_id: int) -> str:
    """Return `RegisterBroker/brokers/1`."""
    return record_key(REGISTER, broker_entity(broker_id))
