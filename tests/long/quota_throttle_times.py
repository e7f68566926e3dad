"""Random sequences of records, against the brokers' own classes.

`python tests/long/quota_throttle_times.py [--sequences N] [--seed N]`: a JVM runs
ClientQuotaManager and ClientRequestQuotaManager of the embedded Kafka's jars by a clock
that is moved by hand; each throttle time must be the bridge's. Exits with 1 at the
first that is not.
"""

import argparse
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.quotas.throttle_times import (  # noqa: E402 - path
    random_sequence,
    throttle_times_in_java,
)


def main():
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=20_261_127)
    parser.add_argument("--java", default="java")
    arguments = parser.parse_args()
    choose = random.Random(arguments.seed)  # noqa: S311 - no secret is made of it
    sequences = [random_sequence(choose) for _ in range(arguments.sequences)]
    in_java = throttle_times_in_java(arguments.java, sequences)
    records = throttled = 0
    for one, expected in zip(sequences, in_java, strict=True):
        waits_ms = one.throttle_times()
        if waits_ms != expected:
            print(f"{one}\nbridge {waits_ms}\nbroker {expected}")
            return 1
        records += len(waits_ms)
        throttled += sum(wait > 0 for wait in waits_ms)
    print(
        f"{len(sequences):,} sequences, {records:,} records, {throttled:,} of them "
        f"throttled: each for the time that a broker says"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
