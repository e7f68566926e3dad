"""Pushes ten times above their quotas, at the endpoint and behind the proxy.

`python tests/long/quota_rates.py [--seconds N] [--warm N] [--quota N]`: a real Kafka, a
bridge, and clients that push as fast as they are answered, ten times what the quotas
of their three principals allow; the first of these has four connections. Shown are

* the accepted rate of each, which must be within 10 % of its quota once the ten seconds
  are over that Kafka lets anybody use at once,
* the delay of the next request on a connection, which must be the ThrottleTimeMs that
  was told,
* the p99 of another principal, alone before and after, and beside them,
* behind the proxy, that pushes beyond the quota are refused and not published, while
  data on the same connections, and of a stock producer, is as quick as without.

Exits with 1 where one of them is not so.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.bridge.security.sasl.credentials import (  # noqa: E402 - path
    make_credential,
)
from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.bridge_support import (  # noqa: E402 - path
    make_settings,
    running_bridge,
)
from tests.support.bridge.config_support import read_topic  # noqa: E402 - path
from tests.support.quotas.limited_pushers import (  # noqa: E402 - path
    SASL_PASSWORD,
    SUBSCRIPTION,
    LimitedPusher,
    accepted_rate,
    alter_quotas,
    delays_beside_told,
)

PUSH_BYTES = 2_000
CONNECTIONS = {"alice": 4, "carol": 1, "dave": 1}
"""Of each principal that has a quota: so many times that of one connection."""
OTHER = "eve"
NEAR = 0.10
P99_FACTOR = 1.2
LATEST_MS, EARLIEST_MS = 100, -20
PATIENCE_S = 60
"""The delay beside what was told, as a client in the bridge's own process sees it."""
OTHER_PAUSE_S = 0.02


def secured_settings(kafka, folder, *changes):
    """Return settings of a bridge that knows the users by their passwords."""
    users = folder / f"users-{uuid.uuid4()}.jsonl"
    lines = [
        make_credential(
            name=name,
            password=SASL_PASSWORD,
            mechanism="SCRAM-SHA-256",
            iterations=4_096,
            salt=uuid.uuid4().bytes,
        ).as_line()
        for name in (*CONNECTIONS, OTHER)
    ]
    users.write_text("\n".join(lines) + "\n", encoding="utf-8")
    listener = (
        '{name="SASL",port=0,security_protocol="SASL_PLAINTEXT",'
        'sasl_mechanisms=["PLAIN"]}'
    )
    return make_settings(
        kafka,
        SUBSCRIPTION,
        "cluster.source=off",
        "bridge.http_port=-1",
        f"listeners=[{listener}]",
        f"authentication.credentials_location={users}",
        *changes,
    )


@dataclass
class Rates:
    """What was seen at the endpoint."""

    accepted: dict
    """By principal its rate, as a part of the quota."""
    delays: list
    """Milliseconds of (delay, told)."""
    p99_alone_ms: float
    p99_beside_ms: float

    def faults(self, *, judges_times):
        """Return what is not as it must be."""
        found = [
            f"{name} pushed at {part:.2f} of its quota"
            for name, part in self.accepted.items()
            if abs(part - 1) > NEAR
        ]
        # A busy machine stamps an answer late now and then. Of few samples the other
        # method makes up quantiles beyond the least and the greatest one.
        late_ms = [delay - told for delay, told in self.delays]
        parts_ms = statistics.quantiles(late_ms, n=50, method="inclusive")
        if parts_ms[0] < EARLIEST_MS:
            found.append(f"requests were taken {-parts_ms[0]:.0f} ms too early")
        if judges_times and parts_ms[-2] > LATEST_MS:
            found.append(f"requests were taken {parts_ms[-2]:.0f} ms too late")
        if judges_times and self.p99_beside_ms > P99_FACTOR * self.p99_alone_ms:
            found.append(f"p99 {self.p99_beside_ms / self.p99_alone_ms:.2f} x")
        return found


async def measure_endpoint(place, *, quota, seconds, warm):
    """Push beyond the quotas; return what was seen."""
    host, port = place.split(":")
    pushers = {
        name: [LimitedPusher(f"app-{name}", PUSH_BYTES) for _ in range(count)]
        for name, count in CONNECTIONS.items()
    }
    other = LimitedPusher("app-eve", PUSH_BYTES, pause_s=OTHER_PAUSE_S)
    await other.connect(host, int(port), OTHER)
    for name, group in pushers.items():
        for one in group:
            await one.connect(host, int(port), name)
    alone = [await _p99_ms(other, seconds / 3)]
    begin_s = time.monotonic() + warm
    end_s = begin_s + seconds
    everyone = [one for group in pushers.values() for one in group]
    tasks = [asyncio.create_task(one.push_until(end_s)) for one in everyone]
    await asyncio.sleep(warm)
    beside_ms = await _p99_ms(other, seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    alone.append(await _p99_ms(other, seconds / 3))
    for one in (*everyone, other):
        await one.close()
    return Rates(
        accepted={
            name: accepted_rate(group, begin_s, end_s) / quota / len(group)
            for name, group in pushers.items()
        },
        delays=[pair for one in everyone for pair in delays_beside_told(one)],
        p99_alone_ms=statistics.mean(alone),
        p99_beside_ms=beside_ms,
    )


async def _p99_ms(pusher, seconds):
    before = len(pusher.told)
    await pusher.push_until(time.monotonic() + seconds)
    took_ms = [(one.answered_s - one.sent_s) * 1_000 for one in pusher.told[before:]]
    return statistics.quantiles(took_ms, n=100)[-1]


@dataclass
class Proxied:
    """What was seen behind the proxy."""

    accepted: float
    """Rate as a part of the quota."""
    taken: int
    """Pushes that were answered with no error."""
    pushed: int
    """Pushes that no quota has refused, late answers of a busy machine among them."""
    refused: int
    published: int
    data_free_ms: float
    """Median of a request that goes on to the broker, on a connection within limits."""
    data_over_ms: float
    produced_free_s: float
    produced_over_s: float

    def faults(self, *, judges_times):
        """Return what is not as it must be."""
        found = []
        if abs(self.accepted - 1) > NEAR:
            found.append(f"pushed at {self.accepted:.2f} of the quota")
        if not self.taken <= self.published <= self.pushed:
            found.append(
                f"{self.published} published, {self.taken} taken of {self.pushed}"
            )
        if not self.refused:
            found.append("no push was refused")
        if judges_times and self.data_over_ms > 2 * self.data_free_ms + 5:
            found.append("data waited on the connection")
        if judges_times and self.produced_over_s > 2 * self.produced_free_s + 1:
            found.append("a producer waited")
        return found


async def measure_proxy(kafka, server, settings, *, quota, seconds, warm):
    """Push beyond the quota of a client id, and pass data on; return what was seen."""
    servers = server.proxy.bootstrap_servers
    host, port = servers.split(":")
    over = LimitedPusher("limited", PUSH_BYTES)
    free = LimitedPusher("unlimited", PUSH_BYTES)
    for one in (over, free):
        await one.connect(host, int(port))
    produced_free_s = await asyncio.to_thread(_produce, servers, "unlimited")
    begin_s = time.monotonic() + warm
    end_s = begin_s + seconds
    passed_ms = {over: [], free: []}

    async def push(one):
        while time.monotonic() < end_s:
            await one.push()
            passed_ms[one].append(await one.ask_broker_ms())
            if one is free:
                await asyncio.sleep(OTHER_PAUSE_S)

    produced = asyncio.to_thread(_produce_later, servers, "limited", warm)
    *_, produced_over_s = await asyncio.gather(push(over), push(free), produced)
    for one in (over, free):
        await one.close()
    refused = server.counters.quota_refused_pushes
    told = (*over.told, *free.told)
    taken = sum(one.error_code == 0 for one in told)
    published = await asyncio.to_thread(
        _count_published, kafka, settings.topics.telemetry, taken
    )
    return Proxied(
        accepted=accepted_rate([over], begin_s, end_s) / quota,
        taken=taken,
        pushed=len(told) - refused,
        refused=refused,
        published=published,
        data_free_ms=statistics.median(passed_ms[free]),
        data_over_ms=statistics.median(passed_ms[over]),
        produced_free_s=produced_free_s,
        produced_over_s=produced_over_s,
    )


def _count_published(kafka, topic, wanted):
    """Count the pushes in a topic; a busy machine may take some of them late."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        stored = read_topic(kafka, topic)
        count = len([one for one in stored if len(one.value()) == PUSH_BYTES])
        if count >= wanted or time.monotonic() > deadline:
            return count


def _produce_later(servers, client_id, wait_s):
    time.sleep(wait_s)
    return _produce(servers, client_id)


def _produce(servers, client_id):
    """Return how long a stock client takes to write some records."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "client.id": client_id,
            "enable.metrics.push": False,
        }
    )
    topic, began_s = f"data-{uuid.uuid4()}", time.monotonic()
    for _ in range(2_000):
        producer.produce(topic, bytes(1_000))
    assert producer.flush(60) == 0
    return time.monotonic() - began_s


def show_endpoint(kafka, folder, *, quota, seconds, warm):
    """Set the quotas, run the endpoint and return what was seen."""
    users = {
        f"users/{name}": {"producer_byte_rate": quota * count}
        for name, count in CONNECTIONS.items()
    }
    asyncio.run(alter_quotas(kafka.bootstrap_servers, users))
    try:
        with running_bridge(secured_settings(kafka, folder)) as (_, place):
            return asyncio.run(
                measure_endpoint(place, quota=quota, seconds=seconds, warm=warm)
            )
    finally:
        removed = {path: {"producer_byte_rate": None} for path in users}
        asyncio.run(alter_quotas(kafka.bootstrap_servers, removed))


def show_proxy(kafka, *, quota, seconds, warm):
    """Set a quota that brokers do not have for producers, and run the proxy."""
    limited = {"clients/limited": {"consumer_byte_rate": quota}}
    asyncio.run(alter_quotas(kafka.bootstrap_servers, limited))
    settings = make_settings(
        kafka,
        SUBSCRIPTION,
        "cluster.source=off",
        "bridge.http_port=-1",
        "bridge.push_quota=consumer_byte_rate",
        "proxy.enabled=true",
        "proxy.base_port=0",
    )
    try:
        with running_bridge(settings) as (server, _):
            return asyncio.run(
                measure_proxy(
                    kafka, server, settings, quota=quota, seconds=seconds, warm=warm
                )
            )
    finally:
        removed = {"clients/limited": {"consumer_byte_rate": None}}
        asyncio.run(alter_quotas(kafka.bootstrap_servers, removed))


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--warm", type=float, default=20)
    parser.add_argument("--quota", type=float, default=20_000)
    parser.add_argument("--java", default="java")
    arguments = parser.parse_args()
    given = {name: getattr(arguments, name) for name in ("quota", "seconds", "warm")}
    with (
        EmbeddedKafka(java=arguments.java) as kafka,
        tempfile.TemporaryDirectory() as folder,
    ):
        rates = show_endpoint(kafka, Path(folder), **given)
        off_ms = sorted(delay - told for delay, told in rates.delays)
        print(
            "endpoint, of the quota: "
            + ", ".join(f"{name} {part:.3f}" for name, part in rates.accepted.items()),
            f"; next request beside what was told: {off_ms[0]:+.1f} to "
            f"{off_ms[-1]:+.1f} ms, median {statistics.median(off_ms):+.1f}, of "
            f"{len(off_ms)}; p99 of {OTHER}: alone {rates.p99_alone_ms:.1f} ms, beside "
            f"{rates.p99_beside_ms:.1f} ms",
            sep="",
            flush=True,
        )
        proxied = show_proxy(kafka, **given)
        print(f"proxy: {proxied}", flush=True)
    faults = [*rates.faults(judges_times=True), *proxied.faults(judges_times=True)]
    print("; ".join(faults) or "accepted rates and delays are those of the quotas")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
