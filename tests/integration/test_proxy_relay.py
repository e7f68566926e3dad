"""Brokers with a telemetry receiver of their own keep it, where the proxy relays."""

import subprocess
import time
import zipfile

import pytest

from pipelines.embedded import EmbeddedKafka
from pipelines.embedded.installation import JARS_PATH
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.config_support import read_topic
from tests.support.bridge.proxy_support import (
    PATIENCE_S,
    ProxiedClients,
    find_servers,
    proxy_settings,
)
from tests.support.clients.java_clients import PROGRAMS_PATH
from tests.support.kafka.kafka_commands import configure

PLUGIN = PROGRAMS_PATH / "KeepTelemetry.java"
KINDS = ("producer", "consumer")


def make_jars(java, folder):
    """Compile the receiver; return a folder of it and all jars of a broker."""
    classes, jars = folder / "classes", folder / "jars"
    jars.mkdir()
    compiler = [java, "-m", "jdk.compiler/com.sun.tools.javac.Main"]
    (clients,) = JARS_PATH.glob("kafka-clients-*.jar")
    subprocess.run([*compiler, "-d", classes, "-cp", clients, PLUGIN], check=True)
    for jar in JARS_PATH.glob("*.jar"):
        (jars / jar.name).symlink_to(jar.resolve())
    with zipfile.ZipFile(jars / "receiver.jar", "w") as archive:
        for path in classes.iterdir():
            archive.write(path, path.name)
    return jars


@pytest.fixture(scope="module")
def kept_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("receiver") / "kept"
    path.touch()
    return path


@pytest.fixture(scope="module")
def upstream(java, kept_path):
    """A broker that keeps telemetry itself, and asks every client for all of it."""
    with EmbeddedKafka(
        java=java,
        jars_path=make_jars(java, kept_path.parent),
        cache_path=kept_path.parent / "cache",
        broker_properties={
            "metric.reporters": PLUGIN.stem,
            "keep.telemetry.path": str(kept_path),
        },
    ) as cluster:
        words = ("--alter", "--entity-name", "all", "--add-config")
        code, output = configure(
            java, cluster.bootstrap_servers, *words, "metrics=[*],interval.ms=200"
        )
        assert code == 0, output
        yield cluster
        # No class archive of a broker that is started once.
        cluster.kill(1)


def read_kept(path):
    """Return client id, principal and bytes of each push that the broker has kept."""
    return [line.split() for line in path.read_text().splitlines()]


@pytest.mark.parametrize("telemetry", ["relay", "serve"])
def test_telemetry_goes_where_the_setting_says(kafka, upstream, kept_path, telemetry):
    settings = proxy_settings(
        kafka,
        f"upstream.bootstrap_servers={upstream.bootstrap_servers}",
        f"proxy.telemetry={telemetry}",
    )
    with running_bridge(settings) as (server, _endpoint):
        clients = ProxiedClients(find_servers(server))
        topic = clients.create_topic(1, 1)
        producer = clients.producer(f"{telemetry}-producer")
        consumer = clients.consumer(f"{telemetry}-consumer")
        consumer.subscribe([topic])
        names = {f"{telemetry}-{kind}" for kind in KINDS}

        def list_pushers():
            if telemetry == "serve":
                records = read_topic(kafka, settings.topics.telemetry)
                return {dict(one.headers())["client_id"].decode() for one in records}
            return {line[0] for line in read_kept(kept_path) if line[2] != "0"}

        deadline = time.monotonic() + PATIENCE_S
        while not names <= list_pushers():
            assert time.monotonic() < deadline
            producer.produce(topic, b"value")
            producer.poll(0.05)
            consumer.poll(0.05)
        consumer.close()
        counters = server.counters
    kept = {tuple(line[:2]) for line in read_kept(kept_path) if line[0] in names}
    if telemetry == "serve":
        assert kept == set()
        assert counters.accepted_pushes > 0
    else:
        assert kept == {(name, "User:ANONYMOUS") for name in names}
        assert (counters.gets, counters.accepted_pushes) == (0, 0)
        assert read_topic(kafka, settings.topics.telemetry) == []
