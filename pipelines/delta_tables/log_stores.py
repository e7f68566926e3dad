"""Who may commit to a table at the same time, by the file system of its log.

Delta commits a version by making a file that must not be there yet. HDFS, Azure and
Google do that for all drivers; to S3 Delta's own store does it within one driver only,
and of two drivers the later replaces what the earlier has committed.

Source: Delta's DelegatingLogStore and io.delta.storage, release 4.4.0.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

_ONE_DRIVER = frozenset({"s3", "s3a", "s3n"})
"""Schemes whose store by default lets one driver write alone."""
_FOR_ALL, _FOR_SCHEME = "spark.delta.logStore.class", "spark.delta.logStore.{}.impl"
_DEFAULT = "io.delta.storage.S3SingleDriverLogStore"
_FOR_DRIVERS = "io.delta.storage.S3DynamoDBLogStore"


def find_limit(spark: SparkSession, locations: Iterable[str]) -> str | None:
    """Return in a sentence who may write to tables; None where anybody may.

    Args:
        locations: Folders of tables.
    """
    for scheme in sorted({urlsplit(one).scheme for one in locations} & _ONE_DRIVER):
        name = _FOR_SCHEME.format(scheme)
        store = spark.conf.get(name, None) or spark.conf.get(_FOR_ALL, None) or _DEFAULT
        if store == _DEFAULT:
            return (
                f"tables on {scheme}: are safe from one driver at a time alone: run no "
                f"other job or maintenance beside this one, or let all of them have "
                f"--conf {name}={_FOR_DRIVERS}"
            )
    return None
