import os
import subprocess
import sys

import pytest
from confluent_kafka import Producer
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.settings.places import ROOT_PATH
from tests.support.kafka.topics import wait_for
from tests.support.metrics_receiver import MetricsReceiver


def sum_push(value):
    data = MetricsData()
    resource = data.resource_metrics.add()
    resource.resource.attributes.add(key="client_id").value.string_value = "claimed"
    metric = resource.scope_metrics.add().metrics.add(name="a.total")
    metric.sum.is_monotonic, metric.sum.aggregation_temporality = True, 1
    metric.sum.data_points.add(
        time_unix_nano=value, start_time_unix_nano=1, as_int=value
    )
    return data.SerializeToString()


def publish(kafka, topic, bodies, *, partitions=1, compression="none"):
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all"})
    headers = [
        ("client_instance_id", b"A" * 22), ("client_id", b"app"),
        ("principal", b"User:me"), ("compression_type", compression.encode()),
    ]  # fmt: skip
    for number, body in enumerate(bodies):
        partition = number % partitions
        producer.produce(
            topic, body, key="A" * 22, headers=headers, partition=partition
        )
    assert producer.flush(60) == 0


@pytest.fixture
def start(kafka, tmp_path):
    running = []

    def begin(topic, port, *more):
        words = [
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            f"topics.telemetry={topic}", f"forward.group_id={topic}",
            f"forward.endpoint=http://127.0.0.1:{port}/v1/metrics",
            f"forward.state_location={tmp_path / 'sums'}", "forward.http_port=-1",
            "forward.bearer_token=env:TOKEN", *more,
        ]  # fmt: skip
        sets = [word for one in words for word in ("--set", one)]
        command = [sys.executable, "-P", "-m", "pipelines", "forward", *sets]
        environ = {**os.environ, "PYTHONPATH": str(ROOT_PATH), "TOKEN": "secret-9"}
        log = (tmp_path / "log").open("ab")
        running.append(subprocess.Popen(command, env=environ, stderr=log))
        log.close()
        return running[-1]

    yield begin
    for one in running:
        one.kill()
        one.wait()


def test_nothing_is_lost_by_a_receiver_that_fails_or_is_gone(
    kafka, create_topic, start, tmp_path
):
    create_topic(kafka.bootstrap_servers, "forward-fails")
    publish(kafka, "forward-fails", [sum_push(1), b"\xff\xff", sum_push(2)])
    with MetricsReceiver(503, 429, rejected=1) as receiver:
        start("forward-fails", receiver.port)
        wait_for(receiver.points, lambda points: len(set(points)) == 2)
        assert receiver.seen[:2] == [503, 429]
        assert receiver.headers[0]["Authorization"] == "Bearer secret-9"
        labels = receiver.requests[0].resource_metrics[0].resource.attributes
        known = [(one.key, one.value.string_value) for one in labels]
        assert known == [
            ("client_instance_id", "A" * 22), ("client_id", "app"),
            ("principal", "User:me"),
        ]  # fmt: skip
        port = receiver.port
    publish(kafka, "forward-fails", [sum_push(3)])
    log = tmp_path / "log"
    wait_for(log.read_text, lambda text: "no answer" in text)
    with MetricsReceiver(port=port) as receiver:
        assert wait_for(receiver.points, len) == [("A" * 22, "a.total", 3)]
    assert "partition 0, offset 1: it is no MetricsData" in log.read_text()
    assert "secret-9" not in log.read_text()


@pytest.mark.long
def test_sums_go_on_where_they_were_when_the_forwarder_is_killed(
    kafka, create_topic, start
):
    create_topic(kafka.bootstrap_servers, "forward-sums")
    with MetricsReceiver() as receiver:
        words = ("forward-sums", receiver.port, "forward.temporality=cumulative")
        expected = []
        for value in (1, 10, 100):
            killed = start(*words)
            publish(kafka, "forward-sums", [sum_push(value)])
            expected.append(
                ("A" * 22, "a.total", sum(one[2] for one in expected[-1:]) + value)
            )
            wait_for(
                lambda: set(receiver.points()),
                lambda seen, known=tuple(expected): seen == set(known),
            )
            killed.kill()
            killed.wait()
        metrics = receiver.requests[-1].resource_metrics[0].scope_metrics[0].metrics
        assert metrics[0].sum.aggregation_temporality == 2
        assert metrics[0].sum.data_points[0].start_time_unix_nano == 1
