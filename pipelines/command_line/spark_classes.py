"""Write Spark's classes as a JVM keeps them into a file that later drivers map.

A driver of Spark reads and checks some twenty thousand classes, which is most of what a
short command takes. Java can keep those that one driver had (class data sharing).

`python -m pipelines.command_line.spark_classes` writes the file where it is missing; the
set-up does that.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.delta_tables.setup import ensure_tables
from pipelines.reading import views
from pipelines.settings.loading import CONF_PATH, load_settings
from pipelines.tables.contract import CONTRACTS

from .submit import Installation

_WORK = """
from pipelines.command_line.spark_classes import load_classes
load_classes(spark, {folder!r})
"""


def load_classes(spark: SparkSession, folder: str) -> None:
    """Let Spark load what commands need: make tables, write, merge and read them."""
    settings = load_settings("local", [f"tables.root_path={folder}"])
    ensure_tables(spark, settings.tables, [*CONTRACTS])
    for name in views.register(spark, settings):
        spark.table(name).limit(1).collect()


def record(installation: Installation) -> bool:
    """Write the file by a driver of its own, which takes half a minute.

    Returns: Whether this Java keeps such files.
    Raises: CalledProcessError.
    """
    path = installation.archive
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        part = Path(folder, path.name)
        options = f'"-XX:ArchiveClassesAtExit={part}" -Xlog:disable'
        conf = f"spark.driver.extraJavaOptions={options}"
        # The JVM has the output, too, and outlives the command: it is read to its end.
        done = subprocess.run(
            [installation.python, "-P", "-m", "pipelines", "shell", "--conf", conf],
            input=_WORK.format(folder=f"{folder}/tables"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        print(done.stdout)
        if not part.exists():
            return False
        part.rename(path)
    return True


if __name__ == "__main__":
    record(
        Installation(
            root=CONF_PATH.parent,
            python=sys.executable,
            java=os.environ["KAFKA_CLIENTELE_JAVA"],
        )
    )
