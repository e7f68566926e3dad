"""Configurations seen on the wire: batches that may come again, and the view."""

from datetime import UTC, datetime

import pytest

from pipelines.commands.notebook import page
from pipelines.commands.notebook.cells import load_cells
from pipelines.delta_tables import transactions
from pipelines.delta_tables.layouts import layout_of
from pipelines.delta_tables.locations import identify_table
from pipelines.delta_tables.setup import ensure_tables
from pipelines.delta_tables.writers import open_writer
from pipelines.jobs.wire_configs.job import CONTRACTS, JOB_NAME, make_batch_writer
from pipelines.reading import views
from pipelines.reading.views.client_config_views import ENTRIES
from pipelines.settings import CONF_PATH, load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.tables.columns import BODY, SUBSCRIPTION, names
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from pipelines.tables.telemetry import CLIENT_INSTANCES, QUARANTINE
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.spark.config_records import HEADERS, RECORD_DDL
from tests.support.spark.config_rows import held, instance, recent
from tests.support.spark.table_rows import append_rows
from tests.support.spark.writer_option import writer_override
from udfs.spark_configs import WireTables

TIME = datetime(2026, 1, 1, tzinfo=UTC)


class Stop(Exception):
    """What ends a batch in a test."""


class WireJob:
    """The job without its query."""

    def __init__(self, spark, folder):
        self.spark = spark
        self.settings = load_settings(
            "local", [f"tables.root_path={folder}/tables", writer_override()]
        )
        self.stop_at = ""
        self.query_id = "query"
        ensure_tables(spark, self.settings.tables, CONTRACTS)
        spark.conf.set("spark.sql.adaptive.enabled", "false")

    def write(self, batch_id, *records, floors=None):
        rules = make_sensitive_key_rules(
            self.settings.sensitive_keys, load_config_catalogs()
        )
        not_here = {BODY.name, "client_instance_id", *names(SUBSCRIPTION)}
        tables = self.settings.tables
        writer = make_batch_writer(
            tables=open_writer(self.spark, tables, CONTRACTS, self.observe),
            layouts=WireTables(
                quarantine=layout_of(QUARANTINE, without=not_here),
                quarantine_floors=floors or {},
                source_job=JOB_NAME,
                max_config_bytes=10_000,
                rules=rules,
            ),
        )
        frame = self.spark.createDataFrame(list(records), RECORD_DDL)
        transaction = transactions.Transaction(
            query_id=self.query_id, batch_id=batch_id
        )
        writer.write(frame, transaction)
        self.observe("before commit", len(records))

    def observe(self, point, _rows):
        if point == self.stop_at:
            raise Stop

    def read(self, contract):
        return self.spark.table(
            identify_table(self.spark, self.settings.tables, contract)
        )

    def rows(self, *columns):
        table = self.read(CLIENT_WIRE_CONFIGS)
        return sorted(map(tuple, table.select(*columns).collect()))


def record(offset, value, **changes):
    """Return a record of the topic; an empty header is none."""
    headers = HEADERS | {"push_id": f"push-{offset:03}"} | changes
    del headers["client_instance_id"]
    made = [(name, text.encode()) for name, text in headers.items() if text]
    made.append(("redacted_keys", b""))
    return ("wire", 0, offset, TIME, value, made)


def said(client_type="producer", **configs):
    entries = ",".join(
        f'"{key.replace("_", ".")}":"{value}"' for key, value in configs.items()
    )
    return f'{{"client_type":"{client_type}","configs":{{{entries}}}}}'.encode()


def test_the_newest_value_of_each_key_counts_whatever_the_batches(spark, tmp_path):
    job = WireJob(spark, tmp_path)
    job.write(
        0,
        record(0, said(acks="1", request_timeout_ms="9")),
        record(1, said(acks="0")),
        record(2, said(acks="all"), client_id="other"),
        record(3, b"secret"),
    )
    expected = [
        ("orders", "acks", "0", 1),
        ("orders", "request.timeout.ms", "9", 0),
        ("other", "acks", "all", 2),
    ]
    columns = ("client_id", "config_key", "config_value", "offset")
    assert job.rows(*columns) == expected
    quarantined = job.read(QUARANTINE).collect()
    assert [(row["reason"], row["body"], row["offset"]) for row in quarantined] == [
        ("malformed_wire_configs", None, 3)
    ]
    # An older record changes nothing.
    older = str(int(HEADERS["received_at_ms"]) - 1)
    job.write(1, record(4, said(acks="1"), received_at_ms=older))
    assert job.rows(*columns) == expected
    batch = record(6, said(acks="1")), record(7, said(acks="1"), client_id="")
    job.write(2, *batch)
    # A batch that Delta has is not written again.
    job.write(2, *batch, record(8, said(acks="-7")))
    assert job.read(CLIENT_WIRE_CONFIGS).count() == 4
    assert ("orders", "acks", "1", 6) in [
        tuple(row) for row in job.read(CLIENT_WIRE_CONFIGS).select(*columns).collect()
    ]


@pytest.mark.long
def test_a_codec_stays_where_a_later_batch_was_not_compressed(spark, tmp_path):
    job = WireJob(spark, tmp_path)
    columns = ("config_value", "is_exact", "offset")

    def compressed(offset, codec):
        return record(offset, said(compression_type=codec))

    job.write(0, compressed(0, "none"))
    assert job.rows(*columns) == [("none", False, 0)]
    job.write(1, compressed(1, "none"), compressed(2, "zstd"), compressed(3, "none"))
    assert job.rows(*columns) == [("zstd", True, 2)]
    job.write(2, compressed(4, "none"))
    assert job.rows(*columns) == [("zstd", True, 2)]
    job.write(3, compressed(5, "lz4"), compressed(1, "zstd"))
    assert job.rows(*columns) == [("lz4", True, 5)]


@pytest.mark.long
@pytest.mark.parametrize("point", ["before quarantine", "before client_wire_configs"])
def test_a_batch_that_was_cut_off_is_written_once(spark, tmp_path, point):
    job = WireJob(spark, tmp_path)
    batch = [record(0, said(acks="1")), record(1, b"bad")]
    job.stop_at = point
    with pytest.raises(Stop):
        job.write(0, *batch)
    job.stop_at = ""
    job.write(0, *batch)
    job.write(0, *batch)
    # So does another query, which begins with what the tables hold.
    job.query_id = "another"
    job.write(0, *batch, floors={0: 1})
    assert job.rows("config_key", "config_value") == [("acks", "1")]
    assert job.read(QUARANTINE).count() == 1


def wire(key, value, **fields):
    known = {"config_key": key, "config_value": value, "config_type": "STRING"}
    known |= {"client_id": "app", "principal": "User:a", "client_type": "producer"}
    known |= {"client_source_address": "x", "is_exact": True, "received_at": recent(9)}
    known |= {"wire_client": f"{fields.get('client_id', 'app')}"}
    return known | fields


@pytest.mark.long
def test_what_was_pushed_wins_then_what_was_seen_then_defaults(spark, tmp_path):
    settings = load_settings("base", [f"tables.root_path={tmp_path}"])
    contracts = [*CLIENT_CONFIG_CONTRACTS, CLIENT_WIRE_CONFIGS, CLIENT_INSTANCES]
    ensure_tables(spark, settings.tables, contracts)
    append_rows(
        settings.tables,
        CLIENT_CONFIGS,
        instance("old", {"acks": held("9")}, received_at=recent(1)),
        instance(
            "new",
            {
                "acks": held("1"),
                "compression.codec": held("lz4"),
                "transactional.id": held(None, "STRING", "redacted"),
            },
            received_at=recent(2),
        ),
    )
    append_rows(
        settings.tables,
        CONFIG_DEFAULTS,
        {
            "client_software_name": "apache-kafka-java",
            "client_software_version": "4.3.1",
            "client_type": "producer",
            "config_key": "request.timeout.ms",
            "default_value": "7",
            "config_type": "INT",
        },
    )
    append_rows(
        settings.tables,
        CLIENT_INSTANCES,
        {"client_instance_id": "stock", "client_id": "stock", "principal": "User:a"}
        | {"client_source_address": "x", "client_type": "consumer"}
        | {"first_seen": recent(12), "push_interval_ms": 3_600_000},
    )
    stock = {"client_id": "stock", "client_type": "consumer"}
    append_rows(
        settings.tables,
        CLIENT_WIRE_CONFIGS,
        wire("acks", "all"),
        wire("compression.type", "zstd", other_names=["compression.codec"]),
        wire("compression.type", "none", client_type="consumer", is_exact=False),
        wire("transactional.id", "hidden by the push"),
        wire("request.timeout.ms", "8", config_type="INT"),
        wire("enable.idempotence", "true", config_type="BOOLEAN"),
        wire("batch.size", "512", config_type="INT", is_exact=False),
        wire("group.id", None, **stock),
        wire("fetch.min.bytes", "3", config_type="INT", **stock),
        wire("fetch.min.bytes", "4", client_id="nobody", client_type="consumer"),
        wire("max.poll.interval.ms", "5", is_exact=False),
        wire("max.poll.interval.ms", "6", client_software_name="librdkafka", **stock),
        # A consumer of the same name is not this producer.
        wire("isolation.level", "x", client_type="consumer"),
    )
    views.register(spark, settings)
    columns = ("client_instance_id", "config_key", "config_value", "source", "status")
    rows = spark.table(ENTRIES).select(*columns, "is_pushed", "value_long").collect()
    found = {(row[0], row[1]): tuple(row[2:]) for row in rows}
    assert len(found) == len(rows)
    assert found["new", "acks"] == ("1", "pushed", "overridden", True, None)
    assert found["old", "acks"] == ("9", "pushed", "overridden", True, None)
    assert found["new", "compression.codec"][:2] == ("lz4", "pushed")
    assert found["new", "compression.type"][1] == "catalog"
    assert found["stock", "max.poll.interval.ms"][:2] == ("6", "wire")
    assert ("new", "max.poll.interval.ms") not in found
    assert found["new", "transactional.id"][:3] == (None, "pushed", "redacted")
    seen = ("8", "wire", "seen", False, 8)
    assert found["new", "request.timeout.ms"] == seen
    assert found["old", "request.timeout.ms"][:2] == ("7", "config_defaults")
    assert found["new", "enable.idempotence"][:2] == ("true", "wire")
    assert found["old", "enable.idempotence"][1] == "catalog"
    assert found["new", "batch.size"][1] == "catalog"
    assert found["stock", "fetch.min.bytes"] == ("3", "wire", "seen", False, 3)
    assert found["stock", "group.id"] == (None, "wire", "redacted", False, None)
    assert found[None, "fetch.min.bytes"][0] == "4"
    assert found[None, "isolation.level"][0] == "x"
    # As which every codec may go.
    assert (None, "compression.type") not in found


def test_client_configuration_notebook_accepts_client_that_only_the_proxy_saw(
    spark, tmp_path
):
    settings = load_settings("local", [f"tables.root_path={tmp_path}"])
    contracts = [*CLIENT_CONFIG_CONTRACTS, CLIENT_WIRE_CONFIGS, CLIENT_INSTANCES]
    ensure_tables(spark, settings.tables, contracts)
    append_rows(settings.tables, CLIENT_WIRE_CONFIGS, wire("acks", "all"))
    path = CONF_PATH.parent / "notebooks/client_configuration.py"
    cells = load_cells(path)
    checks = next(n for n, cell in enumerate(cells) if "picked.check" in cell.text)
    given = {"set": f"tables.root_path={tmp_path}"}
    widgets = page.parse_widgets(given, ["client=app"])
    page.run_cells(spark, settings, path, cells[: checks + 1], widgets)
