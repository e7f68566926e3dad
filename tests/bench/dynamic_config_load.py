"""Prints what a bridge costs that starts on a large store of dynamic client configs.

`python tests/bench/dynamic_config_load.py [--records N] [--users N]`: a real Kafka whose
store holds so many records, as a flood of registrations leaves them. A bridge in a
process of its own reads it. The lag of its event loop is sampled until its listener
opens; memory is VmHWM, of a process that has imported everything before and after.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from confluent_kafka import Producer  # noqa: E402 - path
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402 - path

from pipelines.bridge.server import BridgeServer  # noqa: E402 - path
from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.settings import load_settings  # noqa: E402 - path
from pipelines.settings.secret_references import SecretReader  # noqa: E402 - path
from tests.support.kafka.java_home import find_java  # noqa: E402 - path
from tests.support.kafka.topics import make_topic  # noqa: E402 - path
from udfs.dynamic_configs import (  # noqa: E402 - path
    SupportedRecord,
    record_key,
    record_value,
)

KEPT = 1_000
"""Registrations of a user that are not forgotten again."""
SAMPLE_S = 0.01
LONGEST_LAG_S = 0.2


def fill(servers, topic, records, users):
    """Write registrations, and beyond the kept ones of a user a tombstone for each."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50})
    made = {number: [] for number in range(users)}
    written = 0
    while written < records:
        keys = made[written % users]
        record = SupportedRecord(
            f"user-{written % users}", f"client-{uuid.uuid4()}",
            "librdkafka", "2.16.1", ("acks",), 1_000 + written,
        )  # fmt: skip
        keys.append(record_key(record))
        pairs = [(keys[-1], record_value(record))]
        if len(keys) > KEPT:
            pairs.append((keys.pop(0), None))
        for key, value in pairs:
            while True:
                try:
                    producer.produce(topic, value, key, partition=0)
                    break
                except BufferError:
                    producer.poll(0.1)
            written += 1
    assert producer.flush(600) == 0
    return written


def read_peak_mb():
    """Return VmHWM in megabytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1_024
    raise ValueError("VmHWM is not in /proc/self/status")


async def load(servers, topic):
    """Start a bridge; return what was measured until its listener opened."""
    words = [
        f"kafka.bootstrap_servers={servers}",
        f"topics.client_registrations={topic}",
    ]
    words += [f"topics.client_configs=c-{topic}", f"topics.telemetry=t-{topic}"]
    words += ["bridge.listen_port=0"]
    words += ["dynamic_configs.enabled=true"]
    server = BridgeServer(load_settings("local", words), SecretReader(environ={}))
    loop, stop, lags = asyncio.get_running_loop(), asyncio.Event(), []
    told = {"before_mb": read_peak_mb()}

    async def sample():
        while True:
            due_s = loop.time() + SAMPLE_S
            await asyncio.sleep(SAMPLE_S)
            lags.append(loop.time() - due_s)

    part, turns = server.dynamic_configs, [0.0]
    take = part._take

    def take_measured(place, batch):
        began_s = time.thread_time()
        take(place, batch)
        turns.append(time.thread_time() - began_s)

    part._take = take_measured

    def on_ready(_host, _port):
        told["was_loaded"] = server.dynamic_configs.counters.is_loaded
        told["ready_s"] = time.monotonic() - began_s
        told["registrations"] = server.dynamic_configs.counters.registrations
        stop.set()

    began_s = time.monotonic()
    sampling = asyncio.create_task(sample())
    await server.serve(stop, on_ready)
    sampling.cancel()
    lags.sort()
    told |= {"lag_s": lags[-1], "lag_99_s": lags[len(lags) * 99 // 100]}
    told |= {"turn_s": max(turns), "load": os.getloadavg()[0]}
    return told | {"after_mb": read_peak_mb()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=1)
    parser.add_argument("--load", nargs=2, metavar=("SERVERS", "TOPIC"))
    arguments = parser.parse_args()
    if arguments.load:
        print(json.dumps(asyncio.run(load(*arguments.load))))
        return 0
    with EmbeddedKafka(java=find_java()) as kafka:
        servers, topic = kafka.bootstrap_servers, f"store-{uuid.uuid4()}"
        admin = AdminClient({"bootstrap.servers": servers})
        make_topic(admin, NewTopic(topic, 1))
        written = fill(servers, topic, arguments.records, arguments.users)
        command = [sys.executable, __file__, "--load", servers, topic]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{written} records: listener opens after {told['ready_s']:.1f} s "
        f"(loaded: {told['was_loaded']}, {told['registrations']} registrations); "
        f"event loop lag {1_000 * told['lag_s']:.0f} ms at most, "
        f"{1_000 * told['lag_99_s']:.0f} ms at 99 %; longest turn "
        f"{1_000 * told['turn_s']:.1f} ms of CPU; load {told['load']:.0f}; VmHWM {told['after_mb']:.0f} MB, "
        f"{told['before_mb']:.0f} MB before"
    )
    return 0 if told["was_loaded"] and told["lag_s"] < LONGEST_LAG_S else 1


if __name__ == "__main__":
    sys.exit(main())
