"""Whether `direct` knows what it finds: Spark, Delta, and the features of tables."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from pipelines.tables.contract import TableContract

KNOWN_SPARK, KNOWN_DELTA = "4.2.0", "4.4.0"
"""The versions whose private classes are called here."""
KNOWN_SCHEMES = frozenset({"file", "hdfs", "s3a", "abfs", "abfss", "gs"})
"""File systems: of this machine, HDFS, and object stores."""
KNOWN_FEATURES = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "deletionVectors",
        "generatedColumns",
        "invariants",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
"""Features of tables that do not matter to a writer of files by being there."""
UNKNOWN_PROPERTIES = (
    "delta.constraints.",
    "delta.columnMapping.mode",
    "delta.enableIcebergCompatV",
)
"""Table properties, by their beginnings, of what only Delta's writer can do."""
UNKNOWN_IN_SCHEMA = (
    "delta.generationExpression",
    "delta.identity.",
    "delta.invariants",
    "CURRENT_DEFAULT",
)
"""The same in the metadata of columns."""
_FEATURE = "delta.feature."


def find_misfit(
    spark: SparkSession,
    contracts: Sequence[TableContract],
    names: Mapping[str, str],
    locations: Mapping[str, str],
) -> str | None:
    """Return why the tables are not to be written directly.

    Args:
        names: SQL identifiers of the tables, by contract name.
        locations: Their folders.
    Nulls: None where they may.
    """
    if spark.version != KNOWN_SPARK:
        return f"Spark is {spark.version}, and it knows {KNOWN_SPARK}"
    delta = _read_delta_version(spark)
    if delta != KNOWN_DELTA:
        return f"Delta is {delta or 'of another build'}, and it knows {KNOWN_DELTA}"
    for contract in contracts:
        scheme = urlsplit(locations[contract.name]).scheme or "file"
        if scheme not in KNOWN_SCHEMES:
            return f"table {contract.name} is on a file system {scheme}"
        unknown = _find_unknown(spark, names[contract.name])
        if unknown is not None:
            return f"table {contract.name} has {unknown}"
    return None


def _read_delta_version(spark: SparkSession) -> str | None:
    """Return the version of the jar; Python's package may be of another."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Delta's Python does not know its jar
    package: Any = getattr(jvm.io.delta, "package$", None)
    # py4j takes a class that is not there for one more package.
    if package is None or not hasattr(package, "MODULE$"):
        return None
    return str(getattr(package, "MODULE$").VERSION())


def _find_unknown(spark: SparkSession, table: str) -> str | None:
    rows = spark.sql(f"SHOW TBLPROPERTIES {table}").collect()
    for row in rows:
        name, value = row["key"], row["value"]
        if name.startswith(UNKNOWN_PROPERTIES) and value not in {"none", "false"}:
            return str(name)
        feature = name.removeprefix(_FEATURE)
        if feature != name and feature not in KNOWN_FEATURES:
            return f"the feature {feature}"
    return _find_unknown_column(spark, table)


def _find_unknown_column(spark: SparkSession, table: str) -> str | None:
    for field in spark.table(table).schema.fields:
        for key in field.metadata:
            if key.startswith(UNKNOWN_IN_SCHEMA):
                return f"{key} of {field.name}"
    return None
