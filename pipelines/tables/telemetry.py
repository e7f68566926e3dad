"""The tables of telemetry, and quarantine, which all jobs share."""

from .columns import (
    BODY,
    CLIENT,
    CLIENT_TYPE,
    CLUSTER,
    COORDINATES,
    EVENT_DATE,
    IDENTITY,
    MEMBERSHIP,
    POINT,
    POINT_INDEX,
    RECEIVED,
    SUBSCRIPTION,
    Column,
    names,
    required,
    without_requirements,
)
from .contract import CHECKPOINTS, STATISTICS_PROPERTY, TableContract

CLIENT_PUSHES = TableContract(
    name="client_pushes",
    comment="One accepted push of a client, as received. Append-only, and written last "
    "in each micro-batch: a push that stands here stands in every other table.",
    columns=(
        *COORDINATES,
        EVENT_DATE,
        *RECEIVED,
        *IDENTITY,
        CLIENT_TYPE,
        *MEMBERSHIP,
        *SUBSCRIPTION,
        required("decode_status", "STRING", "ok, or why the body was not decoded."),
        required("point_count", "INT", "Data points in client_metrics from this push."),
        required("body_bytes", "INT", "Length of body, bytes."),
        required(BODY.name, BODY.sql_type, BODY.comment),
        *CLUSTER,
    ),
    merge_key=names(COORDINATES),
    contract_version=2,
    ages_by=EVENT_DATE.name,
    partition_by=(EVENT_DATE.name,),
    cluster_by=("client_instance_id",),
    properties=CHECKPOINTS
    | {
        # The body is never filtered by: no statistics for it.
        STATISTICS_PROPERTY: "topic,partition,offset,received_at,push_id,"
        "client_instance_id,client_id,principal,client_software_name,client_type,"
        "group_id,decode_status,point_count",
    },
)

CLIENT_METRICS = TableContract(
    name="client_metrics",
    comment="One data point of one push. Append-only. Identity is the connection's; "
    "labels of the same name inside a push stay attributes.",
    columns=(*COORDINATES, POINT_INDEX, EVENT_DATE, *RECEIVED, *CLIENT, *POINT),
    merge_key=(*names(COORDINATES), POINT_INDEX.name),
    contract_version=2,
    ages_by=EVENT_DATE.name,
    partition_by=(EVENT_DATE.name,),
    cluster_by=("client_instance_id", "metric"),
    properties=CHECKPOINTS
    | {
        STATISTICS_PROPERTY: "topic,partition,offset,received_at,push_id,"
        "client_instance_id,client_id,principal,client_software_name,metric,kind,"
        "value_double,value_long,time,topic_name,node_id,group_id",
    },
)

QUARANTINE = TableContract(
    name="quarantine",
    comment="One record that could not be used, or not wholly. Append-only. A push "
    "whose body was at fault also stands in client_pushes. With the reason data_loss "
    "or topic_made_anew: the last of several that were never read.",
    columns=(
        *COORDINATES,
        required("event_date", "DATE", "Date of kafka_timestamp in UTC; partitions."),
        required("kafka_timestamp", "TIMESTAMP", "Timestamp of the record (UTC)."),
        required("source_job", "STRING", "Job that rejected the record."),
        required("reason", "STRING", "Reason code."),
        Column("detail", "STRING", "Names and places, never a part of the payload."),
        *without_requirements((*RECEIVED, *IDENTITY, *SUBSCRIPTION)),
        BODY,
    ),
    merge_key=names(COORDINATES),
    contract_version=1,
    ages_by="event_date",
    partition_by=("event_date",),
    cluster_by=("reason",),
    properties=CHECKPOINTS
    | {
        STATISTICS_PROPERTY: "topic,partition,offset,kafka_timestamp,reason,"
        "received_at,push_id,client_instance_id,client_id",
    },
)

_BY_CONNECTION = {"client_source_port", "bridge_id"}
_CLUSTER_ID, _BROKER_ID = CLUSTER

CLIENT_INSTANCES = TableContract(
    name="client_instances",
    comment="One client instance: who it is. Written only when that changes; the view "
    "clients adds what every push changes.",
    columns=(
        *(c for c in IDENTITY if c.name not in _BY_CONNECTION),
        CLIENT_TYPE,
        *MEMBERSHIP,
        required(
            "push_interval_ms", "INT", "Push interval of the newest push, milliseconds."
        ),
        required("first_seen", "TIMESTAMP", "received_at of its oldest push (UTC)."),
        Column(
            "terminated_at",
            "TIMESTAMP",
            "received_at of its newest push when that was terminating, else null.",
        ),
        _CLUSTER_ID,
        Column(
            _BROKER_ID.name,
            _BROKER_ID.sql_type,
            "Broker behind the proxy's port at first_seen; the view clients has that "
            "of the newest push, which may be another one with each push.",
        ),
    ),
    merge_key=("client_instance_id",),
    newest_by=("received_at", "push_id"),
    contract_version=2,
    ends_with_instance=True,
    properties=CHECKPOINTS
    | {
        # A micro-batch with new client instances adds a small file: Delta puts them
        # together when they are many.
        "delta.autoOptimize.autoCompact": "true",
        # Its files hold instances of any kind, so that nothing else spares one.
        STATISTICS_PROPERTY: "client_instance_id,first_seen",
    },
)

IDLE_AFTER_INTERVALS = 3
"""Push intervals without a push before a client instance is idle."""

TELEMETRY_CONTRACTS = (CLIENT_METRICS, QUARANTINE, CLIENT_INSTANCES, CLIENT_PUSHES)
"""In the order in which a micro-batch writes them."""
