"""What an idle feed costs: CPU of a bridge with and without it, requests a look.

Usage: tests/bench/cluster_feed.py [--seconds 30] [--rounds 3]
"""

import argparse
import sys
import time
import uuid
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.feed.connections import BrokerLinks  # noqa: E402 - path
from tests.support.bridge.bridge_support import (  # noqa: E402 - path
    make_settings,
    running_bridge,
)

SOURCES = ("off", "admin_api", "metadata_log")
BROKERS = 3
SETTLE_S = 10


def measure(cluster, source, seconds):
    """Return CPU as a share of one core, looks, and requests to brokers."""
    settings = make_settings(
        cluster, f"topics.cluster=idle-{uuid.uuid4()}", "bridge.http_port=-1",
        f"cluster.source={source}",
        f"cluster.controller_servers={cluster.controller_bootstrap_servers}",
    )  # fmt: skip
    links = []
    begin = BrokerLinks.__init__

    def note(self, *args, **named):
        begin(self, *args, **named)
        links.append(self)

    BrokerLinks.__init__ = note
    try:
        with running_bridge(settings) as (server, _):
            time.sleep(SETTLE_S)
            looks, requests = server.feed.counters.looks, sum(o.requests for o in links)
            cpu_s = time.process_time()
            time.sleep(seconds)
            cpu_s = time.process_time() - cpu_s
            looks = server.feed.counters.looks - looks
            return cpu_s / seconds, looks, sum(o.requests for o in links) - requests
    finally:
        BrokerLinks.__init__ = begin


def main():
    """Measure all sources in each round."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with EmbeddedKafka(BROKERS) as cluster:
        for number in range(options.rounds):
            for source in SOURCES:
                cpu, looks, requests = measure(cluster, source, options.seconds)
                print(
                    f"round {number + 1}: {source:12} {cpu:.2%} of a core, {looks} "
                    f"looks, {requests} requests to brokers",
                    flush=True,
                )


if __name__ == "__main__":
    main()
