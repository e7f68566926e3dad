"""Run every Java program through the proxy, with each release; print what each took.

Usage: python tests/long/proxy_java.py [--releases 3.9.2,4.3.1]

Three real brokers with an authorizer. UseCluster: applications and admins;
AdministerCluster: ACLs, quotas, groups, settings, and leaders that move while clients
of Java and librdkafka write and read; CountWords: Kafka Streams, exactly once;
UseShareGroup: a share group, which the older release does not have.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.client_jars import find_java  # noqa: E402 - path
from tests.support.bridge.bridge_support import running_bridge  # noqa: E402 - path
from tests.support.bridge.proxy_support import (  # noqa: E402 - path
    ProxiedClients,
    find_servers,
    proxy_settings,
)
from tests.support.clients.java_clients import RELEASES, find_jars  # noqa: E402 - path
from tests.support.clients.java_programs import (  # noqa: E402 - path
    AUTHORIZER,
    find_streams_jars,
    run_program,
)
from tests.support.jobs.flowing_records import FlowingRecords  # noqa: E402 - path

BROKERS = 3
PUSH_MS = 3_000


def administer(java, jars, servers, run):
    clients = ProxiedClients(servers)
    topic = clients.create_topic(3, 2, **{"min.insync.replicas": "1"})
    with FlowingRecords(clients, topic) as flowing:
        run_program(java, jars, "AdministerCluster", servers, run, topic)
    print(f"  {len(flowing.written)} records of librdkafka, none missing, no error")


def count_words(java, release, servers, run):
    with tempfile.TemporaryDirectory() as folder:
        run_program(
            *(java, find_streams_jars(release), "CountWords", servers, run),
            options=[f"-Dstate.dir={folder}"],
        )


def list_steps(java, release, server):
    """Return what is run for one release, by name."""
    servers, jars = find_servers(server), find_jars(release)
    ports = " ".join(str(one.port) for one in server.proxy.brokers.known.values())
    words = (servers, f"use-{release}", f" {ports} ", str(PUSH_MS))
    steps = {
        "UseCluster": lambda: run_program(java, jars, "UseCluster", *words),
        "AdministerCluster": lambda: administer(
            java, jars, servers, f"administer-{release}"
        ),
        "CountWords": lambda: count_words(java, release, servers, f"count-{release}"),
    }
    if release != RELEASES[0]:
        steps["UseShareGroup"] = lambda: run_program(
            java, jars, "UseShareGroup", servers, f"share-{release}"
        )
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--releases", default=",".join(RELEASES))
    releases = parser.parse_args().releases.split(",")
    java = find_java()
    with (
        EmbeddedKafka(BROKERS, java=java, broker_properties=AUTHORIZER) as kafka,
        running_bridge(proxy_settings(kafka)) as (server, _endpoint),
    ):
        for release in releases:
            for name, step in list_steps(java, release, server).items():
                began_s = time.monotonic()
                step()
                print(
                    f"{release} {name}: {time.monotonic() - began_s:.0f} s", flush=True
                )
        counters = server.counters
    bad = (
        counters.unsupported_requests,
        counters.malformed_requests,
        counters.malformed_responses,
    )
    print(f"requests not understood, malformed; answers malformed: {bad}")
    return 1 if any(bad) else 0


if __name__ == "__main__":
    sys.exit(main())
