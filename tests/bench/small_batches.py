"""What micro-batches of a few pushed configurations take, in CPU-seconds.

Usage: python tests/bench/small_batches.py [--batches 6] [--pushes 10] [--restarts] [--defaults]

Batches are handed to the job without Kafka, in the session of the tests: the first one
of a session, then others of new clients. Counted are this process, the JVM and its
Python workers, and the plans that Spark carried out.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.process_tree import cpu_seconds  # noqa: E402 - path
from tests.support.spark.config_records import (  # noqa: E402 - path
    START_MS,
    ConfigJob,
    entry,
    make_record,
)
from tests.support.spark.local_session import start_quick_session  # noqa: E402 - path


def make_push(offset, *, is_restart, has_defaults):
    """Return a record of a new client instance.

    Args:
        is_restart: Whether its logical client is one of ten, which has pushed before.
        has_defaults: Whether an entry is flagged as default, which counts it.
    """
    client = offset % 10 if is_restart else offset
    return make_record(
        offset,
        entry("acks", "all", is_default=has_defaults),
        entry("linger.ms", str(offset), "LONG"),
        entry("bootstrap.servers", "broker:9092", "LIST"),
        client_instance_id=f"{offset}".rjust(22, "A"),
        client_id=f"app-{client}",
        received_at_ms=str(START_MS + offset),
        push_id=f"push-{offset}",
    )


def count_executions(spark):
    """Return how many plans a session has carried out, commands and parts included."""
    return spark._jsparkSession.sharedState().statusStore().executionsCount()


def main():
    """Print a line a batch, and the median of those after the first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--pushes", type=int, default=10)
    parser.add_argument("--restarts", action="store_true", help="of ten clients")
    parser.add_argument("--defaults", action="store_true", help="push a default each")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="small-batches-") as folder:
        spark = start_quick_session(Path(folder) / "warehouse")
        job = ConfigJob(spark, Path(folder))
        taken = []
        for batch in range(arguments.batches):
            first = batch * arguments.pushes
            records = [
                make_push(
                    first + number,
                    is_restart=arguments.restarts,
                    has_defaults=arguments.defaults,
                )
                for number in range(arguments.pushes)
            ]
            plans = count_executions(spark)
            started, before = time.monotonic(), cpu_seconds(os.getpid())
            job.write(*records)
            taken.append(cpu_seconds(os.getpid()) - before)
            passed = time.monotonic() - started
            time.sleep(1)  # Spark tells of them later
            plans = count_executions(spark) - plans
            print(
                f"batch {batch}: {taken[-1]:.2f} CPU-seconds, {passed:.1f} s, "
                f"{plans} plans",
                flush=True,
            )
        spark.stop()
    warm = taken[1:]
    if warm:
        print(
            f"warm: {statistics.median(warm):.2f} CPU-seconds "
            f"({min(warm):.2f} to {max(warm):.2f})"
        )


if __name__ == "__main__":
    main()
