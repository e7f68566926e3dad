"""The session of the tests: what `spark-submit.sh` would start, on this machine."""

import os
import sys

from pipelines.commands.session import INTERPRETED, start_own_session
from tests.support.spark.class_archive import driver_words


def start_session(warehouse, *words):
    """Start Spark as a command does; catalog tables live under `warehouse`."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("KAFKA_CLIENTELE_DETAILS", os.devnull)
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
        os.environ,
    )


def start_quick_session(warehouse, *words):
    """Start Spark with a JVM that soon does what is asked, and does not last."""
    return start_session(warehouse, *driver_words(), *words)
