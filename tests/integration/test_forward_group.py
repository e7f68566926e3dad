"""The forwarder's own class in its consumer group, with a real Kafka."""

import itertools
import threading
import time

import pytest
import zstandard
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData, NumberDataPoint

from pipelines.forwarder.run import Forwarder
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.integration.test_forward import publish, sum_push
from tests.support.kafka.topics import make_topic
from tests.support.metrics_receiver import MetricsReceiver
from tests.unit.udfs.otlp.message_pieces import tiny_points

PATIENCE_S = 60


class RunningForwarder:
    """Forwarder in a thread of this process."""

    def __init__(self, words):
        """Start it with settings, and wait until its pages would be served."""
        self.turns = []
        self._stop, begun = threading.Event(), threading.Event()

        def run():
            settings = load_settings("local", words)
            forwarder = Forwarder(settings, SecretReader(environ={}))
            self.watch = forwarder.watch
            turn = self.watch.turn
            self.watch.turn = lambda: (self.turns.append(time.monotonic()), turn())
            begun.set()
            forwarder.run(self._stop)

        self._thread = threading.Thread(target=run)
        self._thread.start()
        assert begun.wait(PATIENCE_S)

    def stop(self):
        """Stop it and wait for its end."""
        self._stop.set()
        self._thread.join()


@pytest.fixture
def admin(kafka):
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


@pytest.fixture
def forward(kafka, tmp_path):
    """Start a forwarder of a topic, which stops when the test ends."""
    running = []

    def begin(topic, port, *more):
        words = [
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            f"topics.telemetry={topic}", f"forward.group_id={topic}",
            f"forward.endpoint=http://127.0.0.1:{port}/v1/metrics",
            f"forward.state_location={tmp_path / 'sums'}", "forward.http_port=-1",
            *more,
        ]  # fmt: skip
        running.append(RunningForwarder(words))
        return running[-1]

    yield begin
    for one in running:
        one.stop()


def join_and_leave(kafka, topic):
    """Let a second member of the group take a partition and give it back."""
    member = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": topic,
            "enable.auto.commit": False,
        }
    )
    member.subscribe([topic])
    while not member.assignment():
        member.poll(0.1)
    member.close()


@pytest.mark.parametrize("temporality", ["as_sent", "cumulative"])
def test_forwarder_rebalance_during_receiver_outage_sends_all_records(
    kafka, admin, forward, wait_until, temporality
):
    topic = make_topic(admin, NewTopic(f"forward-rebalance-{temporality}", 2))
    with MetricsReceiver() as receiver:
        forwarder = forward(topic, receiver.port, f"forward.temporality={temporality}")
        for first in (1, 9, 17):
            values = range(first, first + 8)
            publish(kafka, topic, map(sum_push, values), partitions=2)
            if first == 1:
                wait_until(lambda: len(receiver.points()) == 8, PATIENCE_S)
                receiver.statuses[:] = [503] * 1000
            elif first == 9:
                wait_until(lambda: 503 in receiver.seen, PATIENCE_S)
                join_and_leave(kafka, topic)
                receiver.statuses.clear()
        wait_until(lambda: len(set(receiver.points())) >= 24, PATIENCE_S)
    assert forwarder.watch.is_ready


@pytest.mark.parametrize("temporality", ["as_sent", "cumulative"])
def test_forwarder_recreated_topic_sends_its_first_records(
    kafka, admin, forward, wait_until, temporality
):
    topic = make_topic(admin, NewTopic(f"forward-recreated-{temporality}", 1))
    with MetricsReceiver() as receiver:
        word = f"forward.temporality={temporality}"
        publish(kafka, topic, [sum_push(1)] * 10)
        first = forward(topic, receiver.port, word)
        wait_until(lambda: len(receiver.points()) == 10, PATIENCE_S)
        first.stop()
        receiver.requests.clear()
        admin.delete_topics([topic])[topic].result(PATIENCE_S)
        make_topic(admin, NewTopic(topic, 1))
        publish(kafka, topic, [sum_push(1)] * 15)
        forward(topic, receiver.port, word)
        wait_until(lambda: len(receiver.points()) == 15, PATIENCE_S)
        values = [point[2] for point in receiver.points()]
    assert values == ([1] * 15 if temporality == "as_sent" else [*range(1, 16)])


def slow_push(points):
    """Return a push whose points are summed up one by one."""
    data = MetricsData()
    metric = data.resource_metrics.add().scope_metrics.add().metrics.add(name="slow")
    metric.sum.aggregation_temporality = 1
    metric.sum.data_points.extend([NumberDataPoint(as_int=1)] * points)
    return data.SerializeToString()


def test_forwarder_large_pushes_are_skipped_or_sent_while_it_stays_healthy(
    kafka, admin, forward, wait_until, caplog
):
    topic = make_topic(admin, NewTopic("forward-large", 1))
    bomb = zstandard.compress(tiny_points(8_300_000))
    assert len(bomb) < 2000
    publish(kafka, topic, [bomb] * 3, compression="zstd")
    publish(kafka, topic, [slow_push(40_000)] * 6)
    publish(kafka, topic, [sum_push(7)])
    with MetricsReceiver() as receiver:
        forwarder = forward(
            topic, receiver.port,
            "forward.temporality=cumulative", "forward.batch_bytes=268435456",
        )  # fmt: skip
        done = b"kafka_clientele_forwarder_records_total 10.0"
        wait_until(lambda: done in forwarder.watch.answer("/metrics")[1], PATIENCE_S)
        assert len(receiver.requests) > 1
        assert len(receiver.points()) == 6 * 40_000 + 1
    turns = itertools.pairwise(forwarder.turns)
    gaps = [after - before for before, after in turns]
    assert max(gaps) < 10
    page = forwarder.watch.answer("/metrics")[1].decode()
    assert "kafka_clientele_forwarder_skipped_records_total 3.0" in page
    assert "offset 0: too_large: its data points would take too much" in caplog.text
