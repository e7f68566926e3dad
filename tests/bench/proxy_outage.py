"""Stop the telemetry Kafka behind the proxy: what does it cost those who write?

Usage: nice python tests/bench/proxy_outage.py [--seconds 60] [--around 30] [--producers 4]

Two real clusters, a bridge process between: data goes to one, telemetry to the other,
which is stopped with SIGSTOP for a while. Printed: latencies of the records before,
during and after, and what disconnected.
"""

import argparse
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.support.bridge.base_ports import pick_base_port  # noqa: E402 - path
from tests.support.bridge.bridge_process import BridgeProcess  # noqa: E402 - path
from tests.support.bridge.proxy_support import ProxiedClients  # noqa: E402 - path
from tests.support.clients.paced_producers import PacedProducer, Written, frozen  # noqa: E402 - path

WARM_UP_S = 5


def write_all(producers, seconds):
    """Let all producers write at once; return what became of all records."""
    results = []
    threads = [
        threading.Thread(target=lambda one=one: results.append(one.write_for(seconds)))
        for one in producers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    merged = Written()
    for one in results:
        merged.latencies_s += one.latencies_s
        merged.errors += one.errors
        merged.sent += one.sent
    return merged


def report(name, written):
    print(
        f"{name:8} {written.sent:8} {len(written.errors):7} "
        f"{written.percentile_ms(0.5):8.2f} {written.percentile_ms(0.99):8.2f} "
        f"{written.percentile_ms(1):8.2f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--around", type=float, default=30)
    parser.add_argument("--producers", type=int, default=4)
    arguments = parser.parse_args()
    with (
        EmbeddedKafka() as data,
        EmbeddedKafka() as telemetry,
        tempfile.TemporaryDirectory() as folder,
    ):
        port = pick_base_port()
        bridge = BridgeProcess(
            Path(folder),
            telemetry.bootstrap_servers,
            "telemetry",
            "proxy.enabled=true",
            f"proxy.base_port={port}",
            f"upstream.bootstrap_servers={data.bootstrap_servers}",
        )
        bridge.start()
        try:
            servers = f"127.0.0.1:{port}"
            topic = ProxiedClients(servers).create_topic(4, 1)
            producers = [
                PacedProducer(servers, topic, f"p{number}")
                for number in range(arguments.producers)
            ]
            write_all(producers, WARM_UP_S)
            print("phase     records  errors   p50 ms   p99 ms   max ms")
            before = write_all(producers, arguments.around)
            report("before", before)
            with frozen(telemetry):
                during = write_all(producers, arguments.seconds)
            report("stopped", during)
            after = write_all(producers, arguments.around)
            report("after", after)
            ratio = during.percentile_ms(0.99) / before.percentile_ms(0.99)
            faults = sum(len(one.faults) for one in producers)
            print(f"p99 stopped / before: {ratio:.2f}; disconnections: {faults}")
        finally:
            bridge.close()


if __name__ == "__main__":
    main()
