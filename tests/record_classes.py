"""Write the file of Spark's classes that the drivers of the tests map, once.

Usage: python tests/record_classes.py

Does in one driver what most tests do, so that its classes are loaded when the JVM ends
and writes them: a job over a real Kafka, a merge, queries. Does nothing where the file
stands already.
"""

import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from pipelines.reading import views  # noqa: E402 - path
from tests.support.jobs import job_support  # noqa: E402 - path
from tests.support.spark.class_archive import (  # noqa: E402 - path
    archive_path,
    find_java,
    words_with,
)
from tests.support.spark.local_session import start_session  # noqa: E402 - path

END_TIMEOUT_S = 300
"""The JVM writes 200 MB when it ends."""
TOPIC = "telemetry"


def work(spark, servers, folder):
    """Let the job write and merge; ask for its tables and views."""
    settings = job_support.make_settings(servers, TOPIC, folder)
    job_support.create_topic(servers, TOPIC)
    producer = job_support.PushProducer(servers, TOPIC)
    producer.send(20)
    job_support.run_once(spark, settings)
    expected = producer.expected
    assert job_support.find_differences(spark, settings, expected) == {}
    for name in views.register(spark, settings):
        spark.table(name).limit(5).collect()


def record(path):
    """Run a driver that writes the file when it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    folder = Path(tempfile.mkdtemp(prefix="record-classes-"))
    try:
        with EmbeddedKafka(java=find_java()) as kafka:
            words = words_with(f"-XX:ArchiveClassesAtExit={part}")
            spark = start_session(folder / "warehouse", *words)
            work(spark, kafka.bootstrap_servers, folder)
            driver = spark.sparkContext._gateway.proc
            spark.stop()
            # Errors that pyspark caught keep their callers' producer, in a cycle.
            gc.collect()
        # The JVM ends with its standard input.
        driver.stdin.close()
        assert driver.wait(END_TIMEOUT_S) == 0
        # Others are of another Java or of older jars, and 200 MB each.
        for older in {*path.parent.iterdir()} - {part}:
            older.unlink()
        if part.exists():
            part.rename(path)
        else:
            print("this Java keeps no archive of classes: tests start slower")
    finally:
        part.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    """Write it where it is missing."""
    path = archive_path()
    if path.exists():
        return
    print("recording Spark's classes, once", flush=True)
    record(path)


if __name__ == "__main__":
    main()
