"""A run of maintenance that kills itself at a point where none has ended before.

Usage: python maintain_driver.py ROOT_PATH TABLES (never | [POINT …])

TABLES are names, comma-separated; empty: all.

The points are those where earlier runs have ended. At the first other one Python and
JVM die by SIGKILL, and it is told on standard output as `reached POINT`. A run without
such a point, or with `never`, ends by itself.
"""

import os
import signal
import sys
from pathlib import Path

from pipelines.commands.maintain_tables import list_ledgers
from pipelines.jobs.maintain import job
from pipelines.jobs.maintain.context import Request
from tests.support.spark.aged_tables import settings_of
from tests.support.spark.local_session import start_quick_session


def main(root_path, tables, *seen):
    def observe(point):
        if point not in seen and "never" not in seen:
            print(f"reached {point}", flush=True)
            # The JVM is in this group, too.
            os.killpg(os.getpid(), signal.SIGKILL)

    spark = start_quick_session(Path(root_path).parent / "warehouse")
    job.run(
        spark,
        settings_of(root_path),
        Request(tables=[one for one in tables.split(",") if one]),
        ledgers=list_ledgers(),
        say=print,
        observer=observe,
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
