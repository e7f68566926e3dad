"""Print what the client library adds to the start of a client.

    python tests/bench/client_push.py --clients 200

Producers are made one after the other: by confluent_kafka, then by the library against
a bridge that takes configurations, then against one that does not. One process for all
clients, bridge and Kafka beside it on this machine. The first push of all waits for the
bridge's own first record, too.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import confluent_kafka

from pipelines import clients
from tests.bench.running_bridge import describe_machine, running_bridge

_MS = 1_000
QUIET = {"error_cb": lambda _error: None, "log_level": 0, "enable.metrics.push": False}
BRIDGE = ("client_config.enabled=true", "bridge.http_port=0")
OLD_BRIDGE = ("bridge.http_port=0",)

Make = Callable[[dict[str, object]], object]


def time_starts(make: Make, server: str, count: int) -> list[float]:
    """Return the milliseconds that each start took."""
    took_ms = []
    for _ in range(count):
        before_s = time.perf_counter()
        client = make({"bootstrap.servers": server} | QUIET)
        took_ms.append((time.perf_counter() - before_s) * _MS)
        del client
    return took_ms


def describe(name: str, took_ms: list[float]) -> str:
    """Return a line of the result."""
    low, high = min(took_ms), max(took_ms)
    median = statistics.median(took_ms)
    return f"{name:44} {median:7.1f} ms ({low:.1f} to {high:.1f})"


def main() -> None:
    """Start clients of each kind in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    count = parser.parse_args().clients
    print(describe_machine())
    cases: dict[str, tuple[tuple[str, ...], Make]] = {
        "confluent_kafka": (BRIDGE, confluent_kafka.Producer),
        "the library, pushing": (BRIDGE, clients.Producer),
        "the library, node without PushConfig": (OLD_BRIDGE, clients.Producer),
    }
    for name, (overrides, make) in cases.items():
        with running_bridge(*overrides) as bridge:
            server = f"127.0.0.1:{bridge.port}"
            first_ms = time_starts(make, server, 1)[0]
            print(describe(name, time_starts(make, server, count)))
            print(f"{'  the first of the process':44} {first_ms:7.1f} ms")


if __name__ == "__main__":
    main()
