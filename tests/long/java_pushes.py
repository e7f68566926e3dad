"""Let Java clients of each release, kind and codec push; print what each of them did.

Usage: python tests/long/java_pushes.py [--releases 3.9.2,4.3.1]
                                                   [--end waiting|idle]

A real Apache Kafka and a bridge for each codec. At first the clients of each release
are asked for other metrics than those of the other, and producers for more; then
Kafka's own command changes a subscription; then the clients are closed, as they are or
while each waits for an answer (Kafka is frozen).
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.reading.text_tables import format_table  # noqa: E402 - path
from tests.support.clients.error_code_clients import find_java  # noqa: E402 - path
from tests.support.clients.java_clients import (  # noqa: E402 - path
    IDLE,
    RELEASES,
    WAITING,
    play,
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--releases", default=",".join(RELEASES))
    parser.add_argument("--end", choices=[WAITING, IDLE], default=WAITING)
    arguments = parser.parse_args()
    java, releases = find_java(), arguments.releases.split(",")
    with EmbeddedKafka(java=java) as kafka, tempfile.TemporaryFile() as log:
        began_s = time.monotonic()
        clients, _ = play(java, kafka, releases, arguments.end, log)
        took_s = time.monotonic() - began_s
    names = ["client", "release", "codec offered", "codecs used", "pushes",
             "metrics at first", "after the change", "last push"]  # fmt: skip
    rows = [
        [
            one.kind,
            one.release,
            one.codec,
            ",".join(one.pushes.values("compression_type")),
            len(one.pushes.headers),
            len(one.before),
            len(one.after),
            "terminating" if one.is_ended_by_push else "ordinary",
        ]
        for one in clients
    ]
    print(f"\n{len(clients)} clients in {took_s:.0f} s, closed {arguments.end}\n")
    print(format_table(names, rows))


if __name__ == "__main__":
    main()
