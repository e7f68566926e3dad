"""Settings of a Spark session, for a while."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def session_settings(
    spark: SparkSession, settings: Mapping[str, str]
) -> Iterator[None]:
    """Set what the session has otherwise, and put back what it had.

    Args:
        spark: The session; one that others share at the same time sees the settings.
        settings: Names to values.
    """
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, known)
