"""What the table of configurations seen on the wire promises to its readers."""

from .columns import (
    CLIENT,
    CLUSTER,
    CONNECTION,
    COORDINATES,
    RECEIVED,
    Column,
    required,
)
from .configs import CONFIG_CLIENT_TYPE, LOGICAL_CLIENT
from .contract import STATISTICS_PROPERTY, TableContract

_INSTANCE_ID = "client_instance_id"
"""The wire does not show it, but for pushes."""

CLIENT_WIRE_CONFIGS = TableContract(
    name="client_wire_configs",
    comment="The value of one key that the proxy has seen last of clients with one "
    "principal, client id, type and source address. The ledger of its job as well: "
    "each record of the topic is as new as the newest row of its client.",
    columns=(
        required(
            "wire_client",
            "STRING",
            "Hash of principal, client_id, client_type and client_source_address: whom "
            "a row is about, where client_id may be null.",
        ),
        *(column for column in CLIENT if column.name != _INSTANCE_ID),
        CONFIG_CLIENT_TYPE,
        LOGICAL_CLIENT,
        required("config_key", "STRING", "Key in the Java client's names."),
        Column("config_value", "STRING", "Value that was seen; null: redacted."),
        Column("config_type", "STRING", "Name of ConfigDef.Type; null: unknown."),
        required(
            "is_exact",
            "BOOLEAN",
            "Whether the value is the configured one; false for batch.size, of which "
            "the largest batch is seen, down to a power of two, for "
            "compression.type none, as which any codec may go, and for "
            "max.poll.interval.ms of software that has no such config.",
        ),
        required(
            "other_names", "ARRAY<STRING>", "What librdkafka calls the key; often none."
        ),
        *RECEIVED,
        *CONNECTION,
        *COORDINATES,
        *CLUSTER,
    ),
    merge_key=("wire_client", "config_key"),
    newest_by=("is_exact", "received_at", "push_id"),
    contract_version=2,
    # An address that is used no more is never heard of again.
    ages_by="received_at",
    properties={
        # Never of a value: statistics stay in the log when a value is taken out.
        STATISTICS_PROPERTY: "wire_client,principal,client_id,config_key,topic,"
        "partition,offset",
    },
)
