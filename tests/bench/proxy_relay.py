"""The proxy's pairs beside a relay that only copies: what does reading frames cost?

Usage: nice python tests/bench/proxy_relay.py [--rounds 3] [--records 6000]
                             [--loads LOAD …] [--kinds KIND …]

Raw sockets, no Kafka: a client that writes Produce requests and waits for each answer,
at 2,000 a second, as fast as it can, and with 100 kB in each; a broker that answers
them; between them nothing, a relay on the same loop that looks at nothing, or the
proxy's own connections, without a look at configurations and with it (watched), or with
counting what clients produce (counted).
Printed: the median round trip, and CPU-seconds of the process between, median and range
of the rounds, and what the look adds to them.
"""

import argparse
import asyncio
import multiprocessing
import socket
import statistics
import struct
import sys
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import uvloop  # noqa: E402 - path

from pipelines.kafka_client.primitives import write_uvarint  # noqa: E402 - path
from tests.fuzz.proxy_lives import Proxy, frame  # noqa: E402 - path

HEAD = struct.pack(">hhih", 0, 11, 7, 5) + b"myapp\0\0" + struct.pack(">h", 1)
TOPIC = struct.pack(">i", 30_000) + b"\2\6topic\2" + bytes(4)
BATCH_HEAD = struct.pack(">qiibIhiqqqhii", 0, 249, 0, 2, 0, 4, 0, 1, 1, 7, 0, 0, 1)
ANSWER = frame(struct.pack(">i", 7) + b"\0\x01" + bytes(5))
LOADS = {
    "2,000 a second": (200, 0.0005),
    "as fast as it goes": (200, 0),
    "100 kB each": (100_000, 0),
}
"""Bytes of records, and seconds between two requests."""
KINDS = ["direct", "relay", "proxy", "watched", "counted"]
LOOPBACK = "127.0.0.1"
US = 1e6


def serve(told):
    """Answer every request on one connection, whatever it is."""
    server = socket.create_server((LOOPBACK, 0))
    told.send(server.getsockname()[1])
    one, _ = server.accept()
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # One client, which waits for each answer: a request begins where bytes begin.
    left = 0
    while data := one.recv(262_144):
        left = left or 4 + struct.unpack_from(">i", data)[0]
        left -= len(data)
        if not left:
            one.sendall(ANSWER)


def ask(port, count, load, told):
    """Write requests, wait for each answer; say the median round trip."""
    size, pause_s = LOADS[load]
    records = BATCH_HEAD + b"x" * size
    request = frame(HEAD + TOPIC + write_uvarint(len(records) + 1) + records + bytes(3))
    one = socket.create_connection((LOOPBACK, port))
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    took, due = [], time.perf_counter()
    for _ in range(count):
        due += pause_s
        time.sleep(max(0, due - time.perf_counter()))
        began = time.perf_counter()
        one.sendall(request)
        assert len(one.recv(65_536)) == len(ANSWER)
        took.append(time.perf_counter() - began)
    told.send(statistics.median(took))


class Relay(asyncio.Protocol):
    """Copies bytes from one peer to another."""

    def __init__(self, address):
        self._address, self._other, self._early = address, None, b""

    def connection_made(self, transport):
        self._transport = transport
        if self._address is not None:
            self._task = asyncio.create_task(self._connect())

    async def _connect(self):
        back = Relay(None)
        back._other = self._transport
        loop = asyncio.get_running_loop()
        self._other, _ = await loop.create_connection(lambda: back, *self._address)
        self._other.write(self._early)

    def data_received(self, data):
        if self._other is None:
            self._early += data
        else:
            self._other.write(data)

    def connection_lost(self, _error):
        if self._other is not None:
            self._other.close()


async def measure(kind, load, count):
    """Return the median round trip and the CPU-seconds between, of each request."""
    loop = asyncio.get_running_loop()
    heard, told = multiprocessing.Pipe(duplex=False)
    broker = multiprocessing.Process(target=serve, args=(told,), daemon=True)
    broker.start()
    port = await asyncio.to_thread(heard.recv)
    if kind != "direct":
        proxy = Proxy(is_watched=kind == "watched", is_counted=kind == "counted")
        proxy.broker_address = LOOPBACK, port
        copy = partial(Relay, proxy.broker_address)
        make = copy if kind == "relay" else proxy.connect
        front = await loop.create_server(make, LOOPBACK, 0)
        port = front.sockets[0].getsockname()[1]
    client = multiprocessing.Process(target=ask, args=(port, count, load, told))
    cpu = time.process_time()
    client.start()
    median = await asyncio.to_thread(heard.recv)
    cpu = time.process_time() - cpu
    await asyncio.to_thread(client.join)
    broker.terminate()
    return median * US, cpu / count * US


def spread(values):
    return f"{statistics.median(values):7.1f} ({min(values):.1f} to {max(values):.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--records", type=int, default=6_000)
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=list(LOADS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    arguments = parser.parse_args()
    multiprocessing.set_start_method("fork")
    print("load                between   round trip, us            CPU a request, us")
    for load in arguments.loads:
        seen = {kind: [] for kind in arguments.kinds}
        for _ in range(arguments.rounds):
            for kind, values in seen.items():
                values.append(uvloop.run(measure(kind, load, arguments.records)))
        for kind, values in seen.items():
            trips, cpus = zip(*values, strict=True)
            print(f"{load:18}  {kind:8} {spread(trips):25} {spread(cpus)}", flush=True)
        compared = {"watched", "counted"} if "proxy" in seen else set()
        for kind in sorted(compared & seen.keys()):
            added = [
                (one[1] / plain[1] - 1) * 100
                for plain, one in zip(seen["proxy"], seen[kind], strict=True)
            ]
            print(f"{load:18}  {kind} adds, % of the CPU of each pair {spread(added)}")


if __name__ == "__main__":
    main()
