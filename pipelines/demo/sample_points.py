"""Telemetry of the sample fleet, written to Parquet files by Python workers.

Like the telemetry job, workers write Arrow columns to files, and one commit adds them
to each table. Rows of Spark would take about ten times as long.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines.delta_tables.layouts import layout_of
from pipelines.delta_tables.transactions import Transaction, persisted
from pipelines.delta_tables.writers import open_writer
from pipelines.settings.records import Settings
from pipelines.tables.contract import TableContract
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES
from udfs.files.daily_files import DailyFiles, days_of
from udfs.otlp.schema import DISTRIBUTION
from udfs.spark import ENCODED_TYPE, StoreFile, file_row
from udfs.spark_types import arrow_schema

from .sample_columns import TOPIC_PARTITIONS, Columns, Own, Row, Telemetry, describe
from .sample_fleet import Instance, SampleFleet
from .sample_series import list_series
from .sample_signals import Signals

Batches = Iterable[pa.RecordBatch]
_TASKS = 4
_INSTANCES_AT_ONCE = 32
"""Instances of one Arrow batch."""
_TYPES = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "MAP<STRING, STRING>": pa.map_(pa.string(), pa.string()),
}


def write_telemetry(
    spark: SparkSession,
    settings: Settings,
    fleet: SampleFleet,
    instances: Sequence[Instance],
) -> None:
    """Append the points and pushes of all instances."""
    contracts = (CLIENT_METRICS, CLIENT_PUSHES)
    writer = open_writer(spark, settings.tables, contracts)
    store = writer.find_store(spark, contracts)
    files = _schedule(spark, instances).mapInArrow(
        _write_files(instances, fleet.seed, store), ENCODED_TYPE
    )
    transaction = Transaction(query_id=str(uuid4()), batch_id=0)
    # Stored files must not be written twice.
    with persisted(files) if store is None else nullcontext():
        batch = writer.decode(files)
        for contract in contracts:
            writer.append(batch, contract, transaction)


def list_instance_rows(instances: Sequence[Instance]) -> list[Row]:
    """Return rows of client_instances."""
    rows = []
    for one in instances:
        times = one.push_times()
        if len(times):
            rows.append(
                describe(one)
                | {
                    "first_seen": one.first_push,
                    "push_interval_ms": int(one.push_intervals_ms(times)[-1]),
                    "terminated_at": one.last_push if one.is_terminated else None,
                }
            )
    return rows


def _schedule(spark: SparkSession, instances: Sequence[Instance]) -> DataFrame:
    """Return number and offsets of the pushes of each instance.

    Offsets follow the order of receipt, as in a topic.
    """
    times = [one.push_times() for one in instances]
    counts = [len(one) for one in times]
    numbers = np.repeat([one.number for one in instances], counts)
    received = np.concatenate(times)
    offsets = np.empty(len(received), np.int64)
    for partition in range(TOPIC_PARTITIONS):
        own = np.flatnonzero(numbers % TOPIC_PARTITIONS == partition)
        order = own[np.argsort(received[own], kind="stable")]
        offsets[order] = np.arange(len(order))
    ends = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    table = pa.table(
        {
            "number": pa.array([one.number for one in instances], pa.int32()),
            "offset": pa.ListArray.from_arrays(ends, pa.array(offsets)),
        }
    )
    return spark.createDataFrame(table).repartition(_TASKS, "number")


def _write_files(
    instances: Sequence[Instance], seed: int, store: StoreFile | None
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Return a function that writes files for the rows of a schedule."""
    rows_type = arrow_schema(ENCODED_TYPE)
    kinds = {one.name: _types_of(one) for one in (CLIENT_METRICS, CLIENT_PUSHES)}
    layouts = {one.name: layout_of(one) for one in (CLIENT_METRICS, CLIENT_PUSHES)}

    def write(batches: Batches) -> Iterator[pa.RecordBatch]:
        files = {name: DailyFiles(layout) for name, layout in layouts.items()}

        def ended() -> Iterator[Any]:
            for part in _read(batches, instances, seed):
                found = Telemetry(part)
                made = {
                    CLIENT_METRICS.name: found.make_points(),
                    CLIENT_PUSHES.name: found.make_pushes(),
                }
                for name, columns in made.items():
                    days = days_of(columns["received_at"])
                    whole = _with_nulls(columns, kinds[name])
                    yield from files[name].write(whole, days)
            for one in files.values():
                yield from one.end()

        for file in ended():
            row = file_row(file, store)
            yield pa.RecordBatch.from_pylist([row], schema=rows_type)

    return write


def _types_of(contract: TableContract) -> Mapping[str, pa.DataType]:
    """Return the Arrow type of each column that may be null throughout."""
    return {
        one.name: _TYPES.get(one.sql_type, DISTRIBUTION) for one in contract.columns
    }


def _read(
    batches: Batches, instances: Sequence[Instance], seed: int
) -> Iterator[list[Own]]:
    """Return the instances of some rows of a schedule that pushed, in parts."""
    part = []
    for batch in batches:
        for number, offset in zip(
            *(batch.column(name) for name in ("number", "offset")), strict=True
        ):
            one = instances[number.as_py() - 1]
            signals = Signals(one, one.push_times(), seed)
            if signals.count:
                series = list(list_series(signals))
                part.append(Own(one, signals, series, offset.values.to_numpy()))
            if len(part) == _INSTANCES_AT_ONCE:
                yield part
                part = []
    if part:
        yield part


def _with_nulls(columns: Columns, kinds: Mapping[str, pa.DataType]) -> Columns:
    """Return all columns of a table, with nulls for missing ones."""
    count = len(columns["push_id"])
    return {
        name: columns[name] if name in columns else pa.nulls(count, kind)
        for name, kind in kinds.items()
    }
