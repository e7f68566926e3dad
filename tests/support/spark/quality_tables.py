"""Tables with one good row of each kind, and rows in which one thing is wrong.

Their columns may all be null, as no table of the product is: what a table refuses can
be planted as well.
"""

from datetime import UTC, datetime, timedelta

from pipelines.quality.suites import CONTRACTS
from pipelines.settings import load_settings
from pipelines.tables.contract import CONTRACT_VERSION_PROPERTY, set_statement
from pipelines.tables.quality import QUALITY_RESULTS
from tests.support.spark.writer_option import writer_override

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""When tables are checked."""
INSTANCE = "tpzDWnpUR5Cqacwr1O5FOA"
FILLERS = {
    "STRING": "x",
    "INT": 1,
    "BIGINT": 1,
    "BOOLEAN": False,
    "BINARY": b"",
    "DOUBLE": 0.0,
    "DATE": NOW.date(),
    "TIMESTAMP": NOW,
}


def _fill_one(sql_type):
    if sql_type.startswith("ARRAY<"):
        return []
    return {} if sql_type.startswith("MAP<") else FILLERS[sql_type]


def hour(number):
    """Return a moment of the day."""
    return NOW.replace(hour=0) + timedelta(hours=number)


def push(offset, **fields):
    """Return a row of client_pushes."""
    known = {"topic": "telemetry", "partition": 0, "offset": offset}
    known |= {"push_id": f"push-{offset}", "received_at": hour(11)}
    known |= {"client_instance_id": INSTANCE, "push_interval_ms": 60_000}
    known |= {"decode_status": "ok", "point_count": 2}
    return known | fields


def points(offset, *indexes, **fields):
    """Return rows of client_metrics of a push."""
    at = int(hour(11).timestamp()) * 10**9
    known = {"metric": "org.apache.kafka.producer.record.send.total", "kind": "gauge"}
    known |= {"value_double": 1.0, "time": hour(11), "time_unix_nano": at}
    shared = ("topic", "partition", "push_id", "received_at", "client_instance_id")
    row = push(offset)
    known |= {name: row[name] for name in shared} | {"offset": offset}
    return [known | {"point_index": index} | fields for index in indexes or (0, 1)]


def config_push(offset, **fields):
    """Return a row of client_config_pushes."""
    known = {"topic": "configs", "partition": 0, "offset": offset}
    known |= {"push_id": f"push-{offset}", "client_instance_id": INSTANCE}
    known |= {"decode_status": "ok", "content_hash": "h", "configs": []}
    return known | fields


def span(start, end=None, **fields):
    """Return what a row says of its time."""
    ends = None if end is None else hour(end)
    known = {"valid_from": hour(start), "valid_to": ends, "is_current": end is None}
    return known | fields


def fill(table, row):
    """Return a whole row: what is not named is null or a filler."""
    columns = CONTRACTS[table].columns
    blank = {c.name: None if c.is_nullable else _fill_one(c.sql_type) for c in columns}
    # What is planted says more, of tables that it is compared with.
    return {name: (blank | row)[name] for name in blank}


class QualityTables:
    """The tables of one folder."""

    def __init__(self, spark, folder, *overrides):
        self._spark = spark
        words = [f"tables.root_path={folder}", writer_override(), *overrides]
        self.settings = load_settings("local", words)
        self._folder = folder

    def write(self, **rows):
        """Write tables, by name, each with rows that say only what matters."""
        for table, of_table in rows.items():
            contract = CONTRACTS[table]
            schema = ", ".join(f"`{c.name}` {c.sql_type}" for c in contract.columns)
            made = [tuple(fill(table, row).values()) for row in of_table]
            frame = self._spark.createDataFrame(made, schema).coalesce(1)
            path = f"{self._folder}/{table}"
            frame.write.format("delta").partitionBy(*contract.partition_by).save(path)
            if contract is QUALITY_RESULTS:  # a run appends to it
                self.state_version(contract)

    def state_version(self, contract):
        """Say that a table is of its contract: who writes to others refuses them."""
        version = {CONTRACT_VERSION_PROPERTY: str(contract.contract_version)}
        table = f"delta.`{self._folder}/{contract.name}`"
        self._spark.sql(set_statement({**contract.properties, **version}, table))
