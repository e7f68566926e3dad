"""The real producer in front of no Kafka; with Kafka: tests/integration."""

import asyncio
import socket

from confluent_kafka import KafkaError

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.records import Record, max_record_bytes
from pipelines.bridge.publishing.publisher import Publisher, producer_config

RECORD = Record(
    key=b"k", value=bytes(1_000), headers=[], timestamp_ms=1, size_bytes=1_201
)
TIMEOUT_MS = 200


def make_config(port, **changes):
    return producer_config(
        {"bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": "PLAINTEXT"},
        **{
            "bridge_id": "bridge-7",
            "publish_timeout_ms": TIMEOUT_MS,
            "max_record_bytes": max_record_bytes(1_048_576),
            "max_unacknowledged_bytes": 5_000,
            **changes,
        },
    )


def run_with_publisher(test, **options):
    """Give the test a publisher whose Kafka is a port that nobody listens on."""

    async def run():
        counters = BridgeCounters()
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            publisher = Publisher(
                make_config(unused.getsockname()[1]),
                topic="t",
                publish_timeout_ms=TIMEOUT_MS,
                max_unacknowledged_bytes=5_000,
                counters=counters,
                **options,
            )
            try:
                async with asyncio.timeout(20):
                    await test(publisher, counters)
            finally:
                await publisher.close(0)

    asyncio.run(run())


def test_push_that_kafka_does_not_take_is_refused_in_time():
    async def test(publisher, counters):
        loop = asyncio.get_running_loop()
        started = loop.time()
        answers = [loop.create_future() for _ in range(3)]
        for answer in answers:
            publisher.publish(RECORD, answer.set_result)
        assert not any(answer.done() for answer in answers)
        assert await asyncio.gather(*answers) == [False, False, False]
        assert TIMEOUT_MS / 1_000 <= loop.time() - started < 5
        assert counters.publish_timeouts == 3

    run_with_publisher(test)


def test_push_above_the_bound_is_refused_at_once():
    async def test(publisher, counters):
        answers = []
        for _ in range(10):
            publisher.publish(RECORD, answers.append)
        waiting = 5_000 // RECORD.size_bytes
        assert answers == [False] * (10 - waiting)
        assert counters.publish_overflows == 10 - waiting

    run_with_publisher(test)


def test_refused_records_hold_their_bytes_until_the_producer_lets_go():
    async def test(publisher, counters):
        loop = asyncio.get_running_loop()
        for _ in range(4):
            publisher.publish(RECORD, lambda _: None)
        answer = loop.create_future()
        publisher.refuse_waiting()
        publisher.publish(RECORD, answer.set_result)
        assert answer.done()
        assert counters.publish_timeouts == 4
        # librdkafka gives up on them after its own timeout, one second.
        publisher._producer.flush(10)
        later = loop.create_future()
        publisher.publish(RECORD, later.set_result)
        assert not later.done()
        publisher.refuse_waiting()
        assert counters.late_acknowledgements == 0

    run_with_publisher(test)


def test_every_push_is_answered_once():
    async def test(publisher, _counters):
        answers = []
        for _ in range(4):
            publisher.publish(RECORD, answers.append)
        publisher.refuse_waiting()
        publisher.refuse_waiting()
        assert answers == [False] * 4

    run_with_publisher(test)


def test_closing_that_is_cancelled_leaves_nothing_to_the_producer():
    async def test(publisher, _counters):
        publisher.publish(RECORD, lambda _: None)
        closing = asyncio.create_task(publisher.close(30))
        await asyncio.wait({closing}, timeout=0.01)
        closing.cancel()
        await asyncio.wait({closing})
        assert closing.cancelled()
        assert len(publisher._producer) == 0

    run_with_publisher(test)


def test_producer_is_safe_and_silent_about_itself():
    config = make_config(9)
    assert config["acks"] == "all"
    assert config["enable.idempotence"] is True
    assert config["enable.metrics.push"] is False
    assert config["client.id"] == "bridge-7"
    assert config["bootstrap.servers"] == "127.0.0.1:9"
    assert config["message.max.bytes"] > 1_048_576


def test_delivery_timeout_stays_above_what_librdkafka_accepts():
    assert make_config(9, publish_timeout_ms=1)["delivery.timeout.ms"] == 1_000
    assert make_config(9, publish_timeout_ms=9_000)["delivery.timeout.ms"] == 9_000


def test_kafka_that_is_not_there_does_not_answer_and_refuses():
    async def test(publisher, _counters):
        assert not await publisher.is_answered(0.1)
        assert publisher.refused_s is publisher.acknowledged_s is None
        answer = asyncio.get_running_loop().create_future()
        publisher.publish(RECORD, answer.set_result)
        assert publisher.held_bytes == RECORD.size_bytes
        assert not await answer
        assert publisher.refused_s is not None
        assert publisher.acknowledged_s is None

    run_with_publisher(test)


def test_a_record_aside_says_nothing_of_pushes_and_counts_in_the_bound():
    async def test(publisher, counters):
        answers = []
        aside = RECORD._replace(is_aside=True, topic="others")
        for _ in range(5):
            publisher.publish(aside, answers.append)
        # The bound is of all together; four of 1,201 bytes are below it.
        assert answers == [False]
        assert (counters.publish_overflows, counters.aside_record_failures) == (0, 1)
        assert publisher.held_bytes == publisher.aside_bytes == 4 * 1_201
        assert publisher.waits_since_s is None
        await publisher.close(0)
        assert answers == 5 * [False]
        assert publisher.held_bytes == publisher.aside_bytes == 0
        assert counters.aside_record_failures == 5
        assert publisher.refused_s is None

    run_with_publisher(test)


def test_a_producer_that_kafka_refuses_for_good_is_followed_by_another(monkeypatch):
    monkeypatch.setattr("pipelines.bridge.publishing.publisher.REVIVE_S", 0.01)
    fatal = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no", True)

    async def test(publisher, _counters):
        answers = []
        publisher.publish(RECORD, answers.append)
        first = publisher._producer
        publisher._note_error(fatal)
        publisher._note_error(fatal)
        # Behind the revival, which was set before.
        revived = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.02, revived.set_result, None)
        await revived
        assert publisher._producer is not first
        assert answers == [False]
        assert publisher.held_bytes == 0
        assert publisher.refused_s is not None
        assert not publisher.has_failed.is_set()
        publisher.publish(RECORD, answers.append)
        assert publisher.held_bytes == RECORD.size_bytes

    run_with_publisher(test, is_revived=True)


def test_revival_refuses_every_record_although_an_answer_raises(monkeypatch):
    """Records aside, which nothing else would refuse."""
    monkeypatch.setattr("pipelines.bridge.publishing.publisher.REVIVE_S", 0)
    fatal = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no", True)

    async def test(publisher, _counters):
        answers = []

        def fail(_is_stored):
            answers.append("raised")
            raise ValueError("of an answer")

        first, aside = publisher._producer, RECORD._replace(is_aside=True)
        last = asyncio.get_running_loop().create_future()
        for answer in (answers.append, fail, last.set_result):
            publisher.publish(aside, answer)
        publisher._note_error(fatal)
        assert await last is False
        assert answers == [False, "raised"]
        assert publisher._producer is not first
        assert publisher.held_bytes == publisher.aside_bytes == 0

    run_with_publisher(test, is_revived=True)


class SlowProducer:
    """A producer that reports one record that it gives up with each flush."""

    def __init__(self):
        self._reports = []

    def produce(self, *_args, on_delivery, **_more):
        self._reports.append(on_delivery)

    def purge(self):
        pass

    def flush(self, _timeout_s):
        refused = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no", True)
        self._reports.pop(0)(refused, None)

    def poll(self, _timeout_s):
        return 0

    def __len__(self):
        return len(self._reports)


def test_revival_refuses_every_record_that_the_old_producer_reports_late(monkeypatch):
    monkeypatch.setattr("pipelines.bridge.publishing.publisher.REVIVE_S", 0)
    fatal = KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no", True)

    async def test(publisher, _counters):
        answers, old = [], SlowProducer()
        loop = asyncio.get_running_loop()
        last = loop.create_future()
        publisher._producer.purge()
        publisher._producer = old
        aside = RECORD._replace(is_aside=True)
        for answer in (answers.append, answers.append, answers.append, last.set_result):
            publisher.publish(aside, answer)
        publisher._note_error(fatal)
        assert await last is False
        assert answers == [False] * 3
        assert publisher.held_bytes == publisher.aside_bytes == 0
        # What the old producer reports does not end its successor.
        assert publisher._producer is not old
        assert publisher._revival is None

    run_with_publisher(test, is_revived=True)


def test_nothing_is_taken_while_it_is_shut():
    async def test(publisher, _counters):
        answers = []
        publisher.shut()
        publisher.publish(RECORD, answers.append)
        assert answers == [False]
        publisher.open()
        publisher.publish(RECORD, answers.append)
        assert answers == [False]

    run_with_publisher(test)
