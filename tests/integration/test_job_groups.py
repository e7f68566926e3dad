"""All jobs in one driver: each fills its tables, and one that fails goes on alone."""

import json
import logging
import os
import signal
import threading
import uuid
from functools import partial

import pytest
from confluent_kafka import Producer

from pipelines.commands.failures import describe
from pipelines.errors import MissingTopic, UncreatedTopic, UnsafeStart
from pipelines.jobs.cluster import job as cluster
from pipelines.jobs.telemetry import job as telemetry
from pipelines.jobs.traffic import job as traffic
from pipelines.settings import load_config_catalogs
from pipelines.settings.secret_references import SecretReader
from pipelines.settings.watching_settings import STREAMING_JOBS
from pipelines.streaming.job_groups import GroupedJob, JobGroup
from pipelines.streaming.run_stream import RunContext
from pipelines.streaming.sources import Gathering
from pipelines.tables.traffic import CLIENT_TRAFFIC
from tests.integration.test_cluster_job import RECORDS, publish
from tests.integration.test_docs import HASTE, start, words_of
from tests.spark.test_client_traffic import record as traffic_record
from tests.support.documents import find_block
from tests.support.dynamic_records import altered, as_pair
from tests.support.jobs.given_calls import run_line
from tests.support.jobs.job_support import (
    FLUSH_TIMEOUT_S,
    PushProducer,
    create_topic,
    find_differences,
    make_settings,
    read_rows,
)
from tests.support.spark.config_records import HEADERS as CONFIG_HEADERS
from tests.support.spark.config_records import entry, make_record

PATIENCE_S = 600
SECRETS = SecretReader(environ={})
PUSHES = 20
WAITING = Gathering(min_records=1_000, max_wait_ms=500)
LEDGERS = {
    "client_pushes": "telemetry",
    "client_config_pushes": "configs",
    "client_wire_configs": "wire_configs",
    "client_traffic": "traffic",
    "cluster_changes": "cluster",
    "dynamic_client_config_changes": "client_configs",
}
"""The table that each job writes last, to the topic that it reads."""
WIRE = {"client_type": "producer", "configs": {"acks": "all"}}


class Group:
    """Three jobs: one fails once, and one is refused."""

    def __init__(self, spark, settings):
        self.starts, self.queries, self.batches = [], {}, {}
        self._spark, self._settings = spark, settings
        self._news = threading.Condition()
        self._faults = iter([RuntimeError("a fault of the moment")])
        self._group = JobGroup(
            spark,
            settings,
            SECRETS,
            is_once=False,
            accepts_data_loss=False,
            describe=describe,
        )
        jobs = [
            self._grouped(telemetry, telemetry.run),
            self._grouped(
                traffic, partial(traffic.run, catalogs=load_config_catalogs())
            ),
            self._grouped(cluster, partial(cluster.run, config_types={})),
        ]
        self.ended_by = None
        self._thread = threading.Thread(target=self._run, args=(jobs,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._group.end()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def _run(self, jobs):
        try:
            self._group.run(jobs)
        except UnsafeStart as error:
            self.ended_by = error

    def _grouped(self, job, run):
        session = self._spark.newSession()

        def start(job_run):
            self.starts.append(job.JOB_NAME)
            context = RunContext(
                secrets=SECRETS,
                is_once=False,
                observer=self._observe,
                on_batch=partial(self._note, job.JOB_NAME),
                job_run=job_run,
                gathering=WAITING,
            )
            query = run(session, self._settings, context)
            self.queries.setdefault(job.JOB_NAME, []).append(query)
            return query

        return GroupedJob(spark=session, ledger=job.LEDGER, start=start)

    def _observe(self, point, _rows):
        if point == f"before {CLIENT_TRAFFIC.name}":
            for fault in self._faults:
                raise fault

    def _note(self, name, progress):
        with self._news:
            self.batches[name] = self.batches.get(name, 0) + progress.records
            self._news.notify_all()

    def wait_for(self, name, records):
        """Wait until a job has written so many records."""
        with self._news:
            assert self._news.wait_for(
                lambda: self.batches.get(name, 0) >= records, PATIENCE_S
            )


def send(servers, topic, *records):
    """Write (key, value, headers) records."""
    producer = Producer({"bootstrap.servers": servers})
    for key, value, headers in records:
        producer.produce(topic, value, key, headers=headers)
    assert producer.flush(FLUSH_TIMEOUT_S) == 0


def traffic_pairs(*numbers):
    return [(None, *traffic_record(n, n)[4:]) for n in numbers]


def test_a_job_that_fails_is_started_again_while_others_go_on(
    spark, kafka, tmp_path, caplog
):
    caplog.set_level(logging.INFO, "pipelines")
    servers, name = kafka.bootstrap_servers, uuid.uuid4()
    topics = {one: f"{one}-{name}" for one in ("telemetry", "traffic", "cluster")}
    for topic in topics.values():
        # The job of the cluster refuses a topic of several partitions.
        create_topic(servers, topic, partitions=3)
    settings = make_settings(
        servers,
        topics["telemetry"],
        tmp_path,
        *(f"topics.{one}={topics[one]}" for one in ("traffic", "cluster")),
        *(
            f"{one.JOB_NAME}.checkpoint_location={tmp_path}/{one.JOB_NAME}"
            for one in (traffic, cluster)
        ),
        "client_traffic_to_delta.trigger_interval_ms=200",
    )
    pushes = PushProducer(servers, topics["telemetry"])
    pushes.send(PUSHES)
    send(servers, topics["traffic"], *traffic_pairs(1, 2, 3))
    with Group(spark, settings) as group:
        group.wait_for(traffic.JOB_NAME, 3)
        pushes.send(PUSHES)
        send(servers, topics["traffic"], *traffic_pairs(4))
        group.wait_for(traffic.JOB_NAME, 4)
        group.wait_for(telemetry.JOB_NAME, 2 * PUSHES)
        assert group.queries[telemetry.JOB_NAME][0].isActive
    assert sorted(group.starts) == [
        telemetry.JOB_NAME,
        *[traffic.JOB_NAME] * 2,
        cluster.JOB_NAME,
    ]
    # The first starts have the order of the jobs, telemetry first.
    in_order = [telemetry.JOB_NAME, traffic.JOB_NAME, cluster.JOB_NAME]
    assert list(dict.fromkeys(group.starts)) == in_order
    assert not any(one.isActive for each in group.queries.values() for one in each)
    assert find_differences(spark, settings, pushes.expected) == {}
    rows = read_rows(spark, settings, CLIENT_TRAFFIC, "produced_bytes")
    assert sum(bytes_ for (bytes_,) in rows) == 1 + 2 + 3 + 4
    said = [record.getMessage() for record in caplog.records]
    assert (
        f"{traffic.JOB_NAME} has ended, and starts again in 1 s: "
        "RuntimeError: a fault of the moment"
    ) in said
    (refused,) = [one for one in said if "is not started again" in one]
    assert refused == f"{cluster.JOB_NAME} is not started again: {group.ended_by}"


def fill_topics(servers, topics):
    """Write a record or more to each topic, as bridges do."""
    PushProducer(servers, topics["telemetry"]).send(PUSHES)
    *_, body, headers = make_record(0, entry("acks", "all"))
    send(servers, topics["configs"], (None, body, headers))
    wire = dict(CONFIG_HEADERS)
    del wire["client_instance_id"]
    said = json.dumps(WIRE).encode()
    send(servers, topics["wire_configs"], ("a", said, list(wire.items())))
    send(servers, topics["traffic"], *traffic_pairs(1))
    publish(servers, topics["cluster"], RECORDS)
    send(servers, topics["client_configs"], (*as_pair(altered("1")), []))


def test_jobs_once_with_uncreated_topics_evaluates_findings_and_lists_skipped_jobs(
    spark, kafka, tmp_path, capsys
):
    servers, name = kafka.bootstrap_servers, uuid.uuid4()
    topics = {one: f"{one}-{name}" for one in LEDGERS.values()}
    create_topic(servers, topics["traffic"], 1)
    create_topic(servers, topics["telemetry"], 1)
    PushProducer(servers, topics["telemetry"]).send(PUSHES)
    given = [
        f"kafka.bootstrap_servers={servers}",
        f"tables.root_path={tmp_path}/tables",
        *(f"topics.{one}={topic}" for one, topic in topics.items()),
        *(f"{one}.checkpoint_location={tmp_path}/{one}" for one in STREAMING_JOBS),
    ]
    only = "--only client_telemetry_to_delta --only client_traffic_to_delta"
    line = "./spark-submit.sh jobs --once"
    run_line(spark, f"{line} --findings", *given)
    printed = capsys.readouterr().out.splitlines()
    skipped = sorted(one for one in STREAMING_JOBS if one not in only)
    assert printed[:-1] == [
        f"{one}: skipped, because its topic was never created" for one in skipped
    ]
    assert printed[-1].startswith("client_findings: ")
    assert has_rows(tmp_path / "tables" / "client_pushes")
    with pytest.raises(UncreatedTopic, match=topics["client_configs"]):
        run_line(spark, f"{line} --only dynamic_configs_to_delta", *given)
    # A topic that a job has read before is gone, so records may be lost.
    gone = [*given, f"topics.traffic=gone-{name}"]
    with pytest.raises(MissingTopic, match=f"gone-{name}"):
        run_line(spark, f"{line} --findings {only}", *gone)
    assert capsys.readouterr().out.startswith("client_findings: ")


def test_jobs_once_with_failing_first_run_raises_error_of_job_not_of_findings(
    spark, kafka, tmp_path, capsys
):
    servers, name = kafka.bootstrap_servers, uuid.uuid4()
    topics = {one: f"{one}-{name}" for one in LEDGERS.values()}
    create_topic(servers, topics["cluster"], 2)
    given = [
        f"kafka.bootstrap_servers={servers}",
        f"tables.root_path={tmp_path}/tables",
        *(f"topics.{one}={topic}" for one, topic in topics.items()),
        *(f"{one}.checkpoint_location={tmp_path}/{one}" for one in STREAMING_JOBS),
    ]
    with pytest.raises(UnsafeStart, match=topics["cluster"]):
        run_line(spark, "./spark-submit.sh jobs --once --findings", *given)
    skipped = sorted({*STREAMING_JOBS} - {"cluster_metadata_to_delta"})
    assert capsys.readouterr().out.splitlines() == [
        f"{one}: skipped, because its topic was never created" for one in skipped
    ]


def has_rows(table):
    logs = table.glob("_delta_log/*.json")
    return any('{"add"' in one.read_text(encoding="utf-8") for one in logs)


@pytest.mark.long
def test_the_command_fills_all_tables_and_ends_by_sigterm(
    kafka, java, tmp_path, wait_until
):
    servers, name = kafka.bootstrap_servers, uuid.uuid4()
    topics = {one: f"{one}-{name}" for one in LEDGERS.values()}
    for topic, partitions in zip(topics.values(), (3, 3, 3, 3, 1, 1), strict=True):
        create_topic(servers, topic, partitions)
    fill_topics(servers, topics)
    given = [
        f"kafka.bootstrap_servers={servers}",
        f"tables.root_path={tmp_path}/tables",
        *(f"topics.{one}={topic}" for one, topic in topics.items()),
        *(f"{one}.checkpoint_location={tmp_path}/{one}" for one in STREAMING_JOBS),
    ]
    (command,) = find_block("docs/operations/jobs.md", "jobs").commands
    words = [*words_of(command, *given), *HASTE]
    process = start(tmp_path, java, words)
    try:
        tables = [tmp_path / "tables" / table for table in LEDGERS]
        wait_until(
            lambda: process.poll() is not None or all(map(has_rows, tables)),
            PATIENCE_S,
        )
        assert process.poll() is None, process.communicate()
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 128 + signal.SIGTERM
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
