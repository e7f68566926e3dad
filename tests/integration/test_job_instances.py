"""A query that remembers client_instances still writes every change, and no other."""

import pytest
from confluent_kafka import Producer

from pipelines.delta_tables.locations import identify_table
from pipelines.jobs.telemetry import job as client_telemetry_to_delta
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.run_stream import RunContext
from pipelines.tables.telemetry import CLIENT_INSTANCES
from tests.bench.generated_pushes import java_push
from tests.support.jobs.job_support import (
    CODECS,
    FLUSH_TIMEOUT_S,
    START_MS,
    create_topic,
    make_instance_id,
    make_settings,
)
from tests.support.spark.telemetry_records import make_headers

POINT = f"before {CLIENT_INSTANCES.name}"


class RunningJob:
    """A query that goes on, fed push by push."""

    def __init__(self, spark, servers, topic, folder):
        create_topic(servers, topic, 1)
        self.settings = make_settings(servers, topic, folder)
        self._spark, self._topic = spark, topic
        self._producer = Producer({"bootstrap.servers": servers})
        self._sent = 0
        self._merged = 0
        self.start()

    def start(self):
        self.query = client_telemetry_to_delta.run(
            self._spark,
            self.settings,
            RunContext(
                secrets=SecretReader(environ={}),
                is_once=False,
                observer=self._observe,
            ),
        )

    def close(self):
        """End the query; Spark keeps its observer, which would keep the producer."""
        self.query.stop()
        del self._producer

    def _observe(self, point, rows):
        self._merged += rows if point == POINT else 0

    def push(self, *instances, at_s, **headers):
        """Let client instances push; return how many rows were merged for that."""
        before = self._merged
        for number in instances:
            self._sent += 1
            sent = {
                "client_instance_id": make_instance_id(number),
                "received_at_ms": str(START_MS + at_s * 1000),
                "push_id": f"p{self._sent:04}",
                "compression_type": "zstd",
            }
            body = CODECS["zstd"](java_push(1, 3))
            made = make_headers(**sent | headers)
            self._producer.produce(self._topic, body, key="k", headers=made)
        assert self._producer.flush(FLUSH_TIMEOUT_S) == 0
        self.query.processAllAvailable()
        return self._merged - before

    @property
    def table(self):
        return identify_table(self._spark, self.settings.tables, CLIENT_INSTANCES)

    def read(self, *columns):
        rows = self._spark.table(self.table).selectExpr("client_instance_id", *columns)
        return {row[0]: tuple(row[1:]) for row in rows.collect()}


@pytest.fixture
def job(spark, kafka, tmp_path, request):
    topic = request.node.name
    made = RunningJob(spark, kafka.bootstrap_servers, topic, tmp_path)
    yield made
    made.close()


def count_versions(spark, job):
    return spark.sql(f"DESCRIBE HISTORY {job.table}").count()


@pytest.mark.long
def test_only_changes_are_merged_early_or_late(spark, job):
    assert job.push(1, 2, at_s=10) == 2
    versions = count_versions(spark, job)
    assert job.push(1, 2, at_s=20) == 0
    assert job.push(1, at_s=15) == 0
    assert count_versions(spark, job) == versions
    assert job.push(1, at_s=30, principal="User:new") == 1
    # Older than what the table says: the new principal stays.
    assert job.push(1, at_s=25, principal="User:alice") == 0
    assert job.push(2, 1, at_s=5, principal="User:oldest") == 2
    assert job.push(1, 2, 3, at_s=40, principal="User:new") == 2
    assert job.push(1, 2, 3, at_s=50, principal="User:new") == 0
    seconds = f"(unix_millis(first_seen) - {START_MS}) div 1000"
    assert job.read("principal", seconds) == {
        make_instance_id(1): ("User:new", 5),
        make_instance_id(2): ("User:new", 5),
        make_instance_id(3): ("User:new", 40),
    }


@pytest.mark.long
def test_a_row_that_somebody_deletes_comes_back(spark, job):
    """What is remembered is true of one version of the table only."""
    job.push(1, 2, at_s=10)
    assert job.push(1, 2, at_s=20) == 0
    gone = make_instance_id(1)
    spark.sql(f"DELETE FROM {job.table} WHERE client_instance_id = '{gone}'")  # noqa: S608 - an identifier of ours
    assert job.push(1, 2, at_s=30) == 1
    assert job.read().keys() == {gone, make_instance_id(2)}
    assert job.push(1, 2, at_s=40) == 0


@pytest.mark.long
def test_a_query_that_begins_again_compares_with_the_table(job):
    job.push(1, at_s=10)
    job.query.stop()
    job.start()
    assert job.push(1, at_s=20) == 0
    assert job.push(1, at_s=30, terminating="true") == 1
    job.query.stop()
    job.start()
    assert job.push(1, at_s=40) == 1
    assert job.read("terminated_at") == {make_instance_id(1): (None,)}
