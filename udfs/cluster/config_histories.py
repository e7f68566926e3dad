"""Dynamic configs, feature levels, quotas and subscriptions, record by record."""

from collections.abc import Iterable, Mapping

from udfs.subscriptions import properties as kafka

from .change_texts import HIDDEN, NOT_SET, show_number, show_value, tell_change
from .cluster_records import ClusterRecord
from .record_keys import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    quota_entity_path,
)
from .timelines import Row, Timeline

RESOURCE_TYPES: Mapping[int, str] = {
    BROKER_RESOURCE: "broker",
    GROUP_RESOURCE: "group",
    TOPIC_RESOURCE: "topic",
}
FEATURE = "feature"
"""resource_type of levels of features, which only the log tells."""
METADATA_VERSION = "metadata.version"
REDACTED = "redacted"


class ConfigHistory:
    """The table resource_configs."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Take what the table has; see Timeline."""
        key = ("cluster_id", "resource_type", "resource_name", "config_name")
        self.timeline = Timeline(key, rows)

    def apply(self, record: ClusterRecord, resource_type: str) -> str | None:
        """Take a Config record; return what it has changed."""
        fields = record.fields or {}
        name, value = fields["name"], fields["value"]
        key = (record.cluster_id, resource_type, fields["resource_name"], name)
        before = self.timeline.find(key)
        shown = NOT_SET if before is None else show_config(before)
        if value is None and not record.withheld:
            ended = self.timeline.close(key, record.at)
            return None if ended is None else tell_change(name, shown, NOT_SET)
        status = "set" if value is not None else REDACTED
        values = {"config_value": value, "status": status}
        if not self.timeline.put(key, values, record):
            return None
        return tell_change(name, shown, show_config(values))

    def apply_level(self, record: ClusterRecord) -> str | None:
        """Take a FeatureLevel record; level 0 is none."""
        fields = record.fields or {}
        name, level = fields["name"], fields["feature_level"]
        key = (record.cluster_id, FEATURE, "", name)
        before = self.timeline.find(key)
        shown = NOT_SET if before is None else show_config(before)
        if not level:
            ended = self.timeline.close(key, record.at)
            return None if ended is None else tell_change(name, shown, NOT_SET)
        values = {"config_value": str(level), "status": "set"}
        is_new = self.timeline.put(key, values, record)
        return tell_change(name, shown, str(level)) if is_new else None

    def find_metadata_version(self, cluster_id: str) -> int | None:
        """Return the level that is in force."""
        row = self.timeline.find((cluster_id, FEATURE, "", METADATA_VERSION))
        return None if row is None else int(row["config_value"])

    def find_dynamic(self, cluster_id: str, broker: str, name: str) -> Row | None:
        """Return the dynamic config of a broker; empty: the cluster's default."""
        return self.timeline.find((cluster_id, "broker", broker, name))


def show_config(row: Mapping[str, str | None]) -> str:
    """Return a value for people."""
    is_hidden = row["status"] == REDACTED
    return HIDDEN if is_hidden else show_value(row["config_value"])


class QuotaHistory:
    """The table client_quotas."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Take what the table has; see Timeline."""
        key = ("cluster_id", "entity_path", "quota_key")
        self.timeline = Timeline(key, rows)

    def apply(self, record: ClusterRecord) -> str | None:
        """Take a ClientQuota record; return what it has changed."""
        fields = record.fields or {}
        name, entity = fields["key"], _entity_of(fields["entity"])
        key = (record.cluster_id, quota_entity_path(entity), name)
        before = self.timeline.find(key)
        shown = NOT_SET if before is None else show_number(before["quota_value"])
        if fields["remove"]:
            ended = self.timeline.close(key, record.at)
            return None if ended is None else tell_change(name, shown, NOT_SET)
        values, beside = {"quota_value": fields["value"]}, _entity_columns(entity)
        if not self.timeline.put(key, values, record, beside=beside):
            return None
        return tell_change(name, shown, show_number(fields["value"]))


Entity = list[tuple[str, str | None]]


def _entity_of(parts: list[dict[str, str | None]]) -> Entity:
    return [(str(one["entity_type"]), one["entity_name"]) for one in parts]


def entity_path_of(parts: list[dict[str, str | None]]) -> str:
    """Return KIP-55's path of the entity of a ClientQuota record."""
    return quota_entity_path(_entity_of(parts))


def _entity_columns(entity: Entity) -> Row:
    names = dict(entity)
    return {
        "user_name": names.get("user"),
        "is_default_user": "user" in names and names["user"] is None,
        "client_id": names.get("client-id"),
        "is_default_client_id": "client-id" in names and names["client-id"] is None,
        "ip": names.get("ip"),
        "is_default_ip": "ip" in names and names["ip"] is None,
    }


class SubscriptionHistory:
    """The table client_metrics_subscriptions: one row a state of a resource."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Take what the table has; see Timeline."""
        self.timeline = Timeline(("cluster_id", "name"), rows)

    def apply(self, record: ClusterRecord) -> str | None:
        """Take a Config record of a CLIENT_METRICS resource."""
        fields = record.fields or {}
        key, name = (record.cluster_id, fields["resource_name"]), fields["name"]
        known = self.properties_of(key)
        before, value = known.get(name), fields["value"]
        if value == before:
            return None
        left = {one: text for one, text in known.items() if one != name}
        now = left if value is None else left | {name: value}
        self.put(key, now, record)
        return tell_change(
            name,
            NOT_SET if before is None else show_value(before),
            NOT_SET if value is None else show_value(value),
        )

    def properties_of(self, key: tuple[str, str]) -> dict[str, str]:
        """Return what is set of a resource now."""
        row = self.timeline.find(key)
        return {} if row is None else dict(row["properties"])

    def put(
        self,
        key: tuple[str, str],
        properties: Mapping[str, str],
        record: ClusterRecord,
    ) -> None:
        """Begin a state; without properties there is no resource."""
        if not properties:
            self.timeline.close(key, record.at)
            return
        values = {"properties": sorted(properties.items())}
        read = read_properties(key[1], properties)
        self.timeline.put(key, values, record, beside=read, is_part=True)


def read_properties(name: str, properties: Mapping[str, str]) -> Row:
    """Return what properties of a subscription say, and what is wrong with them."""
    metrics, interval, match = (
        properties.get(key)
        for key in (kafka.METRICS_KEY, kafka.INTERVAL_KEY, kafka.MATCH_KEY)
    )
    problem = None
    try:
        kafka.parse_properties(name, properties)
    except kafka.InvalidProperties as error:
        problem = str(error)
    return {
        "metrics": None if metrics is None else kafka.parse_list(metrics),
        "interval_ms": None if interval is None else _read_interval(interval),
        "match": None if match is None else _read_match(match),
        "problem": problem,
    }


def _read_interval(text: str) -> int | None:
    try:
        return kafka.parse_interval(text)
    except kafka.InvalidProperties:
        return None


def _read_match(text: str) -> list[tuple[str, str]]:
    """Return the selectors that can be read, by name; of one name the last."""
    found = {}
    for item in kafka.parse_list(text):
        try:
            selector, pattern = kafka.split_selector(item)
        except kafka.InvalidProperties:
            continue
        found[selector] = pattern
    return sorted(found.items())
