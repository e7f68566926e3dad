"""What the tables of a cluster promise: brokers, configs, subscriptions, quotas.

All are functions of one topic with one partition. Type-2 tables change `valid_to` and
`is_current` of old rows and nothing else.
"""

from .columns import COORDINATES, Column, required
from .contract import (
    CHECKPOINTS,
    STATISTICS_PROPERTY,
    VECTORS_PROPERTY,
    TableContract,
)

CLUSTER_ID = required("cluster_id", "STRING", "Cluster that the row is about.")
SOURCE = required("source", "STRING", "Who said so: admin_api, metadata_log or file.")
VALIDITY = (
    required(
        "valid_from",
        "TIMESTAMP",
        "When it was written in the cluster's log, else when it was seen (UTC).",
    ),
    Column(
        "not_before",
        "TIMESTAMP",
        "Last look that still saw the former value; null: valid_from is exact.",
    ),
)
END = (
    Column("valid_to", "TIMESTAMP", "When it was no longer so; null: it still is."),
    required("is_current", "BOOLEAN", "Whether it is so now."),
)
ENDPOINTS_TYPE = (
    "ARRAY<STRUCT<name: STRING, host: STRING, port: INT, security_protocol: STRING>>"
)
FEATURES_TYPE = "ARRAY<STRUCT<name: STRING, min_version: INT, max_version: INT>>"


def _statistics(*names: str) -> dict[str, str]:
    return {
        # Never of a value: statistics stay in the log when a value is taken out.
        STATISTICS_PROPERTY: ",".join((*names, "topic", "partition", "offset")),
    }


CLUSTER_CHANGES = TableContract(
    name="cluster_changes",
    comment="One record of the cluster's feed, in order, with what it changed in one "
    "readable line. The ledger of its job: written last.",
    columns=(
        CLUSTER_ID,
        SOURCE,
        *VALIDITY,
        Column(
            "record_type", "STRING", "Kafka's name of the record; null: unreadable."
        ),
        Column("record_version", "INT", "Version of the record."),
        Column("record_key", "STRING", "Key of the record in the topic."),
        Column("entity", "STRING", "brokers/1, users/alice, client-metrics/team-a."),
        Column("change", "STRING", "What it changed; null: nothing. No hidden value."),
        Column("metadata_offset", "BIGINT", "Offset in the cluster's metadata log."),
        Column("metadata_epoch", "INT", "Leader epoch in that log."),
        Column("set_id", "STRING", "Full set that the record is part of."),
        required("decode_status", "STRING", "ok, or why the record was not read."),
        *COORDINATES,
        required("event_date", "DATE", "Date of valid_from in UTC; partitions."),
        required(
            "observed_at",
            "TIMESTAMP",
            "When the cluster was polled, or the file was read (UTC).",
        ),
    ),
    merge_key=("topic", "partition", "offset"),
    contract_version=2,
    ages_by="event_date",
    partition_by=("event_date",),
    properties=CHECKPOINTS
    | {
        STATISTICS_PROPERTY: "topic,partition,offset,valid_from,cluster_id,"
        "record_type,record_key,entity,set_id,decode_status",
    },
)

BROKER_REGISTRATIONS = TableContract(
    name="broker_registrations",
    comment="One incarnation of a broker; valid_from, not_before and coordinates are "
    "those of the record that changed the row last.",
    columns=(
        CLUSTER_ID,
        SOURCE,
        *VALIDITY,
        required("broker_id", "INT", "Id of the broker."),
        required(
            "incarnation_id",
            "STRING",
            "Base64url; of admin_api `seen-` and the milliseconds of the first look.",
        ),
        Column("broker_epoch", "BIGINT", "Epoch of the registration; null: unknown."),
        required("record_version", "INT", "Version of the record that told of it."),
        required(
            "registered_at", "TIMESTAMP", "When it registered, or was first seen."
        ),
        Column("ended_at", "TIMESTAMP", "When it ended; null: it has not."),
        Column("end_reason", "STRING", "replaced, unregistered or vanished."),
        required("is_current", "BOOLEAN", "Whether it is the broker's newest."),
        Column("is_fenced", "BOOLEAN", "Whether clients are kept from it."),
        Column("in_controlled_shutdown", "BOOLEAN", "Whether it is shutting down."),
        Column("rack", "STRING", "Rack of the broker; null: none."),
        Column("endpoints", ENDPOINTS_TYPE, "Where it listens."),
        Column("features", FEATURES_TYPE, "Features that it supports."),
        Column("log_dirs", "ARRAY<STRING>", "Ids of log directories; null: not told."),
        Column(
            "cordoned_log_dirs",
            "ARRAY<STRING>",
            "Those that are cordoned; null: not told.",
        ),
        Column("is_migrating_zk_broker", "BOOLEAN", "Whether it came from ZooKeeper."),
        Column("metadata_version", "INT", "Level of metadata.version at that time."),
        required(
            "static_configs",
            "STRING",
            "reported, described, not_reported, refused (no right) or unreachable.",
        ),
        *COORDINATES,
    ),
    merge_key=("cluster_id", "broker_id", "incarnation_id"),
    newest_by=("topic", "partition", "offset"),
    contract_version=1,
    closes_by="ended_at",
    properties=_statistics("cluster_id", "broker_id", "incarnation_id"),
)

BROKER_STATIC_CONFIGS = TableContract(
    name="broker_static_configs",
    comment="One value of a config in a broker's file, with what is in force.",
    columns=(
        CLUSTER_ID,
        SOURCE,
        *VALIDITY,
        required("broker_id", "INT", "Id of the broker."),
        required("incarnation_id", "STRING", "As in broker_registrations."),
        required("config_name", "STRING", "Name of the config."),
        Column("config_value", "STRING", "Static value; null is a value."),
        Column("config_type", "STRING", "Name of ConfigDef.Type; null: unknown."),
        Column(
            "is_default", "BOOLEAN", "Whether it is Kafka's default; null: not told."
        ),
        required("report", "STRING", "registration or describe_configs."),
        Column(
            "effective_value", "STRING", "What is in force; null: not told, or null."
        ),
        Column(
            "effective_source",
            "STRING",
            "dynamic_broker, dynamic_default_broker, static, default; null: not told.",
        ),
        *END,
        *COORDINATES,
    ),
    merge_key=("cluster_id", "broker_id", "config_name", "valid_from"),
    newest_by=("topic", "partition", "offset"),
    contract_version=1,
    closes_by="valid_to",
    properties=_statistics("cluster_id", "broker_id", "config_name"),
)

RESOURCE_CONFIGS = TableContract(
    name="resource_configs",
    comment="One value of a dynamic config of a broker, a group or a topic, or one "
    "level of a feature.",
    columns=(
        CLUSTER_ID,
        SOURCE,
        *VALIDITY,
        required(
            "resource_type",
            "STRING",
            "broker, group, topic, or feature, whose value is its level.",
        ),
        required("resource_name", "STRING", "Empty: the default of the cluster."),
        required("config_name", "STRING", "Name of the config."),
        Column("config_value", "STRING", "Its value; null: redacted."),
        required("status", "STRING", "set or redacted."),
        *END,
        *COORDINATES,
    ),
    merge_key=(
        "cluster_id",
        "resource_type",
        "resource_name",
        "config_name",
        "valid_from",
    ),
    newest_by=("topic", "partition", "offset"),
    contract_version=1,
    closes_by="valid_to",
    properties=_statistics(
        "cluster_id", "resource_type", "resource_name", "config_name"
    ),
)

CLIENT_METRICS_SUBSCRIPTIONS = TableContract(
    name="client_metrics_subscriptions",
    comment="One state of a CLIENT_METRICS resource.",
    columns=(
        CLUSTER_ID,
        SOURCE,
        *VALIDITY,
        required("name", "STRING", "Name of the subscription."),
        Column("metrics", "ARRAY<STRING>", "Prefixes of metric names, as set."),
        Column("interval_ms", "INT", "Push interval in milliseconds; null: not set."),
        Column("match", "MAP<STRING, STRING>", "Selector to pattern; null: not set."),
        required("properties", "MAP<STRING, STRING>", "All of its properties, as set."),
        Column("problem", "STRING", "Why the bridge cannot use it; null: it can."),
        *END,
        *COORDINATES,
    ),
    merge_key=("cluster_id", "name", "valid_from"),
    newest_by=("topic", "partition", "offset"),
    contract_version=1,
    closes_by="valid_to",
    properties=_statistics("cluster_id", "name"),
)

CLIENT_QUOTAS = TableContract(
    name="client_quotas",
    comment="One value of a quota of an entity (KIP-55).",
    columns=(
        CLUSTER_ID,
        SOURCE,
        *VALIDITY,
        required(
            "entity_path",
            "STRING",
            "users/alice/clients/<default>, clients/c1, ips/10.0.0.7; percent-encoded.",
        ),
        Column("user_name", "STRING", "User; null: none, or the default."),
        required("is_default_user", "BOOLEAN", "Whether it is of the default user."),
        Column("client_id", "STRING", "Client id; null: none, or the default."),
        required(
            "is_default_client_id", "BOOLEAN", "Whether of the default client id."
        ),
        Column("ip", "STRING", "Address; null: none, or the default."),
        required("is_default_ip", "BOOLEAN", "Whether it is of the default address."),
        required("quota_key", "STRING", "One of Kafka's five keys."),
        required("quota_value", "DOUBLE", "Value that is set."),
        *END,
        *COORDINATES,
    ),
    merge_key=("cluster_id", "entity_path", "quota_key", "valid_from"),
    newest_by=("topic", "partition", "offset"),
    contract_version=1,
    closes_by="valid_to",
    properties=_statistics("cluster_id", "entity_path", "quota_key"),
)

EFFECTIVE_QUOTAS = TableContract(
    name="effective_quotas",
    comment="What one quota key allows one client that was seen lately, and why.",
    columns=(
        CLUSTER_ID,
        required("principal", "STRING", "Authenticated principal of the client."),
        required("client_id", "STRING", "client.id; empty where the client has none."),
        required("client_source_address", "STRING", "Address that it came from."),
        required("quota_key", "STRING", "One of Kafka's five keys."),
        Column("limit", "DOUBLE", "What one broker allows; null: unlimited."),
        Column("level", "INT", "1 to 8, of an address 1 or 2; null: none applies."),
        Column("entity_path", "STRING", "Whose quota it is; null: none applies."),
        Column("quota_id", "STRING", "user:client, who share the limit."),
        Column("user_tag", "STRING", "User part of it, percent-encoded."),
        Column("client_id_tag", "STRING", "Client part of it, as it is."),
        Column("shared_by", "INT", "Live clients with that quota-id."),
        Column("live_brokers", "INT", "Brokers that are live; null: not known."),
        Column("cluster_limit", "DOUBLE", "limit times live brokers."),
        required("reason", "STRING", "Why, in words."),
        Column("reported_throttle_ms_avg", "DOUBLE", "As its newest push says."),
        Column("reported_throttle_ms_max", "DOUBLE", "As its newest push says."),
        Column("reported_rate", "DOUBLE", "Bytes a second, as its newest push says."),
        required("as_of", "TIMESTAMP", "When it was computed (UTC)."),
        Column(
            "used_rate",
            "DOUBLE",
            "Bytes a second that the proxy has counted lately, of all who share the "
            "limit, at the broker where they are most; null: none.",
        ),
        Column("use", "DOUBLE", "used_rate as a part of limit; more than 1: above it."),
        Column(
            "throttled_ms",
            "DOUBLE",
            "Longest throttle time of a response in that time, in milliseconds, over "
            "all who share the limit.",
        ),
    ),
    merge_key=(
        "cluster_id",
        "principal",
        "client_id",
        "client_source_address",
        "quota_key",
    ),
    contract_version=2,
    properties={VECTORS_PROPERTY: "true"},
)

CLUSTER_STATES = (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    RESOURCE_CONFIGS,
    CLIENT_METRICS_SUBSCRIPTIONS,
    CLIENT_QUOTAS,
)
CLUSTER_CONTRACTS = (*CLUSTER_STATES, CLUSTER_CHANGES)
"""In the order in which the job writes them: the ledger last."""
