"""Where a table is, as the SQL identifier that every statement uses."""

from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from pipelines.settings.records import TableSettings
from pipelines.tables.contract import TableContract

from .damaged_logs import LOG_FOLDER, NO_TABLE, gone_table
from .java_classes import find_class

_MISSING = {
    *NO_TABLE,
    "PATH_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
    "TABLE_OR_VIEW_NOT_FOUND",
}
"""Error conditions that say: there is no such table, by its place or its name."""


def qualify_path(spark: SparkSession, path: str) -> str:
    """Return a path with its file system, relative ones resolved as Spark does."""
    file_system, made = open_path(spark, path)
    return str(file_system.makeQualified(made).toString())


def open_path(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return the Hadoop file system of a path, and the path as Hadoop has it."""
    context = spark.sparkContext
    jvm: Any = context._jvm  # noqa: SLF001 - pyspark has no other door to Hadoop
    configuration = context._jsc.hadoopConfiguration()  # noqa: SLF001 - the same
    made = find_class(jvm, "org.apache.hadoop.fs.Path")(path)
    return made.getFileSystem(configuration), made


def identify_table(
    spark: SparkSession, tables: TableSettings, contract: TableContract
) -> str:
    """Return the quoted SQL identifier of a path table or of a catalog table."""
    if tables.catalog_schema:
        return f"{identify_schema(tables)}.{_quote(contract.name)}"
    return f"delta.{_quote(locate_path_table(spark, tables, contract))}"


def identify_schema(tables: TableSettings) -> str:
    """Return the quoted SQL identifier of the schema of catalog tables."""
    return ".".join(map(_quote, tables.catalog_schema.split(".")))


def locate_path_table(
    spark: SparkSession, tables: TableSettings, contract: TableContract
) -> str:
    """Return the folder of a table that no catalog knows."""
    root = qualify_path(spark, tables.root_path).rstrip("/")
    return f"{root}/{contract.name}"


def find_table_folder(
    spark: SparkSession, tables: TableSettings, contract: TableContract
) -> str | None:
    """Return the folder of a table that there is.

    Nulls: None where its catalog does not tell.
    """
    if not tables.catalog_schema:
        return locate_path_table(spark, tables, contract)
    table = identify_table(spark, tables, contract)
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    described = {row["col_name"]: row["data_type"] for row in rows}
    return described.get("Location")


def find_local_path(spark: SparkSession, location: str) -> str | None:
    """Return the path of a folder on a disk of this machine; None for another one."""
    file_system, path = open_path(spark, location)
    is_local = file_system.getUri().getScheme() == "file"
    return str(path.toUri().getPath()) if is_local else None


def has_table(spark: SparkSession, table: str) -> bool:
    """Say whether there is a table; a folder without a Delta log is none."""
    try:
        spark.table(table)
    except AnalysisException as error:
        if error.getCondition() in _MISSING:
            return False
        raise
    return True


def check_is_there(spark: SparkSession, name: str, location: str) -> None:
    """Refuse a folder that is no table any more; files in it would belong to none.

    Args:
        name: Of the table.
        location: Its folder.
    Raises: MissingTable.
    """
    file_system, log = open_path(spark, f"{location}/{LOG_FOLDER}")
    if not file_system.exists(log):
        raise gone_table(name, location)


def _quote(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
