"""Real producers that push to a bridge behind a port."""

import asyncio
import contextlib
import logging
import os
import threading
from functools import partial
from pathlib import Path

from confluent_kafka import Producer

from tests.support.bridge.error_code_cases import JAVA, LIBRDKAFKA, OLD_JAVA
from tests.support.clients.java_clients import PROGRAMS_PATH, RELEASES, find_jars
from tests.support.kafka.kafka_commands import SHORT_LIVED

CLIENT_IDS = {
    LIBRDKAFKA: "rdkafka-producer",
    JAVA: "java-producer",
    OLD_JAVA: "java-producer",
}
PROGRAM = PROGRAMS_PATH / "PushUntilTold.java"


@contextlib.asynccontextmanager
async def librdkafka_client(port):
    quiet = logging.getLogger("run.clients")
    quiet.setLevel(logging.CRITICAL)
    config = {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "client.id": CLIENT_IDS[LIBRDKAFKA],
        "error_cb": lambda _error: None,
    }
    producer, is_over = Producer(config, logger=quiet), threading.Event()

    def poll():
        while not is_over.is_set():
            producer.poll(0.1)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        await asyncio.to_thread(thread.join)


@contextlib.asynccontextmanager
async def java_client(release, port):
    process = await asyncio.create_subprocess_exec(
        *(find_java(), *SHORT_LIVED, "-cp", find_jars(release)),
        *(str(PROGRAM), f"127.0.0.1:{port}"),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


CLIENTS = {
    LIBRDKAFKA: librdkafka_client,
    JAVA: partial(java_client, RELEASES[-1]),
    OLD_JAVA: partial(java_client, RELEASES[0]),
}


def find_java():
    home = os.environ.get("JAVA_HOME", "")
    return str(Path(home) / "bin" / "java") if home else "java"
