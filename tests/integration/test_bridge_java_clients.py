"""Clients of Apache Kafka's own library push through the bridge into a real Kafka."""

import asyncio
import contextlib
import subprocess
import uuid
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from pipelines.bridge.server import BridgeServer
from pipelines.embedded.installation import JARS_PATH
from pipelines.secret_references import SecretReader
from pipelines.settings import load_settings

PROGRAM = Path(__file__).with_name("PushUntilTold.java")
CLIENTS = {"java-producer", "java-consumer"}
DEADLINE_S = 60


@pytest.fixture(scope="module")
def compiling_java(java):
    """A Java that runs a source file."""
    listed = subprocess.run(
        [java, "--list-modules"], check=True, capture_output=True, text=True
    )
    if "jdk.compiler" not in listed.stdout:
        pytest.skip("this Java has no compiler, and the clients come as source")
    return java


async def push_from_java(java, endpoint, wait):
    """Run the clients until wait returns, then let them close."""
    process = await asyncio.create_subprocess_exec(
        java, "-cp", f"{JARS_PATH}/*", str(PROGRAM), endpoint,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(DEADLINE_S):
            await asyncio.to_thread(wait)
        await process.communicate(b"\n")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def make_settings(kafka, topic):
    subscription = '{name="s",metrics=["*"],interval_ms=500,match=[]}'
    return load_settings(
        "local",
        [
            f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
            f"topics.telemetry={topic}",
            "topics.partitions=1",
            "bridge.listen_port=0",
            f"subscriptions=[{subscription}]",
        ],
    )


def read_until_all_pushed(kafka, topic, seen):
    """Keep the newest headers of each client until every one has pushed."""
    reader = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "reader",
            "enable.metrics.push": False,
        }
    )
    try:
        reader.assign([TopicPartition(topic, 0, 0)])
        while set(seen) != CLIENTS:
            record = reader.poll(DEADLINE_S)
            headers = {name: value.decode() for name, value in record.headers()}
            seen[headers["client_id"]] = headers
    finally:
        reader.close()


def test_java_clients_push_with_all_that_identifies_them(kafka, compiling_java):
    topic, seen = f"telemetry-{uuid.uuid4()}", {}
    server = BridgeServer(make_settings(kafka, topic), SecretReader(environ={}))

    async def run():
        stop, endpoint = asyncio.Event(), asyncio.get_running_loop().create_future()

        def on_ready(host, port):
            endpoint.set_result(f"{host}:{port}")

        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve(stop, on_ready))
            wait = partial(read_until_all_pushed, kafka, topic, seen)
            await push_from_java(compiling_java, await endpoint, wait)
            stop.set()

    asyncio.run(run())
    assert server.counters.malformed_requests == 0
    assert server.counters.unsupported_requests == 0
    for headers in seen.values():
        assert headers["client_software_name"] == "apache-kafka-java"
        assert headers["client_software_version"] == "4.3.1"
        assert headers["compression_type"] == "zstd"
