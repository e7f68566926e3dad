"""When dynamic configs are asked for again, and what the application is told."""

import asyncio
import os
import struct
import threading

import pytest

from pipelines import clients
from pipelines.clients import aio
from pipelines.clients.dynamic_values import APPLIED, IGNORED, PENDING, DynamicConfig
from pipelines.clients.key_lists import PRODUCER
from pipelines.clients.starting import prepare
from tests.unit.clients.scripted_node import (
    API_VERSIONS,
    DESCRIBE_CLIENT_CONFIGS,
    METADATA,
    PUSH_CONFIG,
    SILENT,
    ScriptedNode,
    described,
    versions,
)

BOTH = [versions(dynamic=True)]
ANEW = "it takes effect when the client is made anew"
SOON = {"metadata.max.age.ms": 1, "log_level": 0, "enable.metrics.push": False}
GONE = DynamicConfig(None, APPLIED, "not set any more")


class Told(list):
    """What a callback was told."""

    def __call__(self, changed):
        self.append(changed)


def follow(node, log=None, kind=PRODUCER, **conf):
    """Return what a client knows that asks again at once."""
    whole = {"bootstrap.servers": node.server, "default.api.timeout.ms": 2_000}
    if log is not None:
        whole["logger"] = log.logger
    following = prepare(kind, whole | SOON | conf).following
    following._due_s = 0
    return following


def test_it_is_asked_again_once_the_age_is_over():
    now = [100.0]
    with ScriptedNode(versions=BOTH) as node:
        following = follow(node, **{"metadata.max.age.ms": 300_000})
        following._now_s = lambda: now[0]
        following.follow()
        assert not following.is_due()
        now[0] += 299.9
        assert not following.is_due()
        now[0] += 0.1
        assert following.is_due()


def test_a_change_is_pending_and_told_once(log):
    answers = [described(acks="1"), described(acks="0")]
    with ScriptedNode(versions=BOTH, described=answers) as node:
        told = Told()
        following = follow(node, log, on_dynamic_config=told)
        for _ in range(3):
            following.call(following.follow())
    pending = DynamicConfig("0", PENDING, ANEW)
    assert following.told == {"acks": pending}
    assert told == [{"acks": pending}]
    lines = [text for _, text in log.lines if "acks=0" in text]
    assert lines == [f"dynamic configs: acks=0 is pending: {ANEW}"]


def test_a_value_that_comes_back_is_applied_again():
    answers = [described(acks="1"), described(acks="0"), described(acks="1")]
    with ScriptedNode(versions=BOTH, described=answers) as node:
        following = follow(node)
        following.follow()
        assert following.follow() == {"acks": DynamicConfig("1", APPLIED)}


def test_a_value_that_is_taken_away_stays_in_force_until_the_client_is_made_anew():
    answers = [described(acks="1"), described()]
    with ScriptedNode(versions=BOTH, described=answers) as node:
        following = follow(node, acks="all")
        assert following.follow() == {"acks": DynamicConfig(None, PENDING, ANEW)}


def test_what_was_ignored_and_is_gone_is_told_once_and_forgotten():
    answers = [described(acks="1"), described()]
    with ScriptedNode(versions=BOTH, described=answers) as node:
        following = follow(node, **{"enable.idempotence": True})
        assert following.told["acks"].state == IGNORED
        assert following.follow() == {"acks": GONE}
        assert following.follow() == {}
    assert following.told == {}


def test_a_question_again_registers_nothing_and_pushes_nothing():
    with ScriptedNode(versions=BOTH) as node:
        following = follow(node)
        before = len(node.seen)
        following.follow()
        asked = [API_VERSIONS, METADATA, DESCRIBE_CLIENT_CONFIGS]
        assert node.seen[before:] == asked
        assert node.frames[-1].endswith(struct.pack(">iibb", 0, -1, 1, 0))
        assert node.seen.count(PUSH_CONFIG) == 1


def test_an_outage_is_told_once_and_costs_a_hundredth_of_the_time(log):
    now = [0.0]

    def now_s():
        now[0] += 2
        return now[0]

    with ScriptedNode(versions=BOTH) as node:
        more = {"metadata.max.age.ms": 900_000, "default.api.timeout.ms": 300}
        following = follow(node, log, **more)
    following._now_s = now_s
    following.follow()
    # Two seconds by this clock, and 2 more until it is reckoned.
    assert following._due_s == 6 + 200
    following.follow()
    (warning,) = log.warnings
    assert warning.startswith("dynamic configs: failed: not done in ")


@pytest.mark.parametrize("code", [42, 35])
def test_a_cluster_that_has_none_any_more_is_not_asked_again(code, log):
    answers = [described(acks="1"), described(code)]
    with ScriptedNode(versions=BOTH, described=answers) as node:
        following = follow(node, log)
        assert following.follow() == {}
        assert not following.is_due()
    assert log.warnings == []


def test_a_cluster_that_does_not_advertise_it_any_more_is_not_asked_again():
    answers = [*BOTH, *BOTH, versions()]
    with ScriptedNode(versions=answers) as node:
        following = follow(node)
        following.follow()
        assert not following.is_due()


def test_one_thread_asks_and_the_others_go_on():
    with ScriptedNode(versions=BOTH, described=[described(), SILENT]) as node:
        following = follow(node, **{"default.api.timeout.ms": 1_000})
        asking = threading.Thread(target=following.follow)
        asking.start()
        while node.seen.count(DESCRIBE_CLIENT_CONFIGS) < 2:
            assert asking.is_alive()
        assert following.ask() is None
        asking.join()


def test_a_callback_that_raises_stops_nothing(log):
    def fail(_changed):
        raise ValueError("geheim")

    with ScriptedNode(
        versions=BOTH, described=[described(), described(acks="1")]
    ) as node:
        following = follow(node, log, on_dynamic_config=fail)
        following.call(following.follow())
    assert (
        "ERROR",
        "dynamic configs: on_dynamic_config raised ValueError",
    ) in log.lines
    assert "geheim" not in str(log.lines)


def test_a_callback_that_is_none_is_an_error_of_the_client():
    with pytest.raises(clients.KafkaException, match="must be callable"):
        clients.Producer({"on_dynamic_config": 1})


def test_a_fork_asks_nothing_for_its_parents_handle():
    with ScriptedNode(versions=BOTH) as node:
        following = follow(node)
        assert following.is_due()
        child = os.fork()
        if not child:
            os._exit(7 if following.is_due() else 0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


PRODUCES = {
    "produce": (clients.Producer, lambda one: one.produce("t", b"v")),
    "produce_batch": (clients.Producer, lambda one: one.produce_batch("t", [])),
    "serialize": (clients.SerializingProducer, lambda one: one.produce("t", b"v")),
}
CALLS = {
    "poll": (clients.Producer, lambda one: one.poll(0)),
    "flush": (clients.Producer, lambda one: one.flush(0)),
    "poll a record": (clients.Consumer, lambda one: one.poll(0)),
    "consume": (clients.Consumer, lambda one: one.consume(1, 0)),
    "deserialize": (clients.DeserializingConsumer, lambda one: one.poll(0)),
    "poll a share": (
        clients.ShareConsumer,
        lambda one: (one.subscribe(["t"]), one.poll(0)),
    ),
}


OFF = {"enable.config.push": False, "enable.dynamic.configs": False, "log_level": 0}
CHANGED = {"acks": GONE}


class Counting:
    """Stands where a client's Following is, of a client without any server."""

    def __init__(self):
        self.asked = self.called = 0
        self.told = {}

    def is_due(self):
        return True

    def follow(self):
        self.asked += 1
        return CHANGED

    def call(self, changed):
        assert changed == CHANGED
        self.called += 1


@pytest.mark.parametrize(("kind", "call"), CALLS.values(), ids=CALLS)
def test_each_call_that_serves_callbacks_asks(kind, call):
    client = kind(OFF | ({"group.id": "g"} if "Consumer" in kind.__name__ else {}))
    assert client.dynamic_configs() == {}
    client._following = Counting()
    call(client)
    assert (client._following.asked, client._following.called) == (1, 1)
    client.close()


@pytest.mark.parametrize(("kind", "call"), PRODUCES.values(), ids=PRODUCES)
def test_produce_neither_asks_nor_calls_back(kind, call):
    """The application may hold a lock that its callback needs."""
    client = kind(OFF)
    client._following = Counting()
    call(client)
    assert (client._following.asked, client._following.called) == (0, 0)
    client.purge()
    client.close()


ASYNC_CALLS = {
    "produce": (aio.AIOProducer, lambda one: one.produce("t", b"v")),
    "poll": (aio.AIOProducer, lambda one: one.poll(0)),
    "flush": (aio.AIOProducer, lambda one: one.flush(0)),
    "poll a record": (aio.AIOConsumer, lambda one: one.poll(0)),
    "consume": (aio.AIOConsumer, lambda one: one.consume(1, 0)),
}


@pytest.mark.parametrize(("kind", "call"), ASYNC_CALLS.values(), ids=ASYNC_CALLS)
def test_with_asyncio_each_call_asks_beside_the_loop_and_awaits(kind, call):
    async def run():
        client = kind(OFF | ({"group.id": "g"} if kind is aio.AIOConsumer else {}))
        client._following = following = Counting()
        told = asyncio.Event()

        async def await_it():
            told.set()

        following.call = lambda _changed: await_it()
        await call(client)
        assert following.asked == 1
        assert told.is_set()
        if kind is aio.AIOProducer:
            await client.purge()
        await client.close()

    asyncio.run(run())
