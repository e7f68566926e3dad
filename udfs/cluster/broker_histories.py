"""Brokers, record by record: their incarnations, static configs, and what is in force.

An incarnation is what a registration says it is. A look at the cluster sees none, so a
broker of `admin_api` is the same as long as it is there and listens where it did; a
registration that the log has told of goes on where a look finds the same address.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from .change_texts import NOT_SET, show_value, tell_change, tell_some
from .cluster_records import ClusterRecord
from .config_histories import REDACTED, ConfigHistory
from .record_writing import UNKNOWN_EPOCH, ZERO_INCARNATION
from .timelines import Row, Timeline, origin_of

_STATIC_CONFIGS_VERSION = 5
_MICROS_PER_MS = 1_000
REPLACED, UNREGISTERED, VANISHED = "replaced", "unregistered", "vanished"
DESCRIBED, REPORTED, NOT_REPORTED = "described", "reported", "not_reported"
NOT_ASKED = frozenset({"refused", "unreachable"})
"""What a broker's static configs are where nobody told them, and somebody asked."""
DESCRIBE_CONFIGS, REGISTRATION = "describe_configs", "registration"
_SHOWN = (
    ("is_fenced", {True: "fenced", False: "unfenced"}),
    ("in_controlled_shutdown", {True: "in controlled shutdown", False: "in service"}),
)
_TOLD = ("rack", "static_configs")
_COMPARED_LISTS = ("endpoints", "log_dirs", "cordoned_log_dirs")
_OF_LOG = (
    *("broker_epoch", "features", "log_dirs", "cordoned_log_dirs"),
    *("in_controlled_shutdown", "is_migrating_zk_broker"),
)
"""Columns that no look at the cluster tells."""
Broker = tuple[str, int]
"""Cluster and id."""


class BrokerHistory:
    """The tables broker_registrations and broker_static_configs."""

    def __init__(
        self,
        registrations: Iterable[Row],
        static_configs: Iterable[Row],
        configs: ConfigHistory,
        config_types: Mapping[str, str],
    ) -> None:
        """Take what the tables have.

        Args:
            registrations: All that there are.
            static_configs: As a Timeline takes them.
            configs: Dynamic configs, each record of them taken before it comes here.
            config_types: Name of a broker's config to the name of its type.
        """
        key = ("cluster_id", "broker_id", "config_name")
        self.static_configs = Timeline(key, static_configs)
        self._configs, self._config_types = configs, config_types
        self._rows: dict[tuple[str, int, str], Row] = {}
        self._newest: dict[Broker, Row] = {}
        self._changed: dict[tuple[str, int, str], Row] = {}
        self._names = defaultdict[Broker, set[str]](set)
        self._brokers = defaultdict[tuple[str, str], set[int]](set)
        for row in registrations:
            broker = row["cluster_id"], row["broker_id"]
            self._rows[*broker, row["incarnation_id"]] = row
            if row["is_current"]:
                self._newest[broker] = row
        for (cluster_id, broker_id, name), _ in self.static_configs.iter_current():
            self._note_name(cluster_id, broker_id, name)

    @property
    def changed(self) -> list[Row]:
        """Return the registrations that are new or changed."""
        return list(self._changed.values())

    def find_live(self, cluster_id: str, broker_id: int) -> Row | None:
        """Return the registration of a broker that has not ended."""
        row = self._newest.get((cluster_id, broker_id))
        return row if row is not None and row["ended_at"] is None else None

    def list_live(self, cluster_id: str) -> list[int]:
        """Return the brokers of a cluster that are registered."""
        known = sorted(broker for of, broker in self._newest if of == cluster_id)
        return [one for one in known if self.find_live(cluster_id, one)]

    def register(self, record: ClusterRecord) -> str | None:
        """Take a RegisterBroker record; return what it has changed."""
        fields = record.fields or {}
        broker = record.cluster_id, fields["broker_id"]
        live = self.find_live(*broker)
        incarnation = _name_incarnation(record, live)
        if live is not None and live["incarnation_id"] == incarnation:
            told = self._update(live, record)
        else:
            told = self._begin(broker, incarnation, live, record)
        if fields["static_configs"] is not None:
            told += self._take_static_configs(record, incarnation)
        return "; ".join(told) or None

    def unregister(self, record: ClusterRecord) -> str | None:
        """Take an UnregisterBroker record."""
        return self.end(record, (record.fields or {})["broker_id"])

    def end(self, record: ClusterRecord, broker_id: int) -> str | None:
        """End a broker, and with it its static configs; say how."""
        row = self.find_live(record.cluster_id, broker_id)
        if row is None:
            return None
        reason = VANISHED if record.is_of_admin_api else UNREGISTERED
        self._end(row, record, reason)
        broker = record.cluster_id, broker_id
        for name in sorted(self._names.pop(broker, set())):
            self._brokers[record.cluster_id, name].discard(broker_id)
            self.static_configs.close((*broker, name), record.at)
        return reason

    def fence(self, record: ClusterRecord, *, is_fenced: bool) -> str | None:
        """Take a FenceBroker or UnfenceBroker record."""
        return self._change(record, {"is_fenced": is_fenced})

    def change(self, record: ClusterRecord) -> str | None:
        """Take a BrokerRegistrationChange record; 0 leaves a flag as it is."""
        fields = record.fields or {}
        values: Row = {
            name: fields[field] > 0
            for name, field in (
                ("is_fenced", "fenced"),
                ("in_controlled_shutdown", "in_controlled_shutdown"),
            )
            if fields[field]
        }
        # Without log directories it says nothing of them.
        for name in ("log_dirs", "cordoned_log_dirs"):
            if fields[name] is not None:
                values[name] = fields[name]
        if not values.get("log_dirs", True):
            del values["log_dirs"]
        return self._change(record, values)

    def refresh(self, record: ClusterRecord, broker: str, name: str) -> None:
        """Say anew what is in force, after a dynamic config was altered.

        Args:
            broker: Its id; empty: the default of the cluster.
        """
        of_cluster = self._brokers.get((record.cluster_id, name), set())
        is_one = broker.isdecimal() and int(broker) in of_cluster
        for one in sorted(of_cluster) if not broker else [int(broker)] * is_one:
            key = (record.cluster_id, one, name)
            row = self.static_configs.find(key)
            if row is None or row["report"] != DESCRIBE_CONFIGS:
                continue
            values = _static_values(row) | self._find_effective(key, row)
            beside = {n: row[n] for n in ("incarnation_id", "config_type")}
            self.static_configs.put(key, values, record, beside=beside, is_part=True)

    def _change(self, record: ClusterRecord, values: Row) -> str | None:
        row = self.find_live(record.cluster_id, (record.fields or {})["broker_id"])
        # A full set says again what was so before, with its time.
        is_old = record.set_id is not None and row and record.at < row["valid_from"]
        if row is None or is_old:
            return None
        return "; ".join(self._set(row, record, values)) or None

    def _begin(
        self, broker: Broker, incarnation: str, live: Row | None, record: ClusterRecord
    ) -> list[str]:
        """Begin an incarnation, the one before it being replaced."""
        newest = self._newest.get(broker)
        if live is not None:
            self._end(live, record, REPLACED)
        if newest is not None and newest["is_current"]:
            newest["is_current"] = False
            self._note(newest)
        key = (*broker, incarnation)
        # One that was unregistered while it lived comes back under the same name.
        row = self._rows.setdefault(key, {"registered_at": record.at})
        row |= origin_of(record) | _registered_values(record)
        row |= {
            "broker_id": broker[1],
            "incarnation_id": incarnation,
            "valid_from": record.at,
            "metadata_version": self._configs.find_metadata_version(broker[0]),
            "ended_at": None,
            "end_reason": None,
            "is_current": True,
        }
        self._newest[broker] = row
        self._note(row)
        epoch = row["broker_epoch"]
        told = [f"registered, incarnation {incarnation}"]
        return told if epoch is None else [f"{told[0]}, epoch {epoch}"]

    def _update(self, row: Row, record: ClusterRecord) -> list[str]:
        """Take what is told again of an incarnation."""
        values = _registered_values(record)
        if not record.is_of_admin_api:
            is_same = row["broker_epoch"] == values["broker_epoch"]
            if is_same and record.at <= row["valid_from"]:
                # Said again: what has followed it is newer.
                return []
        else:
            for name in _OF_LOG:
                del values[name]
            if not values["endpoints"]:
                # A fenced broker may not have the listener that was asked.
                del values["endpoints"]
            if row["source"] != record.source:
                for name in ("endpoints", "record_version"):
                    values.pop(name, None)
        return self._set(row, record, values)

    def _set(self, row: Row, record: ClusterRecord, values: Row) -> list[str]:
        differing = {n: v for n, v in values.items() if row[n] != v}
        if not differing:
            return []
        told = _tell_differences(row, differing)
        row |= differing
        self._date(row, record)
        return told

    def _end(self, row: Row, record: ClusterRecord, reason: str) -> None:
        row |= {"ended_at": max(record.at, row["registered_at"]), "end_reason": reason}
        self._date(row, record)

    def _date(self, row: Row, record: ClusterRecord) -> None:
        """Say which record has changed a row last; its source is its first one."""
        row |= {n: getattr(record, n) for n in ("topic", "partition", "offset")}
        row |= {"valid_from": record.at, "not_before": record.not_before}
        self._note(row)

    def _note(self, row: Row) -> None:
        key = row["cluster_id"], row["broker_id"], row["incarnation_id"]
        self._changed[key] = row

    def _take_static_configs(
        self, record: ClusterRecord, incarnation: str
    ) -> list[str]:
        """Take all static configs of a broker; return what has changed."""
        fields = record.fields or {}
        broker = record.cluster_id, fields["broker_id"]
        told = {one["name"]: one["value"] for one in fields["static_configs"]}
        texts, is_first = [], not self._names.get(broker)
        for name in sorted(self._names.get(broker, set()) - told.keys()):
            ended = self.static_configs.close((*broker, name), record.at)
            self._names[broker].discard(name)
            self._brokers[record.cluster_id, name].discard(broker[1])
            if ended is not None:
                shown = show_value(ended["config_value"])
                texts.append(tell_change(name, shown, NOT_SET))
        for name, value in told.items():
            text = self._take_static_config(record, incarnation, name, value)
            texts += [text] if text else []
        if is_first and texts:
            return [f"{len(texts)} static configs"]
        return [tell_some(texts)] if texts else []

    def _take_static_config(
        self, record: ClusterRecord, incarnation: str, name: str, value: str | None
    ) -> str | None:
        key = (record.cluster_id, (record.fields or {})["broker_id"], name)
        before = self.static_configs.find(key)
        was = NOT_SET if before is None else show_value(before["config_value"])
        is_described = record.is_of_admin_api
        values: Row = {
            "config_value": value,
            "is_default": None if record.defaults is None else name in record.defaults,
            "report": DESCRIBE_CONFIGS if is_described else REGISTRATION,
            "effective_value": None,
            "effective_source": None,
        }
        if is_described:
            values |= self._find_effective(key, values)
        beside = {
            "incarnation_id": incarnation,
            "config_type": self._config_types.get(name),
        }
        is_new = self.static_configs.put(
            key, values, record, beside=beside, is_part=True
        )
        self._note_name(*key)
        now = show_value(value)
        return tell_change(name, was, now) if is_new and was != now else None

    def _find_effective(self, key: tuple[str, int, str], row: Row) -> Row:
        """Say what is in force of a config that was described."""
        cluster_id, broker_id, name = key
        for broker, source in (
            (str(broker_id), "dynamic_broker"),
            ("", "dynamic_default_broker"),
        ):
            dynamic = self._configs.find_dynamic(cluster_id, broker, name)
            if dynamic is not None:
                is_hidden = dynamic["status"] == REDACTED
                value = None if is_hidden else dynamic["config_value"]
                return {"effective_value": value, "effective_source": source}
        source = "default" if row["is_default"] else "static"
        return {"effective_value": row["config_value"], "effective_source": source}

    def _note_name(self, cluster_id: str, broker_id: int, name: str) -> None:
        self._names[cluster_id, broker_id].add(name)
        self._brokers[cluster_id, name].add(broker_id)


def _static_values(row: Row) -> Row:
    return {name: row[name] for name in ("config_value", "is_default", "report")}


def _name_incarnation(record: ClusterRecord, live: Row | None) -> str:
    fields = record.fields or {}
    told = str(fields["incarnation_id"])
    if not record.is_of_admin_api and told != ZERO_INCARNATION:
        return told
    if live is not None:
        known = _addresses(live)
        if not known or _addresses(fields) <= known:
            return str(live["incarnation_id"])
    return f"seen-{record.at // _MICROS_PER_MS}"


def _addresses(row: Mapping[str, Any]) -> set[tuple[str, int]]:
    return {(one["host"], one["port"]) for one in row["endpoints"] or ()}


def _registered_values(record: ClusterRecord) -> Row:
    """Return the columns that a registration fills."""
    fields = record.fields or {}
    is_look = record.is_of_admin_api
    epoch = fields["broker_epoch"]
    values: Row = {
        "broker_epoch": None if epoch == UNKNOWN_EPOCH else epoch,
        "record_version": record.record_version,
        "is_fenced": fields["fenced"],
        "in_controlled_shutdown": fields["in_controlled_shutdown"],
        "rack": fields["rack"],
        "endpoints": fields["endpoints"],
        "features": fields["features"],
        "log_dirs": fields["log_dirs"],
        "cordoned_log_dirs": fields["cordoned_log_dirs"],
        "is_migrating_zk_broker": fields["is_migrating_zk_broker"],
        "static_configs": _find_status(record),
    }
    return values | (dict.fromkeys(_OF_LOG) if is_look else {})


def _find_status(record: ClusterRecord) -> str:
    """Say what became of the static configs of a registration."""
    if record.static_configs is not None:
        return record.static_configs
    is_told = (record.fields or {})["static_configs"] is not None
    if record.is_of_admin_api:
        return DESCRIBED if is_told else NOT_REPORTED
    version = record.record_version or 0
    return REPORTED if is_told and version >= _STATIC_CONFIGS_VERSION else NOT_REPORTED


def _tell_differences(row: Row, values: Row) -> list[str]:
    told = [words[values[n]] for n, words in _SHOWN if values.get(n) is not None]
    for name in _TOLD:
        if name in values:
            before, now = (show_value(one) for one in (row[name], values[name]))
            told.append(f"{name.replace('_', ' ')} {before} -> {now}")
    for name in _COMPARED_LISTS:
        if name in values:
            shown = (_show_list(one) for one in (row[name], values[name]))
            told.append(f"{name.replace('_', ' ')} {' -> '.join(shown)}")
    return told


def _show_list(items: list[Any] | None) -> str:
    if items is None:
        return "not told"
    if not items:
        return "none"
    return ",".join(
        one if isinstance(one, str) else show_endpoint(one) for one in items
    )


def show_endpoint(endpoint: Mapping[str, Any]) -> str:
    """Return PLAINTEXT://host:port."""
    protocol, host, port = (endpoint[n] for n in ("security_protocol", "host", "port"))
    shown = f"[{host}]" if ":" in (host or "") else host
    return f"{protocol}://{shown}:{port}"
