"""Kill the proxy under load: do clients recover, and is anything lost?

Usage: python tests/long/proxy_kills.py [--kills 24]

A bridge process in front of a real cluster is killed (SIGKILL) and started again while
idempotent producers write and a consumer group reads through it. Printed: how many
records were acknowledged, how many of them are in the topic, and how many telemetry
pushes arrived in all.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.base_ports import pick_base_port  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path
from tests.support.bridge.config_support import read_topic  # noqa: E402 - path
from tests.support.bridge.proxy_support import PATIENCE_S, ProxiedClients  # noqa: E402 - path
from tests.support.kafka.topics import wait_for  # noqa: E402 - path

LONGEST_LIFE_S = 2.0
TELEMETRY = "telemetry"


def write_until(stop, clients, topic, name, acknowledged):
    """Write numbered records; keep those that were acknowledged."""
    producer = clients.producer(name, **{"enable.idempotence": True})
    number = 0

    def note(error, record):
        if error is None:
            acknowledged.append(record.value())

    while not stop.is_set():
        producer.produce(topic, f"{name}-{number}".encode(), on_delivery=note)
        number += 1
        producer.poll(0.002)
    assert producer.flush(PATIENCE_S) == 0


def read_until(stop, clients, topic, read):
    """Read all the time, as a member of a group."""
    consumer = clients.consumer("reader")
    consumer.subscribe([topic])
    while not stop.is_set():
        record = consumer.poll(0.2)
        if record is not None and not record.error():
            read.append(record.value())
    consumer.close()


def wait_for_more(*growing):
    """Wait until each list has grown: clients come back by a backoff of their own.

    Raises: AssertionError with the lengths, when one never does.
    """
    before = [len(one) for one in growing]
    wait_for(
        lambda: [len(one) for one in growing],
        lambda after: all(now > was for now, was in zip(after, before, strict=True)),
    )


def run(kills, seed=None):
    """Return acknowledged, stored and read records, and pushes, after some kills."""
    rng = random.Random(seed)  # noqa: S311 - repeatable
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        port = pick_base_port()
        bridge = BridgeProcess(
            Path(folder),
            kafka.bootstrap_servers,
            TELEMETRY,
            "proxy.enabled=true",
            f"proxy.base_port={port}",
        )
        bridge.start()
        clients = ProxiedClients(f"127.0.0.1:{port}")
        topic = clients.create_topic(3, 1)
        stop, acknowledged, read = threading.Event(), [], []
        workers = [
            threading.Thread(
                target=write_until, args=(stop, clients, topic, f"p{n}", acknowledged)
            )
            for n in range(2)
        ]
        workers.append(
            threading.Thread(target=read_until, args=(stop, clients, topic, read))
        )
        try:
            for one in workers:
                one.start()
            for _ in range(kills):
                time.sleep(rng.uniform(0.2, LONGEST_LIFE_S))
                bridge.kill()
                bridge.start()
            wait_for_more(acknowledged, read)
            stop.set()
            for one in workers:
                one.join(PATIENCE_S)
        finally:
            stop.set()
            bridge.close()
        stored = [record.value() for record in read_topic(kafka, topic)]
        return acknowledged, stored, read, len(read_topic(kafka, TELEMETRY))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=24)
    arguments = parser.parse_args()
    acknowledged, stored, read, pushes = run(arguments.kills)
    lost = len(set(acknowledged) - set(stored))
    print(
        f"kills {arguments.kills}: acknowledged {len(acknowledged)}, stored "
        f"{len(stored)}, twice {len(stored) - len(set(stored))}, lost {lost}, read by "
        f"the group {len(set(read))}, pushes {pushes}"
    )
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
