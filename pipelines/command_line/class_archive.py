"""Spark's classes as a JVM keeps them: the first short session records, others map.

A driver of Spark reads and checks some twenty thousand classes, which takes longer than
most of what a query asks of it. Java maps classes of the class path only, so the jars
that spark-submit would add later stand on it, too.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pipelines.embedded.cache import ArchiveRecording, EmbeddedCache, cache_key

from .submit import Installation, find_spark_home, is_local

# A session of minutes uses little memory, and a collector with threads costs more than
# it gains; what the JVM would say of a file that it cannot map helps nobody.
_LEAN = ("-XX:+UseSerialGC", "-Xlog:disable")
_TOUCHY = (
    *("--driver-class-path", "--driver-java-options", "--jars", "--packages"),
    *("--properties-file", "extraClassPath", "extraJavaOptions", "spark.jars"),
)
"""What stands in options of the user's that decide on the class path or the JVM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassArchive:
    """The file of classes, and the right to write it where there is none."""

    words: tuple[str, ...] = ()
    """Options of spark-submit that map or record it."""
    recording: ArchiveRecording | None = None


@contextmanager
def opened_archive(
    installation: Installation, spark_words: Sequence[str], *, java: str | None
) -> Iterator[ClassArchive]:
    """Find the file for one session; what was not recorded to its end is removed.

    Args:
        installation: Where this copy of the product stands.
        spark_words: The user's own options.
        java: Program that runs Java; None: nobody has looked for it.
    Returns: No words where the user's options say what the JVM loads, and how, or
        where no file can be kept.
    """
    is_told = any(mark in word for word in spark_words for mark in _TOUCHY)
    if java is None or is_told or not is_local(spark_words):
        yield ClassArchive()
        return
    jars = [*installation.jars, *sorted((find_spark_home() / "jars").glob("*.jar"))]
    folder = installation.cache / "spark_classes"
    try:
        cache = EmbeddedCache(folder, cache_key(java, jars))
        recording = cache.start_recording()
    except OSError:
        # A checkout that nobody may write to starts as slowly as ever.
        yield ClassArchive()
        return
    options = recording.arguments() if recording else cache.archive_arguments()
    try:
        yield ClassArchive(
            words=(
                *("--driver-class-path", os.pathsep.join(map(str, installation.jars))),
                "--conf",
                f"spark.driver.extraJavaOptions={' '.join([*_LEAN, *options])}",
            ),
            recording=recording,
        )
    except BaseException:
        if recording:
            recording.abandon()
        raise
