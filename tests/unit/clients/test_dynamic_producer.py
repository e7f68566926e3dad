"""Changes of the handle of a DynamicProducer, on librdkafka's own mock cluster."""

import threading

import pytest

from pipelines.clients.dynamic import DynamicProducer
from pipelines.clients.dynamic_values import Settled

PATIENCE_S = 30
CONF = {
    "test.mock.num.brokers": 1,
    "enable.config.push": False,
    "enable.dynamic.configs": False,
    "enable.metrics.push": False,
    "log_level": 0,
    "error_cb": lambda _error: None,
}


class Due:
    """Dynamic configs that have changed, once."""

    def __init__(self, producer, acks):
        conf = producer._given.conf
        self.running = Settled(conf=conf, told={})
        self.wanted = Settled(conf=conf | {"acks": acks}, told={})
        self.told, self.faults, self.asked = {}, [], 0

    def is_due(self):
        return self.running is not self.wanted

    def ask(self):
        self.asked += 1
        return self.wanted

    def accept(self, made):
        self.running = made
        return {}

    def postpone(self, _wanted, fault):
        self.faults.append(fault)
        return {}

    def try_soon(self, _took_s):
        pass

    def call(self, _changed):
        pass


@pytest.fixture
def producer(request):
    made = DynamicProducer(CONF | getattr(request, "param", {}))
    # The mock cluster creates the topic now: the first records need no metadata.
    made.produce("t", "first", partition=0)
    assert made.flush(PATIENCE_S) == 0
    yield made
    made.close()


def change_configs(producer):
    """Have dynamic configs that the next call finds."""
    producer._following = Due(producer, "1")
    return producer._handle


def run_bounded(*calls):
    threads = [threading.Thread(target=one, daemon=True) for one in calls]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE_S)
    return not any(one.is_alive() for one in threads)


def test_produce_with_changed_configs_keeps_the_handle(producer):
    handle = change_configs(producer)
    producer.produce("t", "1")
    producer.produce_batch("t", [{"value": "2"}])
    assert (producer._handle, producer._following.asked) == (handle, 0)
    producer.poll(0)
    assert producer._handle is not handle


def test_lock_around_produce_and_in_reports_one_thread_goes_on(producer):
    lock, handle, reported = threading.Lock(), producer._handle, []

    def report(error, record):
        with lock:
            reported.append((error, record.value()))

    def run():
        for number in range(20):
            with lock:
                producer.produce("t", str(number), partition=0, on_delivery=report)
            if number == 9:
                change_configs(producer)
        producer.flush(PATIENCE_S)

    assert run_bounded(run)
    assert producer._handle is not handle
    assert reported == [(None, str(number).encode()) for number in range(20)]


def test_lock_around_produce_and_in_reports_two_threads_go_on(producer):
    lock, handle, reported = threading.Lock(), producer._handle, []
    is_done = threading.Event()

    def report(_error, record):
        with lock:
            reported.append(int(record.value()))

    def produce():
        for number in range(2_000):
            with lock:
                producer.produce("t", str(number), partition=0, on_delivery=report)
            if number == 1_000:
                change_configs(producer)
        is_done.set()

    def poll():
        while not (is_done.is_set() and len(reported) == 2_000):
            producer.poll(0.01)

    assert run_bounded(produce, poll)
    assert producer._handle is not handle
    assert reported == list(range(2_000))


@pytest.mark.parametrize("call", ["poll", "flush"])
def test_other_threads_produce_while_a_report_of_a_change_blocks(producer, call):
    has_produced = threading.Event()
    outcome = []

    def report(_error, _record):
        outcome.append(has_produced.wait(PATIENCE_S))

    def produce():
        producer.produce("t", "2", partition=0)
        has_produced.set()

    def start_other(_error, _record):
        threading.Thread(target=produce, daemon=True).start()
        report(_error, _record)

    producer.produce("t", "1", partition=0, on_delivery=start_other)
    change_configs(producer)
    getattr(producer, call)(PATIENCE_S)
    assert outcome == [True]
    assert producer.flush(PATIENCE_S) == 0


def test_reports_of_a_change_of_a_batch_run_once_and_before_others(producer):
    seen = []
    note = lambda _error, record: seen.append(record.value())  # noqa: E731
    batch = [{"value": "1", "callback": note}, {"value": "2"}]
    assert producer.produce_batch("t", batch, 0, note) == 2
    assert len(producer) == 2
    change_configs(producer)
    producer.poll(0)
    producer.produce("t", "3", None, 0, note)
    assert producer.flush(PATIENCE_S) == 0
    assert seen == [b"1", b"2", b"3"]
    assert batch[1] == {"value": "2"}


def test_report_that_raises_in_a_change_is_raised_in_that_poll(producer):
    def fail(_error, _record):
        raise ValueError("of the application")

    producer.produce("t", "1", partition=0, on_delivery=fail)
    handle = change_configs(producer)
    with pytest.raises(ValueError, match="of the application"):
        producer.poll(0)
    assert producer._handle is not handle
    assert producer.flush(PATIENCE_S) == 0


@pytest.mark.parametrize("producer", [{"test.mock.broker.rtt": 500}], indirect=True)
def test_records_not_delivered_in_time_keep_the_handle(producer):
    handle = change_configs(producer)
    producer._limit_s = 0
    producer.produce("t", "1", partition=0)
    producer.poll(0)
    assert producer._handle is handle
    assert producer._following.faults == ["records are not delivered yet"]
    assert producer.flush(PATIENCE_S) == 0
