"""What clients produce and fetch: sums that a batch changes once, and use of limits."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.delta_tables import transactions
from pipelines.delta_tables.layouts import layout_of
from pipelines.delta_tables.writers import open_writer
from pipelines.jobs.quotas import job as quotas_job
from pipelines.jobs.traffic.job import CONTRACTS, JOB_NAME, NOT_HERE, make_batch_writer
from pipelines.reading.traffic_sums import add_up
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.tables.cluster import CLIENT_QUOTAS, EFFECTIVE_QUOTAS
from pipelines.tables.telemetry import QUARANTINE
from pipelines.tables.traffic import CLIENT_TRAFFIC
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.spark.config_records import RECORD_DDL
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.quota_tables import QuotaTables
from tests.unit.udfs.files.test_client_traffic_files import HEADERS, changed
from udfs.spark_traffic import TrafficTables

TIME = datetime(2026, 1, 1, tzinfo=UTC)
PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"


class TrafficJob:
    """The job without its query."""

    def __init__(self, spark, folder, writer):
        self.spark = spark
        self.settings = load_settings(
            "local", [f"tables.root_path={folder}/tables", f"tables.writer={writer}"]
        )
        make_tables(spark, self.settings.tables, CONTRACTS)
        spark.conf.set("spark.sql.adaptive.enabled", "false")

    def write(self, batch_id, *records, query_id="query"):
        settings = self.settings
        layouts = TrafficTables(
            quarantine=layout_of(QUARANTINE, without=NOT_HERE),
            quarantine_floors={},
            source_job=JOB_NAME,
            max_record_bytes=10_000,
            rules=make_sensitive_key_rules(
                settings.sensitive_keys, load_config_catalogs()
            ),
        )
        tables = open_writer(
            self.spark, settings.tables, CONTRACTS, lambda _point, _rows: None
        )
        frame = self.spark.createDataFrame(list(records), RECORD_DDL)
        make_batch_writer(tables, layouts).write(
            frame, transactions.Transaction(query_id=query_id, batch_id=batch_id)
        )

    def read(self, contract):
        path = f"{self.settings.tables.root_path}/{contract.name}"
        return self.spark.read.format("delta").load(path)

    def rows(self):
        names = ("client_id", "broker_id", "produced_bytes", "window_ms", "connections")
        names = (*names, "throttle_ms_max", "offset")
        return sorted(map(tuple, self.read(CLIENT_TRAFFIC).select(*names).collect()))

    def versions(self, client_id, broker_id):
        rows = self.read(CLIENT_TRAFFIC).where(f"broker_id = {broker_id}")
        (row,) = rows.where(f"client_id = '{client_id}'").collect()
        return list(map(tuple, row["api_versions"]))


def record(offset, produced_bytes, *, client_id="orders", push_id=None, **numbers):
    headers = HEADERS | {"client_id": client_id, "push_id": push_id or f"push-{offset}"}
    value = changed(produced_bytes=produced_bytes, **numbers)
    made = [(name, text.encode()) for name, text in headers.items()]
    return ("traffic", 0, offset, TIME, value, made)


@pytest.mark.parametrize(
    "writer", ["files", pytest.param("spark", marks=pytest.mark.long)]
)
def test_records_of_bridges_are_summed_up_once(spark, tmp_path, writer):
    job = TrafficJob(spark, tmp_path, writer)
    job.write(
        0,
        record(0, 5, throttle_ms_max=7, api_versions=[[0, 9], [3, 12]]),
        record(1, 20, window_ms=30_000, throttle_ms_max=3, api_versions=[]),
        record(2, 1, broker_id=2),
        record(3, 300, client_id="other"),
        # The bridge was not told that Kafka has it.
        record(4, 5, push_id="push-0"),
    )
    assert job.rows() == [
        ("orders", 1, 25, 60_000, 4, 7, 1),
        ("orders", 2, 1, 60_000, 2, 0, 2),
        ("other", 1, 300, 60_000, 2, 0, 3),
    ]
    batch = (
        record(5, 1_000, api_versions=[[0, 9], [0, 10]]),
        record(6, 20, push_id="push-1"),
        record(7, 4, broker_id=3),
    )
    job.write(1, *batch)
    # A batch that Delta has is not written again, nor is one of another query.
    job.write(1, *batch)
    job.write(0, *batch, record(1, 20), query_id="other")
    assert job.rows() == [
        ("orders", 1, 1_025, 60_000, 6, 7, 5),
        ("orders", 2, 1, 60_000, 2, 0, 2),
        ("orders", 3, 4, 60_000, 2, 0, 7),
        ("other", 1, 300, 60_000, 2, 0, 3),
    ]
    assert job.versions("orders", 1) == [(0, 9), (0, 10), (3, 12)]
    job.write(2, ("traffic", 0, 8, TIME, b"secret", record(8, 1)[5]))
    (rejected,) = job.read(QUARANTINE).collect()
    assert (rejected["reason"], rejected["body"]) == ("malformed_client_traffic", None)


@pytest.mark.parametrize("writer", ["files", "spark"])
def test_traffic_job_with_numbers_that_overflow_quarantines_only_them(
    spark, tmp_path, writer
):
    job = TrafficJob(spark, tmp_path, writer)
    job.write(
        0,
        *(record(offset, 2**63 - 1) for offset in (0, 1)),
        *(record(offset, 1, connections=2**31 - 1) for offset in (2, 3)),
        record(4, 5),
    )
    assert job.rows() == [("orders", 1, 5, 60_000, 2, 0, 4)]
    rejected = job.read(QUARANTINE).select("offset", "reason").collect()
    assert sorted(rejected) == [(n, "malformed_client_traffic") for n in range(4)]


def test_sum_of_stored_counts_above_the_type_is_its_maximum(spark):
    """Rows of many clients may become one if their client IDs are hidden."""
    rows = [
        {"connections": 2**31 - 1, "produced_bytes": 2**63 - 1, "fetch_requests": 1}
        for _ in range(2)
    ]
    fields = ", ".join(
        f"`{column.name}` {column.sql_type}" for column in CLIENT_TRAFFIC.columns
    )
    frame = spark.createDataFrame(rows, fields)
    (summed,) = frame.agg(*add_up()).collect()
    assert (summed["connections"], summed["produced_bytes"]) == (2**31 - 1, 2**63 - 1)
    assert summed["fetch_requests"] == 2


class Traffic(QuotaTables):
    """Quotas, and what the proxy has counted."""

    def __init__(self, spark, folder):
        contracts = (CLIENT_QUOTAS, CLIENT_TRAFFIC, EFFECTIVE_QUOTAS)
        super().__init__(spark, folder, contracts, datetime.now(tz=UTC))

    def count(self, principal, client_id, *, minutes=1, broker_id=1, **numbers):
        blank = dict.fromkeys(("produced_bytes", "fetched_bytes"), 0)
        blank |= {"throttle_ms_sum": 0, "produce_throttle_ms_sum": 0}
        known = {
            "cluster_id": "cluster-1",
            "principal": principal,
            "client_id": client_id,
            "broker_id": broker_id,
            "window_start": self.now - timedelta(minutes=minutes),
            "window_ms": 60_000,
        }
        self.add(CLIENT_TRAFFIC, known | blank | numbers)


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    made = Traffic(spark, tmp_path_factory.mktemp("use"))
    made.set_quotas(("users/alice", 1_000), ("clients/reader", {FETCH: 100}))
    # The two share what alice may, at each broker.
    made.count(
        *("User:alice", "c1"),
        produced_bytes=24_000,
        throttle_ms_sum=900,
        throttle_ms_max=300,
        produce_throttle_ms_sum=900,
    )
    made.count("User:alice", "c2", produced_bytes=36_000, fetched_bytes=600)
    made.count("User:alice", "c1", broker_id=2, produced_bytes=30_000)
    # An older time counts where the newest is not there yet, and no other does.
    made.count("User:alice", "c1", minutes=2, produced_bytes=6_000_000)
    made.count(
        *("User:bob", "reader"),
        minutes=2,
        fetched_bytes=7_500,
        throttle_ms_sum=5_000,
        throttle_ms_max=1_250,
    )
    made.count("User:carl", "gone", minutes=6, produced_bytes=10**9)
    made.count("User:dora", "", fetched_bytes=60)
    return made


@pytest.mark.long
def test_use_is_that_of_all_who_share_a_limit_at_the_busiest_broker(spark, tables):
    quotas_job.refresh(spark, tables.settings, tables.now)
    rows = tables.read(EFFECTIVE_QUOTAS).where(f"quota_key IN ('{PRODUCE}', '{FETCH}')")
    found = {
        (row["principal"], row["client_id"], row["quota_key"]): (
            *(row["limit"], row["used_rate"], row["use"], row["throttled_ms"]),
        )
        for row in rows.collect()
    }
    assert found == {
        ("User:alice", "c1", PRODUCE): (1_000, 1_000, 1.0, 300),
        ("User:alice", "c1", FETCH): (None, 0, None, 0),
        ("User:alice", "c2", PRODUCE): (1_000, 1_000, 1.0, 300),
        ("User:alice", "c2", FETCH): (None, 10, None, 0),
        ("User:bob", "reader", PRODUCE): (None, 0, None, 0),
        ("User:bob", "reader", FETCH): (100, 125, 1.25, 1_250),
        ("User:dora", "", PRODUCE): (None, 0, None, 0),
        ("User:dora", "", FETCH): (None, 1, None, 0),
    }


@pytest.mark.long
def test_top_prints_who_is_nearest_to_a_limit(spark, tables, capsys):
    (command,) = find_block("docs/guide/quotas.md", "quotas-top").commands
    run_line(spark, command, tables.root)
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    told = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert told[1:3] == [
        ["125.0%", "User:bob", "reader", FETCH, "100.0", "125.0", "1250 ms",
         "clients/reader", "proxy"],
        ["100.0%", "User:alice", "c1 and 1 more", PRODUCE, "1000.0", "1000.0",
         "300 ms", "users/alice", "proxy"],
    ]  # fmt: skip
    assert len(told) == 6
    assert told[-1][0].startswith("The proxy last counted until ")
