"""Delta tables through Delta Kernel's Java API: transactions, files, appends.

The only module that calls Delta Kernel. Kernel appends files that our workers wrote,
without a Spark plan. Kernel itself refuses tables that need more than their files, such
as CHECK constraints, generated columns and identity columns. `find_misfit` names what
Kernel accepts although only Spark fills it in.

References: Delta Kernel user guide, release 4.4.0. The guide makes the iterators that
Kernel takes with `io.delta.kernel.internal.util.Utils`, and so does this module.
"""

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache, cached_property, reduce
from typing import Any
from urllib.parse import unquote

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from .damaged_logs import gone_table
from .java_classes import find_class

MILLISECOND_NS = 1_000_000
UNFIT_PROPERTIES = (
    "delta.columnMapping.mode",
    "delta.enableIcebergCompatV",
    "delta.enableMaterializePartitionColumns",
)
"""Beginnings of table properties that change the names or columns in data files."""
COLUMN_DEFAULT = "CURRENT_DEFAULT"
"""Column metadata that Spark turns into values, and Kernel ignores."""
_ENGINE = "io.delta.kernel.defaults.engine.DefaultEngine"
_KERNEL = "io.delta.kernel"
_ENGINE_INFO = "kafka-clientele"
_EPOCH = date(1970, 1, 1)
_SPARK_LOG_STORE, _KERNEL_LOG_STORE = (
    "spark.delta.logStore.",
    "io.delta.kernel.logStore.",
)
_S3_SCHEMES = ("s3", "s3a", "s3n")
_STORAGE = "spark.io.delta."
"""Spark settings that Delta's log stores read from Hadoop's configuration."""

_FITTING: set[tuple[str, int, int]] = set()
"""Location and hashes of metadata without a misfit; py4j is slow with large answers."""
_SCHEMAS: dict[tuple[str, int], StructType] = {}
"""Location and hash of a schema to the schema."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One data file of a table version."""

    path: str
    """Absolute path as a URI without escapes."""
    has_vector: bool
    """Whether a deletion vector removes some of its rows."""
    size: int
    """Bytes."""
    row_count: int | None
    """Rows, as the statistics state; None if they do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedFile:
    """One stored file that an append adds to a table."""

    path: str
    """Relative to the table's directory."""
    size: int
    """Bytes."""
    statistics: str
    """JSON, as an add action has it."""
    partition: Mapping[str, date] = field(default_factory=dict)
    """Partition column to date."""


Bounds = Mapping[str, tuple[int, int]]
"""Timestamp column to its lowest and highest value, microseconds since 1970."""


class KernelTable:
    """One table at its newest version."""

    def __init__(self, spark: SparkSession, name: str, location: str) -> None:
        """Load the newest version.

        Args:
            spark: Session whose JVM and Hadoop configuration Kernel uses.
            name: Contract name, for messages.
            location: URI of the table's directory.

        Raises:
            MissingTable: if the directory has no Delta log.
        """
        self._jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other way to Java
        self._engine = _find_engine(spark.sparkContext)
        self._snapshot = self._load(name, location)
        # With its scheme, which Kernel needs to make paths relative.
        self._location = str(self._snapshot.getPath()).rstrip("/")
        self.version = int(self._snapshot.getVersion())

    def _load(self, name: str, location: str) -> Any:  # noqa: ANN401 - a Java object
        manager = find_class(self._jvm, f"{_KERNEL}.TableManager")
        try:
            return manager.loadSnapshot(location).build(self._engine)
        except Py4JJavaError as error:
            if _name(error) == "TableNotFoundException":
                raise gone_table(name, location) from None
            raise

    def read_transaction(self, app_id: str) -> int:
        """Return the newest transaction version of an application, or -1."""
        found = self._snapshot.getLatestTransactionVersion(self._engine, app_id)
        return int(found.get()) if found.isPresent() else -1

    def read_schema(self) -> StructType:
        """Return the table's columns."""
        schema = self._snapshot.getSchema()
        place = self._location, schema.hashCode()
        if place not in _SCHEMAS:
            _SCHEMAS[place] = StructType.fromJson(json.loads(schema.toJson()))
        return _SCHEMAS[place]

    def find_misfit(self) -> str | None:
        """Return the feature that files of ours cannot serve; None if there is none."""
        metadata = (
            self._location,
            self._snapshot.getSchema().hashCode(),
            self._snapshot.getTableProperties().hashCode(),
        )
        if metadata not in _FITTING:
            if misfit := self._look_for_misfit():
                return misfit
            _FITTING.add(metadata)
        return None

    def _look_for_misfit(self) -> str | None:
        for name, value in dict(self._snapshot.getTableProperties()).items():
            is_off = value in {"none", "false"}
            if name.startswith(UNFIT_PROPERTIES) and not is_off:
                return str(name)
        for column in json.loads(self._snapshot.getSchema().toJson())["fields"]:
            if COLUMN_DEFAULT in column.get("metadata", {}):
                return f"{COLUMN_DEFAULT} of {column['name']}"
        try:
            self._begin().build(self._engine)
        except Py4JJavaError as error:
            return str(error.java_exception.getMessage())
        except PySparkException as error:
            return str(error.getMessage())
        return None

    @cached_property
    def files(self) -> list[DataFile]:
        """All data files."""
        return self.list_files({})

    def list_files(self, bounds: Bounds) -> list[DataFile]:
        """Return the data files that may have rows within bounds.

        Args:
            bounds: Files whose statistics exclude these values are omitted.
        """
        scan = self._snapshot.getScanBuilder()
        within = [
            self._compare(name, sign, value)
            for name, (lowest, highest) in bounds.items()
            for sign, value in ((">=", lowest - 1), ("<=", highest + 1))
        ]
        if within:
            both = find_class(self._jvm, f"{_KERNEL}.expressions.And")
            scan = scan.withFilter(reduce(both, within))
        return list(self._iter_files(scan.build().getScanFiles(self._engine, True)))

    def _compare(self, name: str, sign: str, micros: int) -> Any:  # noqa: ANN401 - a Java object
        expressions = f"{_KERNEL}.expressions"
        column = find_class(self._jvm, f"{expressions}.Column")(name)
        literal = find_class(self._jvm, f"{expressions}.Literal").ofTimestamp(micros)
        return find_class(self._jvm, f"{expressions}.Predicate")(sign, column, literal)

    def _iter_files(self, batches: Any) -> Iterator[DataFile]:  # noqa: ANN401 - a Java iterator
        places: dict[str, int] = {}
        while batches.hasNext():
            rows = batches.next().getRows()
            while rows.hasNext():
                add = rows.next().getStruct(0)
                if not places:
                    names = list(add.getSchema().fieldNames())
                    places = {name: place for place, name in enumerate(names)}
                yield self._read_file(add, places)

    def _read_file(self, add: Any, places: Mapping[str, int]) -> DataFile:  # noqa: ANN401 - a Java row
        path = unquote(add.getString(places["path"]))
        is_absolute = ":" in path.partition("/")[0] or path.startswith("/")
        statistics = None
        if not add.isNullAt(places["stats"]):
            statistics = json.loads(add.getString(places["stats"]))
        return DataFile(
            path=path if is_absolute else f"{self._location}/{path}",
            has_vector=not add.isNullAt(places["deletionVector"]),
            size=int(add.getLong(places["size"])),
            row_count=None if statistics is None else statistics.get("numRecords"),
        )

    def append(
        self,
        files: Iterable[AddedFile],
        *,
        app_id: str,
        version: int,
        is_exact: bool = False,
    ) -> None:
        """Add stored files in one commit.

        Args:
            files: Read once.
            app_id: Application ID of the transaction.
            version: Transaction version.
            is_exact: Whether to commit only as the version after this one. Otherwise
                Kernel commits after the appends and changes of other writers.

        Raises:
            Py4JJavaError: an exception of Kernel; see retry.CONFLICTS.
        """
        builder = self._begin().withTransactionId(app_id, version)
        if is_exact:
            builder = builder.withMaxRetries(0)
        transaction = builder.build(self._engine)
        state = transaction.getTransactionState(self._engine)
        schema = transaction.getSchema(self._engine)
        actions = find_class(self._jvm, "java.util.ArrayList")()
        appender = find_class(self._jvm, f"{_KERNEL}.Transaction")
        for partition, group in _group(files).items():
            context = appender.getWriteContext(
                self._engine, state, self._literals(partition)
            )
            listed = self._iterate(self._status(file, schema) for file in group)
            made = appender.generateAppendActions(self._engine, state, listed, context)
            while made.hasNext():
                actions.add(made.next())
        rows = find_class(self._jvm, f"{_KERNEL}.utils.CloseableIterable")
        result = transaction.commit(
            self._engine, rows.inMemoryIterable(self._as_closeable(actions))
        )
        for hook in result.getPostCommitHooks():
            self._run_hook(hook)

    def _begin(self) -> Any:  # noqa: ANN401 - a Java object
        operation = find_class(self._jvm, f"{_KERNEL}.Operation").STREAMING_UPDATE
        return self._snapshot.buildUpdateTableTransaction(_ENGINE_INFO, operation)

    def _literals(self, partition: Sequence[tuple[str, date]]) -> Any:  # noqa: ANN401 - a Java map
        literal = find_class(self._jvm, f"{_KERNEL}.expressions.Literal")
        values = find_class(self._jvm, "java.util.HashMap")()
        for name, value in partition:
            values.put(name, literal.ofDate((value - _EPOCH).days))
        return values

    def _status(self, file: AddedFile, schema: Any) -> Any:  # noqa: ANN401 - Java objects
        statistics = find_class(
            self._jvm, f"{_KERNEL}.statistics.DataFileStatistics"
        ).deserializeFromJson(file.statistics, schema)
        return find_class(self._jvm, f"{_KERNEL}.utils.DataFileStatus")(
            f"{self._location}/{file.path}",
            file.size,
            time.time_ns() // MILLISECOND_NS,
            statistics,
        )

    def _iterate(self, made: Iterable[Any]) -> Any:  # noqa: ANN401 - a Java iterator
        collected = find_class(self._jvm, "java.util.ArrayList")()
        for one in made:
            collected.add(one)
        return self._as_closeable(collected)

    def _as_closeable(self, collected: Any) -> Any:  # noqa: ANN401 - Java objects
        utils = find_class(self._jvm, f"{_KERNEL}.internal.util.Utils")
        return utils.toCloseableIterator(collected.iterator())

    def _run_hook(self, hook: Any) -> None:  # noqa: ANN401 - a Java object
        """Write a checkpoint or a checksum file; the commit stands without it."""
        try:
            hook.threadSafeInvoke(self._engine)
        except Py4JJavaError as error:
            _logger.info(
                "Skipped %s of %s: %s", hook.getType(), self._location, _name(error)
            )


def is_available(spark: SparkSession) -> bool:
    """Return whether the session's JVM has Delta Kernel."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other way to Java
    # py4j takes an unknown class for one more package.
    return isinstance(find_class(jvm, _ENGINE), JavaClass)


@cache
def _find_engine(context: SparkContext) -> Any:  # noqa: ANN401 - a Java object
    """Return the engine of the context's JVM, which uses its Hadoop file systems."""
    jvm: Any = context._jvm  # noqa: SLF001 - pyspark has no other way to Java
    hadoop = context._jsc.hadoopConfiguration()  # noqa: SLF001 - the same
    configuration = find_class(jvm, "org.apache.hadoop.conf.Configuration")(hadoop)
    for name, value in context.getConf().getAll():
        if name.startswith(_STORAGE):
            configuration.set(name, value)
        if name.startswith(_SPARK_LOG_STORE):
            for kernel_name in _name_log_stores(name.removeprefix(_SPARK_LOG_STORE)):
                configuration.set(kernel_name, value)
    return find_class(jvm, _ENGINE).create(configuration)


def _name_log_stores(setting: str) -> list[str]:
    """Return Kernel's settings for one of Spark's: `class` or `SCHEME.impl`."""
    if setting.endswith(".impl"):
        return [f"{_KERNEL_LOG_STORE}{setting}"]
    return [f"{_KERNEL_LOG_STORE}{scheme}.impl" for scheme in _S3_SCHEMES]


def _group(
    files: Iterable[AddedFile],
) -> dict[tuple[tuple[str, date], ...], list[AddedFile]]:
    """Return the files of each partition."""
    groups: dict[tuple[tuple[str, date], ...], list[AddedFile]] = {}
    for file in files:
        groups.setdefault(tuple(file.partition.items()), []).append(file)
    return groups


def _name(error: Py4JJavaError) -> str:
    return str(error.java_exception.getClass().getSimpleName())
