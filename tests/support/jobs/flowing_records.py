"""Records that are written and read while something else happens."""

import threading
import time

from tests.support.bridge.proxy_support import PATIENCE_S
from tests.support.kafka.topics import is_of_a_new_topic


class FlowingRecords:
    """Writes and reads a topic during a block.

    The block's end fails on any error, and when a record is missing.
    """

    def __init__(self, clients, topic):
        self.written = []
        """Values acknowledged so far."""
        self._clients, self._topic = clients, topic
        self._read, self._errors = set(), []
        self._is_over, self._is_written = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=work) for work in (self._write, self._read_on)
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind, error, trace):
        events = self._is_over, self._is_written
        for event, thread in zip(events, self._threads, strict=True):
            event.set()
            thread.join(2 * PATIENCE_S)
        if kind is None:
            assert self._errors == []
            assert self._read == set(self.written)

    def _note(self, error, record):
        if error is None:
            self.written.append(record.value())
        else:
            self._errors.append(error)

    def _write(self):
        producer = self._clients.producer("writer", **{"enable.idempotence": True})
        number = 0
        while not self._is_over.is_set():
            producer.produce(self._topic, b"%d" % number, on_delivery=self._note)
            number += 1
            producer.poll(0.002)
        producer.flush(PATIENCE_S)

    def _read_on(self):
        consumer = self._clients.consumer("reader")
        consumer.subscribe([self._topic])
        while not self._is_written.is_set():
            self._poll(consumer)
        end_s = time.monotonic() + PATIENCE_S
        while len(self._read) < len(self.written) and time.monotonic() < end_s:
            self._poll(consumer)
        consumer.close()

    def _poll(self, consumer):
        record = consumer.poll(0.1)
        if record is None:
            return
        if record.error() is None:
            self._read.add(record.value())
        elif not is_of_a_new_topic(record.error()):
            self._errors.append(record.error())
