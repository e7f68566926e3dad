"""Write Spark's classes as a JVM keeps them into a file that later drivers map.

A driver of Spark reads and checks some twenty thousand classes, which is most of what a
short command takes. Java can keep those that one driver had (class data sharing).

`python -m pipelines.commands.submit.spark_classes JAVA` writes it where it is missing,
as the set-up does; without the file everything works, and begins later.
"""

import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.delta_tables.setup import ensure_tables
from pipelines.reading import views
from pipelines.settings.loading import CONF_PATH, load_settings
from pipelines.tables.contract import CONTRACTS

from .arguments import Installation

_WORK = """
from pipelines.commands.submit.spark_classes import load_classes
load_classes(spark, {folder!r})
"""


def load_classes(spark: SparkSession, folder: str) -> None:
    """Let Spark load what commands need: make tables, write, merge and read them."""
    settings = load_settings("local", [f"tables.root_path={folder}"])
    ensure_tables(spark, settings.tables, [*CONTRACTS])
    for name in views.register(spark, settings):
        spark.table(name).limit(1).collect()


def record(installation: Installation) -> str:
    """Write the file by a driver of its own, which takes half a minute.

    Returns: What became of it, beginning with `kept` where it is there.
    """
    path = installation.archive
    if path.exists():
        return f"kept already: {path}"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder, path.name)
        written = shlex.quote(f"-XX:ArchiveClassesAtExit={part}")
        conf = f"spark.driver.extraJavaOptions={written} -Xlog:disable"
        # The JVM has the output, too, and outlives the command: it is read to its end.
        done = subprocess.run(
            [installation.python, "-P", "-m", "pipelines", "shell", "--conf", conf],
            input=_WORK.format(folder=f"{folder}/tables"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if not part.exists():
            return f"{done.stdout}\nnot kept: exit code {done.returncode}"
        shutil.move(part, path)
    return f"kept: {path}"


if __name__ == "__main__":
    made = Installation(root=CONF_PATH.parent, python=sys.executable, java=sys.argv[1])
    print(record(made))
