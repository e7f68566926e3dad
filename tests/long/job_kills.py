"""Kill the driver again and again while pushes arrive; then compare every key.

Usage: python tests/long/job_kills.py [--kills-per-point 5] [--random-kills 20]
                                            [--worker-kills 5] [--batch-pushes 60]
                                            [--folder FOLDER]
                                            [--writer auto|files|spark|both]
                                            [--slice-bytes BYTES]

A real Apache Kafka, pushes with known ids while the job runs, the whole driver (Python
and JVM) killed with -9 at each point between the job's writes and at random times, and
Python workers, too. Some restarts get a new checkpoint location; with `both` ways of
writing the drivers take them in turn. In the end every
push_id must stand in client_pushes exactly once, every (push_id, point_index) in
client_metrics exactly once, the rejected records in quarantine exactly once, and
client_instances must say what all pushes together say.
"""

import argparse
import itertools
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.streaming import batch_slices  # noqa: E402 - path
from tests.support.jobs.job_support import (  # noqa: E402 - path
    PushProducer,
    create_topic,
    find_differences,
    make_settings,
)
from tests.support.jobs.kill_processes import (  # noqa: E402 - path
    POINTS,
    Driver,
    kill_workers,
)
from tests.support.kafka.java_home import find_java  # noqa: E402 - path
from tests.support.spark.local_session import (  # noqa: E402 - path
    start_quick_session,
)
from tests.support.spark.writer_option import WRITERS  # noqa: E402 - path

TOPIC = "pushes-and-kills"
WORKER = "worker"
BOTH = "both"
WAYS = ("spark", "files")
RANDOM = "random"
RANDOM_WINDOW_S = 8
RANDOM_START_SHARE = 0.2
"""Share of the random kills that hit a driver before its first micro-batch."""
NEW_CHECKPOINT_EVERY = 8
# Together what two micro-batches take, so that each driver has a second one.
SENDS_PER_DRIVER = 40
BATCHES_PER_DRIVER = 2
SEND_PAUSE_S = 0.25
LAST_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One end of a driver."""

    point: str
    occurrence: int


class Feed:
    """Produces while drivers come and go, so much per driver that no queue builds up."""

    def __init__(self, servers, batch_pushes):
        self._pushes_per_send = batch_pushes * BATCHES_PER_DRIVER // SENDS_PER_DRIVER
        self.producer = PushProducer(servers, TOPIC)
        self._wanted = threading.Semaphore(0)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def grant(self, sends):
        """Allow some more sends."""
        for _ in range(sends):
            self._wanted.release()

    def _run(self):
        while self._wanted.acquire() and not self._is_over.wait(SEND_PAUSE_S):
            self.producer.send(self._pushes_per_send)

    def close(self):
        self._is_over.set()
        self._wanted.release()
        self._thread.join()


def plan_kills(per_point, random_kills, worker_kills, chance):
    """Return the kills in a mixed order; every second one waits for a second batch."""
    kills = [
        Kill(point=point, occurrence=1 + number % 2)
        for number, point in itertools.product(range(per_point), POINTS)
    ]
    kills += [Kill(point=RANDOM, occurrence=0)] * random_kills
    kills += [Kill(point=WORKER, occurrence=0)] * worker_kills
    chance.shuffle(kills)
    return kills


def run_until_killed(driver, kill, chance):
    """Let one driver meet its end; return where that was."""
    if kill.point == RANDOM:
        is_early = chance.random() < RANDOM_START_SHARE
        if is_early or driver.wait_for_batch():
            driver.wait(chance.random() * RANDOM_WINDOW_S)
        driver.kill()
    elif kill.point == WORKER:
        killed = kill_workers(driver, chance)
        assert killed, "the driver ended before a worker was killed"
    assert driver.wait(), f"no end at {kill}"
    is_killed = driver.process.returncode == -signal.SIGKILL
    assert is_killed or kill.point == WORKER, f"{kill}: ended by itself"
    return driver.reached[-1] if driver.reached else "start"


def run(
    spark,
    kills,
    folder,
    chance,
    say,
    *,
    batch_pushes=60,
    writers=("auto",),
    slice_bytes=batch_slices.SLICE_BYTES,
):
    """Run the whole thing; return the differences and the number of pushes.

    Args:
        spark: The session that reads the tables when all is over.
        writers: Ways of writing, which drivers take in turn.
        slice_bytes: What a micro-batch is cut by.
    """
    ways = itertools.cycle(writers)
    (folder / "tmp").mkdir(parents=True)
    with EmbeddedKafka(java=find_java()) as kafka:
        servers = kafka.bootstrap_servers
        create_topic(servers, TOPIC)
        feed = Feed(servers, batch_pushes)
        checkpoint = "checkpoint-0"
        try:
            for number, kill in enumerate(kills, start=1):
                feed.grant(SENDS_PER_DRIVER)
                if number % NEW_CHECKPOINT_EVERY == 0:
                    checkpoint = f"checkpoint-{number}"
                way = next(ways)
                driver = Driver(
                    *(folder, checkpoint, servers, TOPIC, batch_pushes, slice_bytes),
                    *(kill.point, kill.occurrence, f"tables.writer={way}"),
                )
                try:
                    where = run_until_killed(driver, kill, chance)
                finally:
                    driver.close()
                say(
                    f"{number:3} of {len(kills)}  {kill.point:24} ended after "
                    f"`{where}`, {time.monotonic() - driver.began:.0f} s, {checkpoint}, "
                    f"{way}"
                )
        finally:
            feed.close()
        last = Driver(
            *(folder, checkpoint, servers, TOPIC, batch_pushes, slice_bytes),
            *("end", 0, f"tables.writer={next(ways)}"),
        )
        # What nobody has read yet may be a hundred slices.
        assert last.wait(LAST_S), f"not at the end after {LAST_S} s"
        last.close()
        assert last.process.returncode == 0, f"see {folder}/driver.log"
        settings = make_settings(servers, TOPIC, folder)
        differences = find_differences(spark, settings, feed.producer.expected)
    return differences, feed.producer.expected


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills-per-point", type=int, default=5)
    parser.add_argument("--random-kills", type=int, default=20)
    parser.add_argument("--worker-kills", type=int, default=5)
    parser.add_argument("--batch-pushes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--writer", choices=[*WRITERS, BOTH], default="auto")
    parser.add_argument("--slice-bytes", type=int, default=batch_slices.SLICE_BYTES)
    arguments = parser.parse_args()
    # A plain kill of this program ends its drivers and its broker, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    chance = random.Random(arguments.seed)  # noqa: S311 - to be repeatable
    kills = plan_kills(
        arguments.kills_per_point,
        arguments.random_kills,
        arguments.worker_kills,
        chance,
    )
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="kill-run-"))
    print(f"{len(kills)} kills; tables, checkpoints and driver.log in {folder}")
    spark = start_quick_session(f"{folder}/warehouse")
    try:
        differences, expected = run(
            spark,
            kills,
            folder,
            chance,
            lambda text: print(text, flush=True),
            batch_pushes=arguments.batch_pushes,
            writers=WAYS if arguments.writer == BOTH else [arguments.writer],
            slice_bytes=arguments.slice_bytes,
        )
    finally:
        spark.stop()
    print("\nkills by point")
    for point, count in sorted(Counter(kill.point for kill in kills).items()):
        print(f"  {point:24} {count:4}")
    print("\ntable              expected rows  result")
    counts = {
        "client_pushes": len(expected.pushes),
        "client_metrics": len(expected.points),
        "quarantine": len(expected.quarantined),
        "client_instances": len(expected.instances),
    }
    for table, count in counts.items():
        print(f"{table:18} {count:13}  {differences.get(table, 'each exactly once')}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
