"""Producers behind the proxy while the Kafka that takes their telemetry is stopped."""

import os
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Producer

from tests.support.bridge.proxy_support import PATIENCE_S, QUIET

PACE_S = 0.002


@contextmanager
def frozen(kafka):
    """Stop every broker of a cluster, as a machine that hangs would."""
    for pid in kafka.pids.values():
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in kafka.pids.values():
            os.kill(pid, signal.SIGCONT)


@dataclass
class Written:
    """What became of the records of one phase."""

    latencies_s: list = field(default_factory=list)
    """From produce to its acknowledgement, of each record."""
    errors: list = field(default_factory=list)
    sent: int = 0

    def percentile_ms(self, share):
        ordered = sorted(self.latencies_s)
        return 1_000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]


class PacedProducer:
    """Writes records one after the other at an even pace, and times each of them."""

    def __init__(self, servers, topic, client_id):
        self.faults = []
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "client.id": client_id,
                "acks": "all",
                "linger.ms": 0,
                # Telemetry then has no connection of its own.
                "error_cb": self.faults.append,
            },
            logger=QUIET,
        )

    def write_for(self, seconds):
        """Write for so long, and wait until the last record is acknowledged."""
        written = Written()
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            self._producer.produce(
                self._topic, b"x" * 100, on_delivery=self._timing(written, now)
            )
            written.sent += 1
            due = now + PACE_S
            while (left := due - time.monotonic()) > 0:
                self._producer.poll(left)
        assert self._producer.flush(PATIENCE_S) == 0
        return written

    @staticmethod
    def _timing(written, began):
        def note(error, _record):
            written.latencies_s.append(time.monotonic() - began)
            if error is not None:
                written.errors.append(error)

        return note
