# Strategy: a cluster changes seldom, and order is what makes its history true. So this
# is a loop over records and dicts, from the states of all tables before the first
# record to their rows behind the last one. It takes what stands in five tables and
# looks at none of them itself.
"""What becomes of the records of a cluster: rows of its tables, and one line each.

All rows are a function of the records in order: records may come at once or one by one.
A record whose frame was not read changes nothing; within a full set its key still
names something.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from .broker_histories import NOT_ASKED, BrokerHistory
from .change_texts import tell_some
from .cluster_records import FULL_SET, OK, ClusterRecord
from .config_histories import (
    RESOURCE_TYPES,
    ConfigHistory,
    QuotaHistory,
    SubscriptionHistory,
    entity_path_of,
)
from .record_keys import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    broker_entity,
    config_entity,
    feature_entity,
    record_key,
)
from .timelines import Row

_RESOURCE_IDS = {name: number for number, name in RESOURCE_TYPES.items()}
_OF_LOOKS = frozenset({"broker", "group"})
"""Types of resources whose configs a look at the cluster tells."""
_MICROS_PER_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStates:
    """Rows of the tables before the first record, as BrokerHistory and Timeline say."""

    broker_registrations: Sequence[Row] = ()
    broker_static_configs: Sequence[Row] = ()
    resource_configs: Sequence[Row] = ()
    client_metrics_subscriptions: Sequence[Row] = ()
    client_quotas: Sequence[Row] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRows:
    """What some records have made."""

    rows: Mapping[str, list[Row]]
    """Table to its rows that are new or changed."""
    ledger: list[Row]
    """A row a record, by the columns of cluster_changes; event_date in days since
    1970."""


@dataclass(slots=True)
class _FullSet:
    """What has been seen of a full set."""

    records: int = 0
    keys: set[str] = field(default_factory=set)


def fold_records(
    states: TableStates,
    records: Iterable[ClusterRecord],
    *,
    keys_of_sets: Mapping[str, Sequence[str | None]],
    config_types: Mapping[str, str],
) -> ChangedRows:
    """Take records one by one.

    Args:
        states: Of the tables before the first record; the rows are changed in place.
        records: In the order of their offsets.
        keys_of_sets: Id of a full set that ends here to the keys of all records of it
            that came before these.
        config_types: As BrokerHistory takes them.
    """
    cluster = _Cluster(states, keys_of_sets, config_types)
    ledger = [_ledger_row(one, cluster.take(one)) for one in records]
    return ChangedRows(rows=cluster.changed, ledger=ledger)


class _Cluster:
    """All histories together."""

    def __init__(
        self,
        states: TableStates,
        keys_of_sets: Mapping[str, Sequence[str | None]],
        config_types: Mapping[str, str],
    ) -> None:
        self._configs = ConfigHistory(states.resource_configs)
        self._quotas = QuotaHistory(states.client_quotas)
        self._subscriptions = SubscriptionHistory(states.client_metrics_subscriptions)
        self._brokers = BrokerHistory(
            states.broker_registrations,
            states.broker_static_configs,
            self._configs,
            config_types,
        )
        brokers = self._brokers
        self._takers: Mapping[str, Callable[[ClusterRecord], str | None]] = {
            "RegisterBroker": brokers.register,
            "UnregisterBroker": brokers.unregister,
            "FenceBroker": partial(brokers.fence, is_fenced=True),
            "UnfenceBroker": partial(brokers.fence, is_fenced=False),
            "BrokerRegistrationChange": brokers.change,
            "Config": self._take_config,
            "FeatureLevel": self._configs.apply_level,
            "ClientQuota": self._quotas.apply,
        }
        self._sets = defaultdict[str, _FullSet](_FullSet)
        for set_id, keys in keys_of_sets.items():
            for key in keys:
                self._note(set_id, key)

    @property
    def changed(self) -> dict[str, list[Row]]:
        """Return the rows of each table that are new or changed."""
        return {
            "broker_registrations": self._brokers.changed,
            "broker_static_configs": self._brokers.static_configs.changed,
            "resource_configs": self._configs.timeline.changed,
            "client_metrics_subscriptions": self._subscriptions.timeline.changed,
            "client_quotas": self._quotas.timeline.changed,
        }

    def take(self, record: ClusterRecord) -> str | None:
        """Take a record; return what it has changed."""
        if record.record_type == FULL_SET:
            return self._end_set(record) if record.fields is not None else None
        if record.set_id is not None:
            self._note(record.set_id, record.key)
        take = self._takers.get(record.record_type or "")
        if take is None or record.status != OK or record.fields is None:
            return None
        return take(record)

    def _note(self, set_id: str, key: str | None) -> None:
        one = self._sets[set_id]
        one.records += 1
        if key is not None:
            one.keys.add(key)

    def _take_config(self, record: ClusterRecord) -> str | None:
        fields = record.fields or {}
        number = fields["resource_type"]
        if number == CLIENT_METRICS_RESOURCE:
            return self._subscriptions.apply(record)
        resource_type = RESOURCE_TYPES.get(number)
        if resource_type is None:
            return None
        told = self._configs.apply(record, resource_type)
        if number == BROKER_RESOURCE and told is not None:
            self._brokers.refresh(record, fields["resource_name"], fields["name"])
        return told

    def _end_set(self, record: ClusterRecord) -> str:
        """Close what a set covers and does not name, if all of the set was seen."""
        fields, seen = record.fields or {}, self._sets[record.set_id or ""]
        if seen.records != fields["records"]:
            return (
                f"full set with {seen.records} of {fields['records']} records: "
                f"nothing is closed"
            )
        closed: list[str] = []
        covers = set(fields["covers"])
        if "brokers" in covers:
            closed += self._close_brokers(record, seen.keys)
        if "configs" in covers:
            closed += self._close_configs(record, seen.keys)
        if "quotas" in covers:
            closed += self._close_quotas(record, seen.keys)
        if "subscriptions" in covers:
            closed += self._close_subscriptions(record, seen.keys)
        told = f"full set of {seen.records} records"
        # Rows have no order of their own.
        return f"{told}, closed {tell_some(sorted(closed))}" if closed else told

    def _close_brokers(self, record: ClusterRecord, keys: set[str]) -> list[str]:
        gone = [
            one
            for one in self._brokers.list_live(record.cluster_id)
            if record_key("RegisterBroker", broker_entity(one)) not in keys
        ]
        for one in gone:
            self._brokers.end(record, one)
        return [broker_entity(one) for one in gone]

    def _close_configs(self, record: ClusterRecord, keys: set[str]) -> list[str]:
        closed = []
        for key, _ in self._configs.timeline.iter_current():
            cluster_id, resource_type, resource_name, name = key
            if cluster_id != record.cluster_id or not self._is_told(
                record, resource_type, resource_name
            ):
                continue
            entity = config_entity(_RESOURCE_IDS[resource_type], resource_name)
            if record_key("Config", entity, name) in keys:
                continue
            self._configs.timeline.close(key, record.at)
            if resource_type == "broker":
                self._brokers.refresh(record, resource_name, name)
            closed.append(f"{entity} {name}")
        return closed

    def _is_told(
        self, record: ClusterRecord, resource_type: str, resource_name: str
    ) -> bool:
        """Say whether a set of this source would name the configs of a resource."""
        if resource_type not in _RESOURCE_IDS:
            return False
        if not record.is_of_admin_api:
            return True
        if resource_type != "broker" or not resource_name.isdecimal():
            return resource_type in _OF_LOOKS
        # Who does not answer has still the configs that it had.
        live = self._brokers.find_live(record.cluster_id, int(resource_name))
        return live is None or live["static_configs"] not in NOT_ASKED

    def _close_quotas(self, record: ClusterRecord, keys: set[str]) -> list[str]:
        closed = []
        for key, _ in self._quotas.timeline.iter_current():
            cluster_id, path, name = key
            is_named = record_key("ClientQuota", path, name) in keys
            if cluster_id == record.cluster_id and not is_named:
                self._quotas.timeline.close(key, record.at)
                closed.append(f"{path} {name}")
        return closed

    def _close_subscriptions(self, record: ClusterRecord, keys: set[str]) -> list[str]:
        closed = []
        for (cluster_id, name), _ in self._subscriptions.timeline.iter_current():
            if cluster_id != record.cluster_id:
                continue
            entity = config_entity(CLIENT_METRICS_RESOURCE, name)
            known = self._subscriptions.properties_of((cluster_id, name))
            gone = [o for o in known if record_key("Config", entity, o) not in keys]
            if gone:
                left = {o: text for o, text in known.items() if o not in gone}
                self._subscriptions.put((cluster_id, name), left, record)
                closed += [f"{entity} {one}" for one in gone]
        return closed


def _ledger_row(record: ClusterRecord, change: str | None) -> Row:
    return {
        "cluster_id": record.cluster_id,
        "source": record.source,
        "valid_from": record.at,
        "not_before": record.not_before,
        "record_type": record.record_type,
        "record_version": record.record_version,
        "record_key": record.key,
        "entity": find_entity(record),
        "change": change,
        "metadata_offset": record.metadata_offset,
        "metadata_epoch": record.metadata_epoch,
        "set_id": record.set_id,
        "decode_status": record.status,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "event_date": record.at // _MICROS_PER_DAY,
        "observed_at": record.observed_at,
    }


def find_entity(record: ClusterRecord) -> str | None:
    """Return what a record is about; null where it was not read, or is about none."""
    fields = record.fields
    if fields is None or record.record_type == FULL_SET:
        return None
    if record.record_type == "Config":
        return config_entity(fields["resource_type"], fields["resource_name"])
    if record.record_type == "FeatureLevel":
        return feature_entity(fields["name"])
    if record.record_type == "ClientQuota":
        return entity_path_of(fields["entity"])
    return broker_entity(fields["broker_id"])
