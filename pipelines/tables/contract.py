"""What a Delta table promises, the SQL that says so, and the tables of telemetry.

A contract version is a whole number. A newer version only adds nullable columns: the
program adds them to an older table, and refuses a table of a newer version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .columns import (
    BODY,
    CLIENT,
    CLIENT_TYPE,
    CONNECTION,
    COORDINATES,
    EVENT_DATE,
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

CONTRACT_VERSION_PROPERTY = "kafka_clientele.contract_version"
STATISTICS_PROPERTY = "delta.dataSkippingStatsColumns"
CHECKPOINTS = {
    # Commits of a streamed table between two checkpoints of its log, each of which
    # lists every file of the table: with Delta's 10 they are a good part of the job.
    "delta.checkpointInterval": "100",
}


PUSH = [*names(COORDINATES), "push_id"]
"""What names a push: a topic that is made anew has all coordinates once more."""
DECODED = "ok"
"""decode_status of a push whose body was read."""
IS_DELETED = "is_deleted"
"""Column of rows to be changed: whether nothing comes in the place of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContract:
    """One Delta table: its columns, its key, how it is written."""

    name: str
    comment: str
    """What one row is and how rows come and go."""
    columns: tuple[Column, ...]
    """In table order; the last step of a job selects exactly these."""
    merge_key: tuple[str, ...]
    """Never null; one row per key."""
    contract_version: int
    """From 1; stored as a table property."""
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    """What people ask by: compaction puts rows beside each other that agree in it."""
    newest_by: tuple[str, ...] = ()
    """Later wins, compared left to right; empty for an append-only table."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Delta's own table properties."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in table order."""
        return names(self.columns)

    @property
    def merge_condition(self) -> str:
        """SQL that is true where a source row is about a target row."""
        return " AND ".join(f"target.`{c}` = source.`{c}`" for c in self.merge_key)


def column_definition(column: Column) -> str:
    """Return the SQL that declares a column, its comment included."""
    nullability = "" if column.is_nullable else " NOT NULL"
    comment = _quote(column.comment)
    return f"`{column.name}` {column.sql_type}{nullability} COMMENT {comment}"


def create_statement(contract: TableContract, table: str) -> str:
    """Return the SQL that creates a table where there is none.

    Args:
        contract: What the table promises.
        table: SQL identifier, quoted: of a path table or of a catalog table.
    """
    columns = ",\n  ".join(column_definition(column) for column in contract.columns)
    partition_by = ", ".join(f"`{name}`" for name in contract.partition_by)
    partitioned = f"PARTITIONED BY ({partition_by})\n" if partition_by else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {table} (\n  {columns}\n)\nUSING DELTA\n"
        f"{partitioned}COMMENT {_quote(contract.comment)}\n"
        f"TBLPROPERTIES ({_properties(contract)})"
    )


def add_columns_statement(columns: Sequence[Column], table: str) -> str:
    """Return the SQL that adds columns to a table of an older contract."""
    definitions = ", ".join(column_definition(column) for column in columns)
    return f"ALTER TABLE {table} ADD COLUMNS ({definitions})"


def set_properties_statement(contract: TableContract, table: str) -> str:
    """Return the SQL that states the contract's version and properties."""
    return f"ALTER TABLE {table} SET TBLPROPERTIES ({_properties(contract)})"


def _properties(contract: TableContract) -> str:
    version = {CONTRACT_VERSION_PROPERTY: str(contract.contract_version)}
    stated = {**contract.properties, **version}
    return ", ".join(f"{_quote(k)} = {_quote(v)}" for k, v in stated.items())


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


IDENTITY = (*CLIENT, *CONNECTION)

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
    ),
    merge_key=names(COORDINATES),
    contract_version=1,
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
    contract_version=1,
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
    partition_by=("event_date",),
    cluster_by=("reason",),
    properties=CHECKPOINTS
    | {
        STATISTICS_PROPERTY: "topic,partition,offset,kafka_timestamp,reason,"
        "received_at,push_id,client_instance_id,client_id",
    },
)

_BY_CONNECTION = {"client_source_port", "bridge_id"}

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
    ),
    merge_key=("client_instance_id",),
    newest_by=("received_at", "push_id"),
    contract_version=1,
    # MERGE then marks the rows that it replaces and copies no others.
    properties={"delta.enableDeletionVectors": "true"},
)

CONTRACTS = (CLIENT_METRICS, QUARANTINE, CLIENT_INSTANCES, CLIENT_PUSHES)
"""In the order in which a micro-batch writes them."""
