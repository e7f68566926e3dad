"""A site as `status` sees it: a broker, a bridge, a job that runs and its own page."""

import http.client
import json
import logging
import re
import shlex
import shutil
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from pipelines.commands.job_pages import served_metrics
from pipelines.jobs.telemetry import job as telemetry
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming.job_runs import run_to_end
from pipelines.streaming.run_stream import RunContext
from tests.support.bridge.bridge_process import BridgeProcess
from tests.support.documents import find_block
from tests.support.jobs.called_main import call_main
from tests.support.jobs.job_support import PushProducer, create_topic, make_settings
from tests.support.kafka.topics import wait_for

TOPIC = "watched"
JOB = "client_telemetry_to_delta"
Q = "kafka_clientele_query"
PUSHES = 60
MORE = 5
OPENMETRICS = {"Accept": "application/openmetrics-text;version=1.0.0"}
SECOND_MS = 1_000


@dataclass
class Site:
    """What status is asked about."""

    settings: Any
    words: list
    bridge: Any
    producer: Any
    page_port: int = 0
    query: Any = None
    ended: Any = None

    def ask(self, capsys, *more):
        """Return exit code and lines of status, and the seconds that it took."""
        began = time.monotonic()
        code, out, err = call_main(capsys, *self.words, *more)
        assert err == ""
        return code, out.splitlines(), time.monotonic() - began

    def read_page(self):
        """Return name to value of the figures of the job, as OpenMetrics."""
        connection = http.client.HTTPConnection("127.0.0.1", self.page_port, timeout=60)
        connection.request("GET", "/metrics", headers=OPENMETRICS)
        text = connection.getresponse().read().decode()
        connection.close()
        families = text_string_to_metric_families(text)
        samples = [s for family in families for s in family.samples]
        return {
            (s.name, s.labels.get("table") or s.labels.get("phase")): s.value
            for s in samples
            if "le" not in s.labels
        }


def find_port(lines):
    """Return the port that the log of a driver names."""
    [said] = [one for one in lines if one.startswith("metrics: ")]
    return int(re.search(r":(\d+)/metrics", said)[1])


@contextmanager
def running_job(spark, site):
    """Run the job as its command does, in this session, until it is stopped."""
    with served_metrics([spark], site.settings, [JOB]) as metrics:
        is_started = threading.Event()

        def start(job_run):
            context = RunContext(
                secrets=SecretReader(environ={}),
                is_once=False,
                job_run=job_run,
                on_batch=metrics.observe(JOB),
            )
            site.query = telemetry.run(spark, site.settings, context)
            is_started.set()
            return site.query

        def run():
            secrets = SecretReader(environ={})
            run_to_end(spark, site.settings, secrets, telemetry.LEDGER, start)

        site.ended = threading.Thread(target=run)
        site.ended.start()
        try:
            assert is_started.wait(300)
            yield
        finally:
            site.query.stop()
            site.ended.join(300)


@pytest.fixture(scope="module")
def site(spark, kafka, tmp_path_factory):
    """Broker, bridge and a job that has read all pushes, some of them broken."""
    folder = tmp_path_factory.mktemp("site")
    servers = kafka.bootstrap_servers
    create_topic(servers, TOPIC)
    settings = make_settings(servers, TOPIC, folder, "watching.jobs_http_port=0")
    with ExitStack() as stack:
        bridge = BridgeProcess(folder, servers, TOPIC)
        stack.callback(bridge.close)
        bridge.start()
        (command,) = find_block("docs/operations/watching.md", "status").commands
        keys = [
            f"kafka.bootstrap_servers={servers}",
            f"topics.telemetry={TOPIC}",
            f"tables.root_path={folder}/tables",
            f'watching.bridges=["127.0.0.1:{bridge.http_port}"]',
            "watching.answer_timeout_ms=30000",
            *(
                f"{name}.checkpoint_location={folder}/{name}"
                for name in (
                    "client_configs_to_delta",
                    "client_wire_configs_to_delta",
                    "client_traffic_to_delta",
                    "cluster_metadata_to_delta",
                    "dynamic_configs_to_delta",
                )
            ),
            f"{JOB}.checkpoint_location={folder}/checkpoint",
        ]
        words = shlex.split(command)[1:]
        for one in keys:
            words += ["--set", one]
        producer = PushProducer(servers, TOPIC)
        producer.send(PUSHES)
        made = Site(settings=settings, words=words, bridge=bridge, producer=producer)
        lines = []
        handler = logging.Handler()
        handler.emit = lambda record: lines.append(record.getMessage())
        logger = logging.getLogger("pipelines")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        stack.callback(logger.removeHandler, handler)
        stack.enter_context(running_job(spark, made))
        made.page_port = find_port(lines)
        bridge.fetch_until("/readyz", 200)
        points = len(producer.expected.points)
        wait_for(made.read_page, lambda page: page[f"{Q}_rows_total", None] == points)
        yield made
        made.producer = None  # whose broker ends


def rejected(site):
    return len(site.producer.expected.quarantined)


@pytest.mark.long
def test_the_page_of_a_driver_says_what_its_query_does(site):
    page = site.read_page()
    expected = site.producer.expected
    assert page[f"{Q}_up", None] == 1
    assert page[f"{Q}_starts_total", None] == 1
    assert page[f"{Q}_failures_total", None] == 0
    assert page[f"{Q}_records_total", None] == PUSHES
    assert page[f"{Q}_rows_total", None] == len(expected.points)
    assert page[f"{Q}_quarantined_records_total", None] == rejected(site)
    assert page[f"{Q}_lag_records", None] == 0
    assert (
        page[f"{Q}_batches_total", None] == page[f"{Q}_batch_seconds_count", None] > 0
    )
    assert page[f"{Q}_phase_seconds_total", "addBatch"] > 0
    assert abs(time.time() - page[f"{Q}_last_batch_timestamp_seconds", None]) < 600
    assert page["process_resident_memory_bytes", None] > 1e6
    assert page["kafka_clientele_table_readable", "client_metrics"] == 1
    # A query without work gives signs of life.
    before = page[f"{Q}_last_sign_timestamp_seconds", None]
    wait_for(
        site.read_page,
        lambda now: now[f"{Q}_last_sign_timestamp_seconds", None] > before,
    )


def test_a_site_that_is_well_says_so_soon(site, capsys):
    code, lines, seconds = site.ask(capsys)
    assert (code, lines[-1]) == (0, "all is well")
    # Of one that is loaded on all cores as well; docs/dev/benchmarks.md has a quiet one.
    assert seconds < 15
    flat = [" ".join(line.split()) for line in lines]
    [job] = [line for line in flat if line.startswith(JOB)]
    assert re.fullmatch(rf"{JOB} {TOPIC} runs 0 0\.0 \d+ \w+ ago", job)
    [bridge] = [line for line in flat if line.startswith("127.0.0.1:")]
    assert " ready 0.0 0.0 0 0" in bridge
    points = len(site.producer.expected.points)
    assert any(re.match(rf"client_metrics {points:,} \d+ ", line) for line in flat)


def test_programs_get_the_same_as_json(site, capsys):
    code, (line,), _ = site.ask(capsys, "--json")
    told = json.loads(line)
    assert code == 0
    assert told["is_well"] is True
    [job] = told["jobs"]
    assert (job["is_running"], job["topic_look"]["unread"]) == (True, 0)
    rows = {one["name"]: one["rows"] for one in told["stored"]["tables"]}
    expected = site.producer.expected
    assert rows["client_pushes"] == len(expected.pushes)
    assert rows["client_instances"] == len(expected.instances)
    assert rows["quarantine"] == rejected(site)
    assert sum(told["stored"]["quarantined"].values()) == rejected(site)


def test_a_full_quarantine_is_a_fault(site, capsys):
    limit = ("--set", "watching.max_quarantined=1")
    code, lines, _ = site.ask(capsys, *limit)
    assert code == 1
    assert lines[-1].startswith(
        f"not well: {rejected(site)} records of the last hour are in quarantine, more "
        "than watching.max_quarantined (1): "
    )


def test_a_missing_table_is_a_fault(site, capsys, tmp_path):
    folder = f"{site.settings.tables.root_path}/client_instances"
    shutil.move(folder, tmp_path / "away")
    try:
        code, lines, _ = site.ask(capsys)
    finally:
        shutil.move(tmp_path / "away", folder)
    assert code == 1
    assert lines[-1].startswith("not well: table client_instances is missing at ")
    assert f"{JOB}, started again, makes it anew" in lines[-1]


def test_a_dead_bridge_is_a_fault(site, capsys):
    site.bridge.kill()
    code, lines, _ = site.ask(capsys)
    assert code == 1
    assert lines[-1].startswith(
        f"not well: bridge at 127.0.0.1:{site.bridge.http_port} does not answer "
        "(Connection refused): start it: ./spark-submit.sh bridge --env local"
    )
    site.bridge.start()
    site.bridge.fetch_until("/readyz", 200)


def test_a_stopped_job_is_a_fault_once_records_wait_for_it(site, capsys):
    site.query.stop()
    site.ended.join(300)
    # Spark tells of the end of a query in its own time.
    page = wait_for(site.read_page, lambda page: page[f"{Q}_up", None] == 0)
    assert page[f"{Q}_failures_total", None] == 0
    code, lines, _ = site.ask(capsys)
    assert (code, lines[-1]) == (0, "all is well")
    site.producer.send(MORE)

    def ask():
        return site.ask(capsys, "--set", f"watching.max_lag_ms={SECOND_MS}")[:2]

    code, lines = wait_for(ask, lambda answer: answer[0] == 1)
    assert re.fullmatch(
        rf"not well: {JOB} does not run: {MORE} records wait, for [\d,]+ s: start it: "
        rf"\./spark-submit\.sh {JOB} --env local; nothing is lost while the topic "
        "keeps them",
        lines[-1],
    )


def test_a_query_that_fails_is_counted_and_down(site, spark, caplog):
    caplog.set_level(logging.INFO, "pipelines")

    def fail(_point, _rows):
        raise ArithmeticError("on purpose")

    secrets = SecretReader(environ={})
    with served_metrics([spark], site.settings, [JOB]):
        site.page_port = find_port([one.getMessage() for one in caplog.records])

        def start(job_run):
            context = RunContext(
                secrets=secrets, is_once=True, job_run=job_run, observer=fail
            )
            return telemetry.run(spark, site.settings, context)

        with pytest.raises(ArithmeticError, match="on purpose"):
            run_to_end(spark, site.settings, secrets, telemetry.LEDGER, start)
        page = wait_for(
            site.read_page, lambda page: page[f"{Q}_failures_total", None] == 1
        )
    assert (page[f"{Q}_up", None], page[f"{Q}_starts_total", None]) == (0, 1)


def test_kafka_that_does_not_answer_is_a_fault(site, capsys):
    away = ("kafka.bootstrap_servers=127.0.0.1:1", "watching.answer_timeout_ms=2000")
    words = [word for one in away for word in ("--set", one)]
    code, lines, _ = site.ask(capsys, *words)
    assert code == 1
    assert any(
        line.startswith("not well: Kafka at 127.0.0.1:1 does not answer (_")
        for line in lines
    )


def test_a_wrong_setting_ends_before_anything_is_looked_at(site, capsys):
    code, out, err = call_main(capsys, *site.words, "--set", "watching.max_lag_ms=0")
    assert (code, out) == (2, "")
    assert "watching.max_lag_ms" in err
    code, _, err = call_main(capsys, *site.words, "--xml")
    assert code == 2
    assert err.startswith("usage: ./spark-submit.sh status ")
