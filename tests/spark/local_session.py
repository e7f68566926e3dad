"""The session of the tests: what `spark-submit.sh` would start, on this machine."""

import os
import sys

from pipelines.__main__ import INTERPRETED, start_own_session


def start_session(warehouse, *words):
    """Start Spark as a command does; catalog tables live under `warehouse`."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return start_own_session(
        "tests",
        [
            "--master",
            "local[2]",
            "--conf",
            f"spark.sql.warehouse.dir={warehouse}",
            *INTERPRETED,
            *words,
        ],
    )
