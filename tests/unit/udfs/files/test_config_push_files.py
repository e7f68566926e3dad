"""Records of configurations become rows of three tables, and no secret one of any."""

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.jobs.configs.job import make_config_tables
from pipelines.settings import (
    load_client_type_keys,
    load_config_catalogs,
    load_settings,
)
from tests.support.spark.config_records import entry, make_record
from udfs.envelopes.readers import RECORD_SCHEMA
from udfs.files.config_push_files import write_config_pushes

TABLES = make_config_tables(
    load_settings("base"), load_config_catalogs(), load_client_type_keys()
)
SECRET = "svc;password=hunter2"


def write(*records):
    """Return the rows of each table, and every byte of its files and their pushes."""
    rows = [
        [*record[:5], [{"key": key, "value": value} for key, value in record[5]]]
        for record in records
    ]
    batch = pa.RecordBatch.from_pylist(
        [dict(zip(RECORD_SCHEMA.names, row, strict=True)) for row in rows],
        schema=RECORD_SCHEMA,
    )
    tables, said = {}, []
    for part in write_config_pushes(iter([batch]), TABLES):
        said.append(repr(None if part.pushes is None else part.pushes.to_pylist()))
        for file in part.files:
            read = pq.read_table(pa.BufferReader(file.content)).to_pylist()
            tables.setdefault(file.table, []).extend(read)
            said.append(f"{file.statistics}{read}")
    return tables, "".join(said)


def test_a_client_id_that_is_a_secret_is_in_no_table_and_counted_once():
    acks = entry("acks", "all")
    tables, said = write(
        make_record(0, acks, client_id=SECRET),
        make_record(1, acks, entry("client.id", SECRET), client_id=SECRET),
        make_record(2, body=b"\x05cut", client_id=SECRET),
        make_record(3, body=b"", client_id=SECRET, without=["push_id"]),
        make_record(4, acks, client_id="orders"),
        make_record(
            5,
            acks,
            client_id="(redacted)",
            redactions='{"v":1,"redacted":{"url-value":["client.id"]}}',
        ),
    )
    assert "hunter2" not in said
    pushes = {row["offset"]: row for row in tables["client_config_pushes"]}
    names = [pushes[offset]["client_id"] for offset in (0, 1, 2, 4, 5)]
    assert names == ["(redacted)"] * 3 + ["orders", "(redacted)"]
    # Hidden ones are one client, so that no hash of theirs is there either.
    assert pushes[0]["logical_client"] == pushes[5]["logical_client"]
    rejected = {row["offset"]: row["client_id"] for row in tables["quarantine"]}
    assert rejected == {2: "(redacted)", 3: "(redacted)"}
    assert [
        (row["offset"], row["config_key"], row["rule"], row["action"], row["found_by"])
        for row in tables["config_violations"]
    ] == [
        (0, "client.id", "named-secret-value", "redacted", "job"),
        (1, "client.id", "named-secret-value", "redacted", "job"),
        (2, "client.id", "named-secret-value", "redacted", "job"),
        (5, "client.id", "url-value", "redacted", "bridge"),
    ]
