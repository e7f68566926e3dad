"""Memory of the proxy while many share consumers catch up, beside plain consumers.

Usage: nice python tests/bench/share_fetch.py [--clients 10] [--records 45]
                                              [--set proxy.max_buffered_response_bytes=N]

A real Kafka, a bridge process in front of it, and librdkafka clients. Each client has a
group of its own and reads all records of 1 MB. Printed: the resident memory of the
bridge before, and its largest while each kind of client reads.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.base_ports import pick_base_port  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path
from tests.support.bridge.proxy_support import (  # noqa: E402 - path
    ProxiedClients,
    read_all,
    write_all,
)
from tests.support.clients.share_consumers import (  # noqa: E402 - path
    make_share_consumer,
    read_shared,
)

RECORD_BYTES, MB = 1_000_000, 1e6
LARGE = str(2 * RECORD_BYTES)
PAUSE_S = 0.02


def measure(bridge, read, make_consumer, topic, arguments):
    """Return the largest resident memory of the bridge, and the seconds, of one kind."""
    threads = [
        threading.Thread(target=read, args=(make_consumer(), topic, arguments.records))
        for _ in range(arguments.clients)
    ]
    most, began = 0, time.monotonic()
    for one in threads:
        one.start()
    while any(one.is_alive() for one in threads):
        most = max(most, bridge.resident_bytes())
        time.sleep(PAUSE_S)
    return most, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--records", type=int, default=45)
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    limits = {"message.max.bytes": LARGE}
    with (
        EmbeddedKafka(broker_properties=limits) as kafka,
        tempfile.TemporaryDirectory() as folder,
    ):
        port = pick_base_port()
        bridge = BridgeProcess(
            Path(folder),
            kafka.bootstrap_servers,
            "telemetry",
            "proxy.enabled=true",
            f"proxy.base_port={port}",
            *arguments.set,
        )
        bridge.start()
        try:
            direct = ProxiedClients(kafka.bootstrap_servers)
            topic = direct.create_topic(1, 1)
            producer = direct.producer("fill", **{"message.max.bytes": LARGE})
            write_all(producer, topic, [b"x" * RECORD_BYTES] * arguments.records)
            proxied = ProxiedClients(f"127.0.0.1:{port}")
            kinds = {
                "plain": (read_all, lambda: proxied.consumer("plain")),
                "share": (
                    read_shared,
                    lambda: make_share_consumer(direct.admin, **proxied.base),
                ),
            }
            print(f"before      {bridge.resident_bytes() / MB:7.0f} MB", flush=True)
            for kind, (read, make) in kinds.items():
                most, took = measure(bridge, read, make, topic, arguments)
                print(f"{kind} at most {most / MB:6.0f} MB, {took:.1f} s", flush=True)
            _, page = bridge.fetch("/metrics")
            for line in page.splitlines():
                if "delayed_responses" in line or "stalled_responses" in line:
                    print(line)
        finally:
            bridge.close()


if __name__ == "__main__":
    main()
