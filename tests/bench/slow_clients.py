"""Print how long a good client waits beside many slow ones, and without them.

    python tests/bench/slow_clients.py --slow 10000

A third of the slow clients is silent, a third has claimed a request of 8 MB and
trickles it, a third asks and does not read. The good client pushes at an even rate;
each push is acknowledged by Kafka. Rounds with and without the slow ones alternate.
"""

import argparse
import itertools
import socket
import statistics
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.running_bridge import (
    API_VERSIONS,
    GET,
    RunningBridge,
    describe_machine,
    make_push,
    read_reply,
    running_bridge,
)

PUSH_INTERVAL_S = 0.005
SUBSCRIPTION = 'subscriptions=[{name="s",metrics=["*"],interval_ms=100,match=[]}]'
PATIENT = ("limits.request_timeout_ms=3600000", "limits.write_timeout_ms=3600000")
GIANT = struct.pack(">i", 8_388_608)
TRICKLE_S = 10.0
"""Each trickling client sends a byte this often."""
CLIENTS = 40
_US = 1_000_000


def push_evenly(bridge: RunningBridge, pushes: int) -> list[float]:
    """Return the seconds that each push took; clients take turns to push."""
    clients = []
    for _ in range(CLIENTS):
        one = socket.create_connection(("127.0.0.1", bridge.port), 30)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.sendall(GET)
        clients.append((one, make_push(read_reply(one), b"m" * 120)))
    taken = []
    due_s = time.perf_counter()
    for one, push in itertools.islice(itertools.cycle(clients), pushes):
        due_s += PUSH_INTERVAL_S
        time.sleep(max(due_s - time.perf_counter(), 0))
        began = time.perf_counter()
        one.sendall(push)
        read_reply(one)
        taken.append(time.perf_counter() - began)
    for one, _ in clients:
        one.close()
    return taken


class SlowClients:
    """Connections that are no good to anyone."""

    def __init__(self, bridge: RunningBridge, count: int) -> None:
        self._sockets: list[socket.socket] = []
        self._is_over = threading.Event()
        for number in range(count):
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            one.connect(("127.0.0.1", bridge.port))
            one.setblocking(False)
            if number % 3 == 1:
                one.send(GIANT)
            elif number % 3 == 2:
                with suppress(BlockingIOError):
                    one.send(API_VERSIONS * 500)
            self._sockets.append(one)
        self._trickling = self._sockets[1::3]
        self._thread = threading.Thread(target=self._trickle)
        self._thread.start()

    def _trickle(self) -> None:
        pause_s = TRICKLE_S / max(len(self._trickling), 1)
        for one in itertools.cycle(self._trickling):
            if self._is_over.wait(pause_s):
                return
            with suppress(OSError):
                one.send(b"\0")

    def close(self) -> None:
        """Let go of all of them."""
        self._is_over.set()
        self._thread.join()
        for one in self._sockets:
            one.close()


def say(what: str, taken: list[float]) -> tuple[float, float]:
    """Print median and p99; return them."""
    cuts = statistics.quantiles(taken, n=100)
    print(f"{what}: p50 {cuts[49] * _US:.0f} us, p99 {cuts[98] * _US:.0f} us")
    return cuts[49], cuts[98]


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slow", type=int, default=10_000)
    parser.add_argument("--pushes", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(describe_machine())
    alone: list[float] = []
    beside: list[float] = []
    with running_bridge(SUBSCRIPTION, *PATIENT) as bridge:
        push_evenly(bridge, arguments.pushes)  # Kafka and the bridge warm up
        for _ in range(arguments.rounds):
            alone += push_evenly(bridge, arguments.pushes)
            slow = SlowClients(bridge, arguments.slow)
            try:
                beside += push_evenly(bridge, arguments.pushes)
            finally:
                slow.close()
    unloaded, loaded = (
        say("alone", alone),
        say(f"beside {arguments.slow} slow clients", beside),
    )
    print(
        f"ratio: p50 {loaded[0] / unloaded[0]:.2f}, p99 {loaded[1] / unloaded[1]:.2f}"
    )


if __name__ == "__main__":
    main()
