"""Replay a day of pushes beside the streaming job; then compare every bit.

Usage: python tests/long/replays.py [--pushes 200000] [--folder FOLDER] …

A real Apache Kafka and the job fill the tables with a day of pushes. Then rows are
altered, taken away and doubled as a decoder with faults would have it, and while the
job goes on with a micro-batch every 2 s, of pushes of the same day, the day is
replayed: once killed by -9 between two tables, then to its end, then once more, which
must find nothing. In the end all tables must equal, bit by bit, those of an undisturbed
run over the same topic.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.jobs.replay import job as replay_pushes  # noqa: E402 - path
from pipelines.jobs.replay import results as replay_results  # noqa: E402 - path
from pipelines.jobs.telemetry import job as client_telemetry_to_delta  # noqa: E402 - path
from pipelines.settings.secret_references import SecretReader  # noqa: E402 - path
from pipelines.streaming.run_stream import RunContext  # noqa: E402 - path
from pipelines.time_ranges import TimeRange, parse_moment  # noqa: E402 - path
from tests.support.jobs.bit_comparison import (  # noqa: E402 - path
    find_bit_differences,
)
from tests.support.jobs.job_support import (  # noqa: E402 - path
    create_topic,
    make_settings,
    run_once,
)
from tests.support.jobs.replay_support import (  # noqa: E402 - path
    YESTERDAY,
    Commits,
    DayOfPushes,
    Feed,
    damage,
)
from tests.support.kafka.java_home import find_java  # noqa: E402 - path

TOPIC = "pushes-to-replay"
DAY = (YESTERDAY.isoformat(), (YESTERDAY + timedelta(days=1)).isoformat())
SPAN = TimeRange(*map(parse_moment, DAY))
DRIVER = Path(__file__).with_name("replay_driver.py")
PATIENCE_S = 600
TRIGGER_MS = 2_000
FEED_PAUSE_S = 0.5
STREAMED_SHARE = 0.1
"""Share of the day's pushes, its last ones, that may come while it is replayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run showed."""

    first: replay_results.ReplayResult
    second: replay_results.ReplayResult
    commits: int
    """Micro-batches that were written while the replays ran."""
    is_stream_alive: bool
    differences: dict
    pushes: int


def run(spark, servers, folder, pushes, *, limit, feed_count, say=print):
    """Do all of it on one broker; return the outcome."""
    create_topic(servers, TOPIC)
    settings = make_settings(
        servers,
        TOPIC,
        folder,
        f"client_telemetry_to_delta.trigger_interval_ms={TRIGGER_MS}",
        f"replay_pushes.max_pushes_per_commit={limit}",
    )
    day = DayOfPushes(servers, TOPIC, pushes_a_day=pushes)
    day.send(int(pushes * (1 - STREAMED_SHARE)))
    began = time.monotonic()
    run_once(spark, settings)
    say(f"{day.sent} pushes written in {time.monotonic() - began:.0f} s")
    damage(spark, settings)
    commits = Commits()
    query = client_telemetry_to_delta.run(
        spark,
        settings,
        RunContext(secrets=SecretReader(environ={}), is_once=False, observer=commits),
    )
    feed = Feed(day, count=feed_count, pause_s=FEED_PAUSE_S)
    try:
        commits.wait_for_more(1, PATIENCE_S)
        before = commits.count
        _replay_until_killed(folder, servers, limit)
        say(
            f"killed after client_metrics; {commits.count - before} micro-batches so far"
        )

        def observe(point):
            # A commit of the stream lies between this one's look and its own commit.
            if point.startswith("before"):
                commits.wait_for_more(1, PATIENCE_S)

        first = replay_pushes.run(spark, settings, SPAN, observer=observe)
        say(replay_results.format_result(first, SPAN, is_dry_run=False))
        second = replay_pushes.run(spark, settings, SPAN)
        count = commits.count - before
        say(f"{count} micro-batches beside the replays")
    finally:
        feed.close()
    query.processAllAvailable()
    is_alive = query.isActive and query.exception() is None
    query.stop()
    reference = make_settings(servers, TOPIC, f"{folder}/reference")
    run_once(spark, reference)
    return Outcome(
        first=first,
        second=second,
        commits=count,
        is_stream_alive=is_alive,
        differences=find_bit_differences(spark, settings, reference, slices=8),
        pushes=day.sent,
    )


def _replay_until_killed(folder, servers, limit):
    """Replay in a process of its own that dies after its first commit."""
    words = [folder, servers, TOPIC, *DAY, limit, "after client_metrics", 1]
    done = subprocess.run(
        [sys.executable, str(DRIVER), *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == -signal.SIGKILL, done
    assert done.stdout.splitlines()[-1] == "reached after client_metrics"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pushes", type=int, default=200_000)
    parser.add_argument("--limit", type=int, default=50_000)
    parser.add_argument("--feed", type=int, default=50, help="pushes each half second")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    from tests.support.spark.local_session import start_quick_session

    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="replay-run-"))
    print(f"tables and checkpoints in {folder}")
    spark = start_quick_session(f"{folder}/warehouse")
    try:
        with EmbeddedKafka(java=find_java()) as kafka:
            outcome = run(
                spark,
                kafka.bootstrap_servers,
                folder,
                arguments.pushes,
                limit=arguments.limit,
                feed_count=arguments.feed,
            )
    finally:
        spark.stop()
    left = replay_results.describe(outcome.second.differences)
    print(f"once more: {left}")
    print(f"stream alive: {outcome.is_stream_alive}, {outcome.pushes} pushes in all")
    print(f"differences from an undisturbed run: {outcome.differences or 'none'}")
    is_right = outcome.is_stream_alive and not outcome.differences
    return 0 if is_right and left == "nothing differs" else 1


if __name__ == "__main__":
    sys.exit(main())
