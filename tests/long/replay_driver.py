"""A process that replays a range and, if told so, kills itself at one point of it.

Usage: python replay_driver.py FOLDER SERVERS TOPIC FROM TO LIMIT POINT OCCURRENCE

At POINT (its OCCURRENCE-th time) its whole process group, Python and JVM, dies by
SIGKILL. POINT `never` lets it end by itself.
"""

import os
import signal
import sys

from pipelines.jobs.replay import job as replay_pushes
from pipelines.jobs.replay import results as replay_results
from pipelines.time_ranges import TimeRange, parse_moment
from tests.support.jobs.job_support import make_settings
from tests.support.spark.local_session import start_quick_session


def main(folder, servers, topic, start, end, limit, point, occurrence):
    remaining = int(occurrence)

    def observe(reached):
        nonlocal remaining
        print(f"reached {reached}", flush=True)
        if reached == point:
            remaining -= 1
            if remaining == 0:
                # Leader and only the driver's own: the JVM is in this group, too.
                os.killpg(os.getpid(), signal.SIGKILL)

    settings = make_settings(
        servers, topic, folder, f"replay_pushes.max_pushes_per_commit={limit}"
    )
    spark = start_quick_session(
        f"{folder}/warehouse", "--conf", f"spark.local.dir={folder}/spark"
    )
    span = TimeRange(parse_moment(start), parse_moment(end))
    result = replay_pushes.run(spark, settings, span, observer=observe)
    print(replay_results.format_result(result, span, is_dry_run=False), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
