"""Spark's classes as a JVM keeps them, in a file that the tests' JVMs map.

As `pipelines.commands.submit.spark_classes`, but of all that tests do: jobs over Kafka,
merges, queries. `tests/record_classes.py` writes the file; where it is missing the tests
are as good, and slower.
"""

import os
import shutil
from pathlib import Path

from pipelines.commands.submit.arguments import find_spark_home
from pipelines.embedded.cache import cache_key
from pipelines.settings import CONF_PATH

# Resolved: several checkouts may share it.
CACHE_PATH = (CONF_PATH.parent / ".cache").resolve()
# Drivers of tests use little memory, and a collector with threads costs more than it
# gains; what the JVM would say of a file that it cannot map is no output of a test.
LEAN = ("-XX:+UseSerialGC", "-Xlog:disable")


def find_java():
    """Return the program that Spark's own scripts start."""
    home = os.environ.get("JAVA_HOME", "")
    found = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    assert found is not None, "no Java"
    return found


def archive_path():
    """Return where the file stands: another place for another Java or other jars."""
    jars = [
        *sorted((CACHE_PATH / "jars" / "spark").glob("*.jar")),
        *sorted((find_spark_home() / "jars").glob("*.jar")),
    ]
    return CACHE_PATH / "test_classes" / f"{cache_key(find_java(), jars)}.jsa"


def driver_words(*java_options):
    """Return options of spark-submit for a driver of a test.

    Args:
        java_options: More of the JVM's options.
    """
    path = archive_path()
    mapped = [f"-XX:SharedArchiveFile={path}"] if path.exists() else []
    return words_with(*mapped, *java_options)


def words_with(*java_options):
    """Return the options of a driver that reads or writes such a file."""
    options = " ".join([*LEAN, *java_options])
    return ["--conf", f"spark.driver.extraJavaOptions={options}"]
