"""Real receivers have what was pushed, and the dashboards of clients find it there.

Usage: python tests/long/forward_receivers.py [--pushes 40] [--collector FILE]
       [--prometheus FILE]

Captured pushes of Java and librdkafka clients and generated deltas go into a topic, and
forwarders send them on to a Prometheus by remote write, to the same by OTLP where its
release is 2.47 or newer, and to an OpenTelemetry Collector, built from its modules with
Go, which passes them on to a receiver of the tests, and exports them to be scraped.
Prometheus must answer with the last running sum of each series, and with data for every
query of the dashboards of clients; the collector must pass on every point as it was, and
export each metric of a node with the point's node_id and the resource's broker_id. What is not installed is said to be
skipped; with nothing there the proof fails.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import yaml  # noqa: E402 - path
from confluent_kafka import Producer  # noqa: E402 - path
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData  # noqa: E402 - path

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.forwarder.bodies import NODE_ID, plain_label  # noqa: E402 - path
from pipelines.forwarder.remote_write import metric_name  # noqa: E402 - path
from pipelines.settings import CONF_PATH  # noqa: E402 - path
from tests.support.documents import find_block  # noqa: E402 - path
from tests.support.jobs.job_support import create_topic  # noqa: E402 - path
from tests.support.kafka.java_home import find_java  # noqa: E402 - path
from tests.support.kafka.topics import wait_for  # noqa: E402 - path
from tests.support.metrics_receiver import MetricsReceiver  # noqa: E402 - path
from tests.support.spark.telemetry_records import make_headers  # noqa: E402 - path

TOPIC, PUSH_EVERY_S = "forward-receivers", 15
SHOWN = ("clients", "java_clients")
CLIENTS = ("java-producer", "java-consumer", "librdkafka")
TELEMETRY = ROOT / "tests" / "golden" / "telemetry"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def make_push(client, moment, number):
    """Return a push of all metrics that clients of a family have."""
    family = "java" if client.startswith("java") else "librdkafka"
    kind = client.rpartition("-")[2]
    names = [f"{family}_{kind}_metrics.csv"]
    if client == "librdkafka":
        names = ["librdkafka_producer_metrics.csv", "librdkafka_consumer_metrics.csv"]
    data = MetricsData()
    resource = data.resource_metrics.add()
    resource.resource.attributes.add(key="group_id").value.string_value = "group-1"
    metrics = resource.scope_metrics.add().metrics
    for line in (one for name in names for one in read_lines(TELEMETRY / name)):
        name, otlp_type, value_type, _, attributes, *_ = line.split(",")
        metric = metrics.add(name=name)
        points = getattr(metric, otlp_type).data_points
        if otlp_type == "sum":
            metric.sum.is_monotonic, metric.sum.aggregation_temporality = True, 1
        point = points.add(
            time_unix_nano=moment, start_time_unix_nano=moment - PUSH_EVERY_S * 10**9
        )
        setattr(point, value_type, number + 1)
        for attribute in attributes.split():
            key, _, kind = attribute.partition(":")
            value = point.attributes.add(key=key).value
            setattr(value, f"{kind}_value", 1 if kind == "int" else "1")
    return data.SerializeToString()


def read_lines(path):
    return path.read_text().splitlines()[1:]


def publish(servers, pushes):
    """Push a past that ends now; return instances by client."""
    producer = Producer({"bootstrap.servers": servers, "acks": "all"})
    instances = {client: uuid.uuid4().hex[:22] for client in CLIENTS}
    now = time.time_ns()
    for number in range(pushes):
        moment = now - (pushes - 1 - number) * PUSH_EVERY_S * 10**9
        for client, instance in instances.items():
            headers = make_headers(
                client_instance_id=instance,
                client_id=client,
                push_id=str(uuid.uuid4()),
                compression_type="none",
                terminating="false",
            )
            body = make_push(client, moment, number)
            producer.produce(TOPIC, body, key=instance, headers=headers)
    assert producer.flush(60) == 0
    return instances


@contextmanager
def running(*command, log):
    """Run a process, its output in a file, until the block ends."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("ab") as file:
        process = subprocess.Popen(command, env=environ, stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def forward(servers, folder, group, endpoint, *more):
    """Run a forwarder."""
    sets = [
        f"kafka.bootstrap_servers={servers}", f"topics.telemetry={TOPIC}",
        f"forward.group_id={group}", f"forward.endpoint={endpoint}",
        f"forward.state_location={folder / group}.sqlite",
        *(f"forward.{one}" for one in more),
    ]  # fmt: skip
    words = [word for one in sets for word in ("--set", one)]
    command = (sys.executable, "-P", "-m", "pipelines", "forward", *words)
    return running(*command, log=folder / f"{group}.log")


def ask(port, query):
    """Ask Prometheus; return its result."""
    words = urllib.parse.urlencode({"query": query})
    url = f"http://127.0.0.1:{port}/api/v1/query?{words}"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]["result"]
    except (urllib.error.URLError, ConnectionError):
        return []


def check_prometheus(port, instances, pushes, label):
    """Return what is wrong with what a Prometheus has."""
    total = metric_name("org.apache.kafka.producer.record.send.total", is_total=True)
    last = pushes * (pushes + 1) // 2
    asked = f"{total}{{client_instance_id='{instances['java-producer']}'}}"
    wait_for(
        lambda: [float(one["value"][1]) for one in ask(port, asked)],
        lambda values: values == [last],
    )
    empty, queries = [], 0
    for name in SHOWN:
        board = json.loads((CONF_PATH / "grafana" / f"{name}.json").read_text())
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                query = re.sub(r"\$window", "5m", target["expr"])
                query = re.sub(r"\$(client_id|principal)", ".*", query)
                queries += 1
                if not ask(port, query):
                    empty.append(f"{label}: {name}: {panel['title']} has no data")
    series = len(ask(port, '{client_instance_id!=""}'))
    print(f"{label}: {series} series, {queries} queries, {len(empty)} without data")
    return empty


@contextmanager
def prometheus(program, folder):
    """Run a Prometheus with the configuration that the guide has."""
    # 2.47 and newer have a feature for it, 3.0 and newer a flag.
    told = subprocess.run(
        [program, "--help"], capture_output=True, text=True, check=True
    )
    said = told.stdout + told.stderr
    flags = ["--web.enable-remote-write-receiver"]
    config = yaml.safe_load(
        find_block("docs/guide/forwarding.md", "prometheus-labels").text
    )
    if has_otlp := "web.enable-otlp-receiver" in said:
        flags.append("--web.enable-otlp-receiver")
    elif has_otlp := "otlp-write-receiver" in said:
        flags.append("--enable-feature=otlp-write-receiver")
    else:
        del config["otlp"]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    with running(
        program, f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address=127.0.0.1:{port}",
        *flags, log=folder / "prometheus.log",
    ):  # fmt: skip
        wait_for(lambda: ask(port, "vector(1)"), bool)
        yield port, has_otlp


def prove_prometheus(program, servers, folder, instances, pushes):
    """Remote write, and OTLP to a second one where its release has it."""
    base = "http://127.0.0.1"
    with prometheus(program, folder) as (port, has_otlp):
        words = (f"{base}:{port}/api/v1/write", "protocol=remote_write")
        with forward(servers, folder, "remote-write", *words):
            wrong = check_prometheus(port, instances, pushes, "remote write")
    if not has_otlp:
        print("OTLP to Prometheus is skipped: releases before 2.47 have none")
        return wrong
    shutil.rmtree(folder / "tsdb")
    with prometheus(program, folder) as (port, _):
        words = (f"{base}:{port}/api/v1/otlp/v1/metrics", "temporality=cumulative")
        with forward(servers, folder, "otlp", *words):
            wrong += check_prometheus(port, instances, pushes, "OTLP to Prometheus")
    return wrong


@contextmanager
def collector(program, folder, exporters):
    """Run a collector; yield the endpoint of its OTLP receiver."""
    port = free_port()
    config = {
        "receivers": {
            "otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}
        },
        "exporters": exporters,
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {
                "metrics": {"receivers": ["otlp"], "exporters": [*exporters]}
            },
        },
    }
    path = folder / "collector.yaml"
    path.write_text(yaml.safe_dump(config))
    command = (program, f"--config=file:{path}")
    with running(*command, log=folder / "collector.log"):
        yield f"http://127.0.0.1:{port}/v1/metrics"


def prove_collector(program, servers, folder, pushes):
    """Return what is wrong with what a collector passes on."""
    with MetricsReceiver() as receiver:
        exporter = {"metrics_endpoint": receiver.endpoint, "compression": "gzip"}
        with (
            collector(program, folder, {"otlp_http": exporter}) as endpoint,
            forward(servers, folder, "collector", endpoint),
        ):
            each = sum(
                len(MetricsData.FromString(make_push(one, 10**18, 0)).resource_metrics[0]
                    .scope_metrics[0].metrics)
                for one in CLIENTS
            )  # fmt: skip
            points = wait_for(receiver.points, lambda one: len(one) >= pushes * each)
    print(f"collector: {len(points)} points of {pushes * each}")
    return [] if len(set(points)) == pushes * each else ["collector: other points"]


def count_node_metrics(client):
    """Return the number of metrics of a client whose points name a node."""
    push = MetricsData.FromString(make_push(client, 10**18, 0))
    return sum(
        any(plain_label(one.key) == NODE_ID for one in point.attributes)
        for metric in push.resource_metrics[0].scope_metrics[0].metrics
        for point in getattr(metric, metric.WhichOneof("data")).data_points
    )


def read_page(port):
    """Return the page that a Prometheus scrapes; nothing while there is none."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            return answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return ""


def prove_exporter(program, servers, folder):
    """Return what is wrong with the labels that a collector exports to Prometheus."""
    port = free_port()
    exporter = {
        "endpoint": f"127.0.0.1:{port}",
        "resource_to_telemetry_conversion": {"enabled": True},
        "metric_expiration": "1h",
    }
    expected = {one: count_node_metrics(one) for one in CLIENTS}

    def count_series():
        """Count the series of each client that have both labels."""
        page = read_page(port)
        return {
            client: sum(
                {'node_id="1"', 'broker_id="3"', f'client_id="{client}"'}
                <= set(re.findall(r'\w+="[^"]*"', line))
                for line in page.splitlines()
            )
            for client in CLIENTS
        }

    with (
        collector(program, folder, {"prometheus": exporter}) as endpoint,
        forward(servers, folder, "exporter", endpoint, "temporality=cumulative"),
    ):
        try:
            wait_for(count_series, lambda found: found == expected)
        except AssertionError as fault:
            return [f"collector's exporter: {fault} instead of {expected}"]
    print(f"collector's exporter: series of nodes: {expected}")
    return []


def build_collector(folder):
    """Build the collector; None where there is no Go."""
    go = shutil.which("go")
    if go is None:
        return None
    program = folder / "collector"
    subprocess.run(
        [go, "build", "-o", str(program), "."],
        cwd=ROOT / "tests" / "support" / "collector",
        check=True,
    )
    return str(program)


def main():
    """Prove it; 1 where a receiver has something else, or there is none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pushes", type=int, default=40)
    parser.add_argument("--collector", help="a collector that is built already")
    parser.add_argument("--prometheus", default=shutil.which("prometheus"))
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        EmbeddedKafka(java=find_java()) as kafka,
    ):
        folder, servers, wrong, proved = Path(name), kafka.bootstrap_servers, [], 0
        program = options.collector or build_collector(folder)
        create_topic(servers, TOPIC, 3)
        instances = publish(servers, options.pushes)
        if options.prometheus is None:
            print("Prometheus is skipped: it is not installed (Debian: prometheus)")
        else:
            words = (servers, folder, instances, options.pushes)
            wrong += prove_prometheus(options.prometheus, *words)
            proved += 1
        if program is None:
            print("the collector is skipped: there is no Go to build it with")
        else:
            wrong += prove_collector(program, servers, folder, options.pushes)
            wrong += prove_exporter(program, servers, folder)
            proved += 1
    if not proved:
        wrong.append("there is no receiver here")
    print("\n".join(wrong) or "as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
