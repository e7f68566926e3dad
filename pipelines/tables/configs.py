"""What the tables of client configurations promise to their readers.

Strategy: client_config_pushes holds what clients said, one row a push, redacted, and
nothing derived from other pushes. The tables beside it are functions of the set of
those rows, so that the order in which pushes come makes no difference.
"""

from .columns import (
    CLIENT,
    CLUSTER,
    CONNECTION,
    COORDINATES,
    EVENT_DATE,
    RECEIVED,
    Column,
    names,
    required,
)
from .contract import STATISTICS_PROPERTY, TableContract

CONFIG_CLIENT_TYPE = Column(
    "client_type",
    "STRING",
    "producer, consumer, share_consumer, admin or streams, by the keys that were "
    "pushed; null when they do not say. Of all that a client instance pushed in "
    "client_configs and client_config_history, of one push elsewhere.",
)
LOGICAL_CLIENT = required(
    "logical_client",
    "STRING",
    "Hash of principal, client_id and client_type: what stays the same when a client "
    "restarts, which its client_instance_id does not.",
)
_PUSHED = (
    "config_key: STRING, config_value: STRING, config_type: STRING, is_default: BOOLEAN"
)
_TYPED = (
    "value_boolean: BOOLEAN, value_long: BIGINT, value_double: DOUBLE, "
    "value_list: ARRAY<STRING>, value_string: STRING"
)
PUSHED_TYPE = f"ARRAY<STRUCT<{_PUSHED}>>"
_HELD = "config_value: STRING, config_type: STRING, is_default: BOOLEAN, status: STRING"
CONFIGS_TYPE = f"MAP<STRING, STRUCT<{_HELD}, {_TYPED}>>"

_CONTENT_HASH = Column(
    "content_hash",
    "STRING",
    "Of keys, values, types and default flags, after redaction, whatever their order; "
    "null where the push could not be decoded.",
)

CLIENT_CONFIG_PUSHES = TableContract(
    name="client_config_pushes",
    comment="One pushed configuration, after redaction. Append-only, and written last "
    "in each micro-batch: a push that stands here stands in every other table.",
    columns=(
        *COORDINATES,
        EVENT_DATE,
        *RECEIVED,
        *CLIENT,
        *CONNECTION,
        CONFIG_CLIENT_TYPE,
        LOGICAL_CLIENT,
        required("decode_status", "STRING", "ok, or why the body was not decoded."),
        _CONTENT_HASH,
        Column(
            "configs",
            PUSHED_TYPE,
            "Entries in the order of the push; config_value is null where it was "
            "redacted, here or before.",
        ),
        *CLUSTER,
    ),
    merge_key=names(COORDINATES),
    contract_version=2,
    partition_by=(EVENT_DATE.name,),
    cluster_by=("logical_client",),
    properties={
        STATISTICS_PROPERTY: "topic,partition,offset,received_at,push_id,"
        "client_instance_id,client_id,principal,client_software_name,client_type,"
        "logical_client,decode_status",
    },
)

CLIENT_CONFIGS = TableContract(
    name="client_configs",
    comment="The configuration of one client instance, by its newest push.",
    columns=(
        *CLIENT,
        CONFIG_CLIENT_TYPE,
        LOGICAL_CLIENT,
        *RECEIVED,
        Column(
            "configs",
            CONFIGS_TYPE,
            "Key to value, type name, default flag and status (default, overridden, "
            "set_to_default, unknown_key, invalid_value, redacted), and the value by "
            "its type; config_value is null where it was redacted.",
        ),
        _CONTENT_HASH,
        *COORDINATES,
        *CLUSTER,
    ),
    merge_key=("client_instance_id",),
    newest_by=("received_at", "push_id"),
    contract_version=3,
    ends_with_instance=True,
    properties={
        STATISTICS_PROPERTY: "client_instance_id",
    },
)

CLIENT_CONFIG_HISTORY = TableContract(
    name="client_config_history",
    comment="One value of one key of a logical client, for as long as any of its "
    "client instances held it. Several may be current at once.",
    columns=(
        LOGICAL_CLIENT,
        required("principal", "STRING", "Authenticated principal."),
        Column("client_id", "STRING", "client.id of the connection; null when unset."),
        CONFIG_CLIENT_TYPE,
        required("config_key", "STRING", "Key as it was pushed."),
        required(
            "value_id",
            "STRING",
            "Stands for config_value in the key of this table, where it may be null.",
        ),
        Column("config_value", "STRING", "Value as it was pushed; null: redacted."),
        Column("config_type", "STRING", "Name of ConfigDef.Type; null: unknown."),
        Column("is_default", "BOOLEAN", "Whether the client called it a default."),
        required("valid_from", "TIMESTAMP", "received_at of the first push with it."),
        Column(
            "valid_to",
            "TIMESTAMP",
            "When the last client instance that held it stopped doing so; null while "
            "one does.",
        ),
        required("is_current", "BOOLEAN", "Whether valid_to is null."),
        required(
            "client_instance_ids",
            "ARRAY<STRING>",
            "Client instances that held it in that time, sorted.",
        ),
    ),
    merge_key=("logical_client", "config_key", "value_id", "valid_from"),
    contract_version=1,
    closes_by="valid_to",
    properties={
        STATISTICS_PROPERTY: "logical_client,principal,client_id,config_key,"
        "valid_from,valid_to",
    },
)

CONFIG_DEFAULTS = TableContract(
    name="config_defaults",
    comment="The default of a key in a version of a client software, as clients of it "
    "have told.",
    columns=(
        required("client_software_name", "STRING", "ClientSoftwareName."),
        required("client_software_version", "STRING", "ClientSoftwareVersion."),
        required("client_type", "STRING", "As in client_configs; empty: not known."),
        required("config_key", "STRING", "Key as it was pushed."),
        Column("config_type", "STRING", "Name of ConfigDef.Type; null: unknown."),
        Column(
            "default_value",
            "STRING",
            "The value of the oldest push that flags one as default.",
        ),
        required("first_seen", "TIMESTAMP", "received_at of that push (UTC)."),
        required("first_push_id", "STRING", "push_id of that push."),
        required(
            "evidence_count",
            "BIGINT",
            "Records of pushes that flag a value as default; one that Kafka holds "
            "twice counts twice.",
        ),
        required(
            "conflicting_values",
            "ARRAY<STRING>",
            "Other values that pushes flag as the default, sorted; mostly none.",
        ),
    ),
    merge_key=(
        "client_software_name",
        "client_software_version",
        "client_type",
        "config_key",
    ),
    contract_version=1,
    properties={
        # Never of a value: statistics stay in the log when a value is taken out.
        STATISTICS_PROPERTY: "client_software_name,client_software_version,"
        "client_type,config_key",
    },
)

CONFIG_VIOLATIONS = TableContract(
    name="config_violations",
    comment="One entry of one push that a rule hid, or would not have let in; never "
    "with its value. Append-only.",
    columns=(
        *COORDINATES,
        required("entry_index", "INT", "Place among the violations of its push."),
        EVENT_DATE,
        *RECEIVED,
        *CLIENT,
        CONFIG_CLIENT_TYPE,
        required("config_key", "STRING", "Key, or a stand-in if it must not be shown."),
        Column(
            "rule", "STRING", "Rule that matched; null: `config_key` only counts keys."
        ),
        required("action", "STRING", "redacted, dropped or rejected."),
        required("found_by", "STRING", "bridge or job: whose rules it was."),
    ),
    merge_key=(*names(COORDINATES), "entry_index"),
    contract_version=1,
    ages_by=EVENT_DATE.name,
    partition_by=(EVENT_DATE.name,),
    cluster_by=("client_instance_id",),
    properties={
        STATISTICS_PROPERTY: "topic,partition,offset,received_at,push_id,"
        "client_instance_id,client_id,config_key,rule,action",
    },
)

CLIENT_CONFIG_CONTRACTS = (
    CONFIG_VIOLATIONS,
    CONFIG_DEFAULTS,
    CLIENT_CONFIGS,
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
)
"""In the order in which a micro-batch writes them; the ledger last."""
