"""Counts how many pushed configurations one CPU-second of the bridge carries.

`python tests/bench/push_config.py [--connections N] [--seconds S] [--rounds N]`: the
bridge runs as its own process in front of a real embedded Kafka (acks=all, idempotent);
clients push the 11 default keys of KIP-1324's producer over and over, the next one when
the last is answered. Every push passes the rules and is answered after Kafka has it.
It prints and never fails on a number.
"""

import argparse
import asyncio
import os
import statistics
import struct
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.config_support import running_bridge  # noqa: E402 - path
from tests.unit.bridge.push_config.raw_client import (  # noqa: E402 - path
    PUSH_CONFIG,
    connect,
    entry,
    push_body,
)

ENTRIES = [
    entry("acks", "all"), entry("batch.size", "16384", "INT", is_default=True),
    entry("buffer.memory", "33554432", "LONG", is_default=True),
    entry("client.id", "app-1"), entry("compression.type", "zstd"),
    entry("delivery.timeout.ms", "120000", "INT", is_default=True),
    entry("enable.idempotence", "true", "BOOLEAN", is_default=True),
    entry("linger.ms", "5", "LONG", is_default=True),
    entry("max.in.flight.requests.per.connection", "5", "INT", is_default=True),
    entry("request.timeout.ms", "30000", "INT", is_default=True),
    entry("retries", "2147483647", "INT", is_default=True),
]  # fmt: skip
SENSITIVE = [
    *ENTRIES[:8],
    entry("ssl.keystore.password", "secret", "PASSWORD"),
    entry("value.serializer", "com.acme.Json", "CLASS"),
    entry("com.acme.token", "secret"),
]
VALUE_RULES = '{durable="acks in all,-1 reject", quick="linger.ms <= 100 reject"}'
POLICY = (
    "client_config.policy=pipelines.bridge.push_config.policy.value_rules:ValueRules",
    f"client_config.policy_settings={VALUE_RULES}",
)
WARM_UP_S = 3.0


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load:
    """Clients that push until they are told to stop."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.accepted = 0
        self.refused = 0
        self.is_over = False

    async def push(self, host: str, port: int) -> None:
        client = await connect(host, port)
        await client.say_versions(instance_id=uuid.uuid4())
        while not self.is_over:
            reply = await client.ask(PUSH_CONFIG, 0, self.body)
            if struct.unpack_from(">h", reply, 5)[0]:
                self.refused += 1
            else:
                self.accepted += 1
        client.close()


async def measure(pid, host, port, body, options) -> list[float]:
    """Return accepted pushes per CPU-second of the bridge, one number a round."""
    load, rates = Load(body), []
    async with asyncio.TaskGroup() as group:
        for _ in range(options.connections):
            group.create_task(load.push(host, port))
        await asyncio.sleep(WARM_UP_S)
        for _ in range(options.rounds):
            accepted, cpu, wall = load.accepted, cpu_seconds(pid), time.monotonic()
            await asyncio.sleep(options.seconds)
            done, used = load.accepted - accepted, cpu_seconds(pid) - cpu
            rates.append(done / used)
            took = time.monotonic() - wall
            print(f"  {done / took:9,.0f} pushes/s, {done / used:9,.0f} per CPU-second")
        load.is_over = True
    print(f"  refused: {load.refused}")
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=5.0, help="of one round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{os.cpu_count()} CPUs shared with Kafka and clients, {options}")
    cases = [
        ("11 ordinary keys", push_body(*ENTRIES), ()),
        ("11 keys, 3 of them sensitive", push_body(*SENSITIVE), ()),
        ("11 ordinary keys and the policy of value rules", push_body(*ENTRIES), POLICY),
    ]
    with EmbeddedKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        for name, body, overrides in cases:
            print(f"{name}, {len(body)} bytes:")
            log_path = Path(folder) / "log"
            with running_bridge(kafka, log_path, *overrides) as (process, host, port):
                rates = asyncio.run(measure(process.pid, host, port, body, options))
            print(f"  median: {statistics.median(rates):,.0f} per CPU-second")


if __name__ == "__main__":
    main()
