"""Write Spark's classes as a JVM keeps them into a file that later drivers map.

A driver of Spark reads and checks some thirteen thousand classes, which is most of what
a short command takes. Java can keep those that one driver had (class data sharing).

`python -m pipelines.commands.submit.spark_classes FILE` writes it, as the set-up does;
without the file everything works, and begins later.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.delta_tables.setup import ensure_tables
from pipelines.reading import views
from pipelines.settings.loading import load_settings
from pipelines.tables.telemetry import TELEMETRY_CONTRACTS

_WORK = """
from pipelines.commands.submit.spark_classes import load_classes
load_classes(spark, {folder!r})
"""


def load_classes(spark: SparkSession, folder: str) -> None:
    """Let Spark load what commands need: make tables and read them."""
    settings = load_settings("local", [f"tables.root_path={folder}"])
    ensure_tables(spark, settings.tables, [*TELEMETRY_CONTRACTS])
    for name in views.register(spark, settings):
        spark.table(name).limit(1).collect()


def record(path: Path) -> str:
    """Write the file by a driver of its own, which takes half a minute.

    Returns: What became of it.
    """
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder, path.name)
        written = shlex.quote(f"-XX:ArchiveClassesAtExit={part}")
        conf = f"spark.driver.extraJavaOptions={written} -Xlog:disable"
        # The JVM has the output, too, and outlives the command: it is read to its end.
        done = subprocess.run(
            [sys.executable, "-P", "-m", "pipelines", "shell", "--conf", conf],
            input=_WORK.format(folder=f"{folder}/tables"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if not part.exists():
            return f"{done.stdout}\nnot kept: exit code {done.returncode}"
        # For all who may use the packages; it holds nothing of anybody's.
        os.umask(mask := os.umask(0o077))
        part.chmod(0o644 & ~mask)
        shutil.move(part, path)
    return f"kept: {path}"


def main() -> None:
    """Write it, or say why not: whatever that is, commands do without."""
    try:
        print(record(Path(sys.argv[1])))
    except Exception:  # noqa: BLE001 - a full disk, a limit of the system
        traceback.print_exc()


if __name__ == "__main__":
    main()
