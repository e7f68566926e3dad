"""Push with every stock client through the proxy; print what the table says of each.

Usage: python tests/long/proxy_client_matrix.py [--releases 3.9.2,4.3.1]
           [--protocols PLAINTEXT,SASL_PLAINTEXT,SSL,SASL_SSL]

Three real brokers, a proxy for each security protocol, clients of librdkafka and of
Java (producers, consumers of both group protocols, share consumers, admins, Kafka
Streams), and the telemetry job. Ends with 1 if a client that pushes has no rows, or
rows that say something else of it.
"""

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.reading.text_tables import format_table  # noqa: E402 - path
from pipelines.tables.telemetry import CLIENT_METRICS  # noqa: E402 - path
from tests.client_jars import find_java  # noqa: E402 - path
from tests.support.clients.client_matrix import (  # noqa: E402 - path
    JAVA_KINDS,
    count_points,
    list_clients,
    push_through,
)
from tests.support.clients.client_site import PROTOCOLS, running_site  # noqa: E402 - path
from tests.support.jobs.job_support import make_settings, run_once  # noqa: E402 - path
from tests.support.spark.local_session import start_session  # noqa: E402 - path


def run(java, clients, folder):
    """Return data points by client id and identity, and pushes by client id."""
    log_path = folder / "java.log"
    with running_site(java, folder) as site, log_path.open("wb") as log:
        pushes = push_through(java, site, clients, log)
        settings = make_settings(site.servers, site.topic, folder)
        spark = start_session(folder / "warehouse")
        try:
            run_once(spark, settings)
            return count_points(spark, settings, CLIENT_METRICS), pushes
        finally:
            spark.stop()


def describe(client, counted, pushes):
    """Return a line about one client, and whether it is as it must be."""
    rows = counted.get(client.client_id, {})
    is_right = list(rows) == ([] if client.is_silent else [client.identity])
    software, release, principal = next(iter(rows), ("", "", ""))
    headers = pushes[client.client_id].headers if client.client_id in pushes else []
    is_ended = bool(headers) and headers[-1]["terminating"] == "true"
    line = [
        client.protocol,
        client.release,
        client.client_id.removeprefix(f"{client.protocol}-{client.release}-"),
        len(headers),
        "yes" if is_ended else "no",
        sum(rows.values()),
        software,
        release,
        principal,
        "as expected" if is_right else "WRONG",
    ]
    return line, is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--releases", default=",".join(JAVA_KINDS))
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    arguments = parser.parse_args()
    protocols, releases = (
        arguments.protocols.split(","),
        arguments.releases.split(","),
    )
    clients = list_clients(protocols, releases)
    with tempfile.TemporaryDirectory() as name:
        counted, pushes = run(find_java(), clients, Path(name))
    told = [describe(client, counted, pushes) for client in clients]
    names = ["protocol", "of", "client", "pushes", "ended by a push", "data points",
             "software", "version", "principal", ""]  # fmt: skip
    print(format_table(names, [line for line, _ in told]))
    others = sorted(set(counted) - {one.client_id for one in clients})
    print(f"\nothers that pushed: {', '.join(others) or 'none'}")
    return 0 if all(is_right for _, is_right in told) else 1


if __name__ == "__main__":
    sys.exit(main())
