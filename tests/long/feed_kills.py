"""Random alterations while controllers and feeders are killed: none lost, none twice.

Usage: python tests/long/feed_kills.py [--alterations 10000] [--kill-every 500]

The clients' cluster has three nodes, each a controller, which write snapshots often and
are killed in turn; another Kafka has the topic. Two bridges with two workers each
compete for the feed by the metadata log, and the one that feeds is killed now and then.
Each alteration has a value of its own and is repeated until it is acknowledged. At the
end the topic must have each of them once and in order, offsets that only rise, and a
last full set that is what DescribeClientQuotas and DescribeConfigs say; and so must the
tables that the job makes of it: current rows, and the values of each key in order.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kio.schema.alter_client_quotas.v1 import request as quotas  # noqa: E402 - path
from kio.schema.alter_client_quotas.v1 import response as altered  # noqa: E402 - path
from kio.schema.errors import ErrorCode  # noqa: E402 - path
from kio.schema.incremental_alter_configs.v1 import request as configs  # noqa: E402
from kio.schema.incremental_alter_configs.v1 import response as changed  # noqa: E402
from kio.static.primitive import f64, i8  # noqa: E402 - path

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.feed.answers import (  # noqa: E402 - path
    DYNAMIC_DEFAULT,
    read_quotas,
    read_resources,
    read_set_configs,
)
from pipelines.feed.connections import BrokerLinks  # noqa: E402 - path
from pipelines.feed.state import restore  # noqa: E402 - path
from pipelines.kafka_client.async_link import AsyncLink  # noqa: E402 - path
from pipelines.kafka_client.faults import NoAnswer, Refused  # noqa: E402 - path
from pipelines.kafka_client.messages import Request  # noqa: E402 - path
from pipelines.kafka_client.primitives import Cursor  # noqa: E402 - path
from pipelines.kafka_client.session import Software  # noqa: E402 - path
from pipelines.kafka_wire.access import read_access  # noqa: E402 - path
from pipelines.kafka_wire.client import ClusterClient  # noqa: E402 - path
from pipelines.kafka_wire.entities import ItemBudget, read_entity  # noqa: E402
from pipelines.kafka_wire.faults import ClusterFault  # noqa: E402 - path
from pipelines.kafka_wire.messages import encode_body  # noqa: E402 - path
from tests.integration.test_bridge_workers import list_children  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path
from tests.support.feed.feed_tables import check_tables  # noqa: E402 - path
from tests.support.feed.topic_reader import TopicReader  # noqa: E402 - path
from udfs.cluster.record_bytes import read_record  # noqa: E402 - path
from udfs.cluster.record_keys import quota_entity_path  # noqa: E402 - path

TOPIC = "feed-kills"
CLIENT_METRICS, GROUP, BROKER, SET, DELETE = 16, 32, 4, 0, 1
ALTER_CLIENT_QUOTAS, VERSION = 49, 1
PATIENCE_S, TIMEOUT_S, FAILOVER_S = 180, 5.0, 15.0
FIRST_QUOTA = 1_000_000_000
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "20000"}
SUBSCRIPTIONS = ("team-a", "team-b", "team-c")
GROUPS = ("g1", "g2")
ENTITIES = tuple(
    entity
    for user in ("alice", "bob", None)
    for entity in (
        (("user", user),),
        (("user", user), ("client-id", "c1")),
        (("user", user), ("client-id", None)),
    )
)


def ignore(_line):
    """Say nothing."""


class Alterations:
    """Makes them at random, one after the other; knows what each should leave."""

    def __init__(self, servers, seed):
        access = read_access(
            {"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}
        )
        self._client = ClusterClient(access, client_id="alterations")
        self._link = AsyncLink(access, Software(client_id="q", name="q", version="1"))
        self._random = random.Random(seed)  # noqa: S311 - a choice that can be repeated
        self._number = 0
        self.done = []
        """Key and value of each, in order; None where it was removed."""
        self._now = {}

    async def make(self):
        """Make one, and repeat it until it is acknowledged."""
        self._number += 1
        make = self._random.choice(
            (self._quota, self._subscription, self._group, self._broker_default)
        )
        key, value, ask = make()
        while True:
            try:
                await ask()
            except (ClusterFault, NoAnswer, Refused, ConnectionError) as fault:
                ignore(fault)
            else:
                break
        self.done.append((key, value))
        self._now[key] = value

    def _is_removed(self, key):
        """Say whether to take it away: only what is there can be."""
        return self._now.get(key) is not None and self._random.random() < 0.2

    def _quota(self):
        entity = self._random.choice(ENTITIES)
        name = self._random.choice(("producer_byte_rate", "consumer_byte_rate"))
        key = f"ClientQuota/{quota_entity_path(entity)}/{name}"
        value = None if self._is_removed(key) else float(FIRST_QUOTA + self._number)
        return key, value, lambda: self._alter_quota(entity, name, value)

    async def _alter_quota(self, entity, name, value):
        op = quotas.OpData(key=name, value=f64(value or 0.0), remove=value is None)
        entry = quotas.EntryData(
            entity=tuple(
                quotas.EntityData(entity_type=kind, entity_name=one)
                for kind, one in entity
            ),
            ops=(op,),
        )
        request = quotas.AlterClientQuotasRequest(entries=(entry,), validate_only=False)

        def ask(_served):
            return (
                yield Request(
                    ALTER_CLIENT_QUOTAS, VERSION, encode_body(request), is_flexible=True
                )
            )

        body = await self._link.hold(ask, timeout_s=TIMEOUT_S)
        answer = read_entity(
            Cursor(body), altered.AlterClientQuotasResponse, ItemBudget(100)
        )
        expect_done(answer.entries[0].error_code)

    def _subscription(self):
        name = self._random.choice(SUBSCRIPTIONS)
        key = f"Config/client-metrics/{name}/interval.ms"
        value = None if self._is_removed(key) else str(100 + self._number)
        ask = lambda: self._alter(CLIENT_METRICS, name, "interval.ms", value)  # noqa: E731 - as its siblings
        return key, value, ask

    def _group(self):
        name = self._random.choice(GROUPS)
        config = "consumer.session.timeout.ms"
        key = f"Config/groups/{name}/{config}"
        value = None if self._is_removed(key) else str(45_000 + self._number)
        return key, value, lambda: self._alter(GROUP, name, config, value)

    def _broker_default(self):
        config = "log.retention.ms"
        key = f"Config/brokers//{config}"
        value = None if self._is_removed(key) else str(3_600_000 + self._number)
        return key, value, lambda: self._alter(BROKER, "", config, value)

    async def _alter(self, kind, name, config, value):
        one = configs.AlterableConfig(
            name=config,
            config_operation=i8(DELETE if value is None else SET),
            value=value,
        )
        request = configs.IncrementalAlterConfigsRequest(
            resources=(
                configs.AlterConfigsResource(
                    resource_type=i8(kind), resource_name=name, configs=(one,)
                ),
            ),
            validate_only=False,
        )
        answer = await self._client.ask(
            request, changed.IncrementalAlterConfigsResponse, timeout_s=TIMEOUT_S
        )
        expect_done(answer.responses[0].error_code)

    async def close(self):
        """Close the connections."""
        self._link.close()
        await self._client.close()


def expect_done(error_code):
    """Check an answer; one that may be another the next time is asked for again."""
    if error_code is not ErrorCode.none:
        raise ClusterFault(error_code.name)


def is_feeding(bridge):
    """Return whether a bridge feeds; one whose workers begin anew does not."""
    try:
        return "kafka_clientele_bridge_feeding 1.0" in bridge.fetch("/metrics")[1]
    except OSError:
        return False


async def wait_until(is_so):
    """Wait for what no event tells of."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def kill_feeder(bridges):
    """Kill the workers of the bridge that feeds; return how long nobody did."""
    await wait_until(lambda: any(map(is_feeding, bridges)))
    feeder = next(one for one in bridges if is_feeding(one))
    for pid in list_children(feeder.pid):
        os.kill(pid, signal.SIGKILL)
    killed_s = time.monotonic()
    await wait_until(lambda: not is_feeding(feeder))
    await wait_until(lambda: any(map(is_feeding, bridges)))
    return time.monotonic() - killed_s


async def describe(servers):
    """Return what the cluster says is so, by keys of the topic."""
    access = read_access(
        {"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}
    )
    links = BrokerLinks(access, client_id="check")
    said = {}
    for one in read_quotas(await links.describe_quotas()):
        said[f"ClientQuota/{quota_entity_path(one.entity)}/{one.key}"] = one.value
    for kind, entity, names in (
        (CLIENT_METRICS, "client-metrics", SUBSCRIPTIONS),
        (GROUP, "groups", GROUPS),
    ):
        answer = await links.describe_resources(kind, names)
        for (_, name), found in read_resources(answer.results).items():
            for one in found:
                said[f"Config/{entity}/{name}/{one.name}"] = one.value
    answer = await links.describe_resources(BROKER, [""])
    for found in answer.results:
        for one in read_set_configs(found, DYNAMIC_DEFAULT):
            said[f"Config/brokers//{one.name}"] = one.value
    links.close()
    return said


def value_of(record):
    """Return what a record says; None where it removes."""
    fields = read_record(record.value).fields
    return None if fields.get("remove") else fields["value"]


async def alter_and_kill(options, upstream, bridges):
    """Make all alterations; return them, and the longest time without a feeder."""
    alterations = Alterations(upstream.bootstrap_servers, options.seed)
    longest_s, node = 0.0, 0
    for number in range(1, options.alterations + 1):
        await alterations.make()
        if number % options.kill_every:
            continue
        node = node % options.nodes + 1
        upstream.kill(node)
        for _ in range(options.kill_every // 10):
            await alterations.make()
        await asyncio.to_thread(upstream.restart, node)
        idle_s = await kill_feeder(bridges)
        longest_s = max(longest_s, idle_s)
        print(
            f"{number}: node {node} and the feeder killed, {idle_s:.1f} s", flush=True
        )
    # Its value tells the last one from all others, as a removal would not.
    while alterations.done[-1][1] is None:
        await alterations.make()
    await alterations.close()
    return alterations.done, longest_s


def check(reader, done, said):
    """Compare the topic with what was done and what is so; return faults in words."""
    faults = []
    ours = {key for key, _ in done}
    alone = [one for one in reader.records if one.text("set_id") is None]
    seen = [(one.key, value_of(one)) for one in alone if one.key in ours]
    if seen != done:
        at = next(
            (
                i
                for i, pair in enumerate(zip(seen, done, strict=False))
                if pair[0] != pair[1]
            ),
            min(len(seen), len(done)),
        )
        faults.append(f"{len(seen)} of {len(done)} alterations; they differ at {at}")
    offsets = [one.number("offset") for one in alone if one.key[:4] != "full"]
    if offsets != sorted(set(offsets)):
        faults.append("offsets do not only rise")
    last = reader.records[-1]
    state = restore(reader.records, last.text("cluster_id"), "metadata_log")
    now = {
        one.key: value_of(one)
        for one in state.records()
        if one.key in said or one.key in ours
    }
    if now != said:
        faults.append(f"{len(now)} are so in the topic, {len(said)} in the cluster")
    return faults


async def run(options, folder):
    """Run all of it; return faults."""
    with (
        EmbeddedKafka() as kafka,
        EmbeddedKafka(options.nodes, broker_properties=SNAPSHOTS) as upstream,
    ):
        bridges = []
        for number in (1, 2):
            path = folder / f"{number}"
            path.mkdir()
            bridges.append(
                BridgeProcess(
                    path, kafka.bootstrap_servers, "telemetry",
                    f"topics.cluster={TOPIC}", "bridge.workers=2",
                    f"bridge.bridge_id=b{number}",
                    f"upstream.bootstrap_servers={upstream.bootstrap_servers}",
                    "cluster.source=metadata_log",
                    f"cluster.controller_servers={upstream.controller_bootstrap_servers}",
                )
            )  # fmt: skip
        reader = TopicReader(kafka, TOPIC)
        try:
            for one in bridges:
                one.start()
            reader.wait_for_full_set()
            done, longest_s = await alter_and_kill(options, upstream, bridges)
            key, value = done[-1]
            start = len(reader.records)
            reader.wait_for(
                lambda one: one.key == key and value_of(one) == value, start=0
            )
            end = len(reader.records)
            await kill_feeder(bridges)
            reader.wait_for_full_set(start=max(start, end))
            said = await describe(upstream.bootstrap_servers)
            faults = check(reader, done, said)
        finally:
            reader.close()
            for one in bridges:
                one.close()
        faults += check_tables(kafka, TOPIC, folder, done, said)
    if longest_s > FAILOVER_S:
        faults.append(f"nobody fed for {longest_s:.1f} s")
    print(f"{len(done)} alterations, longest time without a feeder {longest_s:.1f} s")
    return faults


def main():
    """Print what was found; exit with 1 where a promise does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alterations", type=int, default=10_000)
    parser.add_argument("--kill-every", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        faults = asyncio.run(run(options, Path(folder)))
    print("; ".join(faults) or "none lost, none twice, all in order")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
