"""Telemetry of the sample fleet, written to Parquet files by Python workers.

Like the telemetry job, workers write Arrow columns to files, and one commit adds them
to each table. Rows of Spark would take about ten times as long.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
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

from .sample_fleet import (
    AMSTERDAM,
    JAVA,
    MICROS,
    SOFTWARE_NAMES,
    Instance,
    Numbers,
    SampleFleet,
)
from .sample_signals import PREFIX, Series, SeriesKey, Signals, list_series

Row = dict[str, Any]
Columns = dict[str, pa.Array]
Batches = Iterable[pa.RecordBatch]
TOPIC, TOPIC_PARTITIONS = "clientele.telemetry", 6
BRIDGE_ID = "sample-bridge"
_DELAY_US = 400_000
"""From the time of a point to the receipt of its push."""
_NANOS_PER_MICRO = 1_000
_TASKS = 4
_NUMBERS = {"broker_id", "client_source_port"}
"""Columns of `describe` with integers."""
_TIME = pa.timestamp("us", "UTC")
_TYPES = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "MAP<STRING, STRING>": pa.map_(pa.string(), pa.string()),
}


@dataclass(frozen=True, slots=True)
class _Own:
    """Series of an instance, with the offsets of its records."""

    instance: Instance
    signals: Signals
    series: Sequence[Series]
    offsets: Numbers


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


def describe(one: Instance) -> Row:
    """Return the identity of an instance, by the columns that tables share."""
    is_proxied = one.cluster_id == AMSTERDAM
    return {
        "client_instance_id": one.client_instance_id,
        "client_id": one.client_id,
        "principal": one.principal,
        "client_type": one.client_type,
        "client_software_name": SOFTWARE_NAMES[one.family],
        "client_software_version": one.software_version,
        "client_source_address": one.address,
        "client_source_port": 40_000 + one.number % 20_000,
        "listener": "PROXY" if is_proxied else "PLAINTEXT",
        "bridge_id": BRIDGE_ID,
        "group_id": one.group_id,
        "group_member_id": f"{one.group_id}-{one.number}" if one.group_id else None,
        "transactional_id": one.transactional_id,
        "client_rack": one.rack,
        "cluster_id": one.cluster_id,
        "broker_id": 1 + one.number % 3 if is_proxied else None,
    }


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
            for own in _read(batches, instances, seed):
                there = np.stack([each.is_there for each in own.series], axis=1)
                made = {
                    CLIENT_METRICS.name: _make_points(own, there),
                    CLIENT_PUSHES.name: _make_pushes(own, there.sum(axis=1)),
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


def _read(batches: Batches, instances: Sequence[Instance], seed: int) -> Iterator[_Own]:
    """Return the instances of some rows of a schedule that pushed."""
    for batch in batches:
        for number, offset in zip(
            *(batch.column(name) for name in ("number", "offset")), strict=True
        ):
            one = instances[number.as_py() - 1]
            signals = Signals(one, one.push_times(), seed)
            if signals.count:
                series = list(list_series(signals))
                yield _Own(one, signals, series, offset.values.to_numpy())


def _make_pushes(own: _Own, point_counts: Numbers) -> Columns:
    """Return the columns of client_pushes, with empty bodies."""
    one, count = own.instance, own.signals.count
    interval = one.push_intervals_ms(own.signals.push_times)
    terminating = np.zeros(count, np.bool_)
    terminating[-1] = one.is_terminated
    return (
        _spread(describe(one), count)
        | _spread({"compression_type": "zstd", "decode_status": "ok"}, count)
        | _of_push(own, np.arange(count))
        | {
            "subscription_id": pa.array(np.ones(count, np.int32)),
            "push_interval_ms": pa.array(interval.astype(np.int32)),
            "terminating": pa.array(terminating),
            "point_count": pa.array(point_counts.astype(np.int32)),
            "body_bytes": pa.array(np.zeros(count, np.int32)),
            "body": pa.array([b""] * count, pa.binary()),
        }
    )


def _make_points(own: _Own, there: npt.NDArray[np.bool_]) -> Columns:
    """Return columns of client_metrics, push by push."""
    one, series = own.instance, own.series
    values = np.stack([each.values for each in series], axis=1)
    push, place = np.nonzero(there)
    whole = np.array([each.is_whole for each in series])[place]
    values = values[push, place]
    ahead_us = one.clock_ahead // timedelta(microseconds=1)
    time_us = own.signals.push_times - _DELAY_US + ahead_us
    has_start = np.array([each.key.kind == "sum" for each in series])[place]
    has_start |= one.family != JAVA
    labels = _list_labels([each.key for each in series])
    scope = None if one.family == JAVA else SOFTWARE_NAMES[one.family]
    said = describe(one) | {
        "scope_name": scope,
        "scope_version": one.software_version if scope else None,
    }
    own_index = (np.cumsum(there, axis=1) - 1)[push, place]
    return (
        _spread(said, len(push))
        | _of_push(own, push)
        | {name: _code(texts, place) for name, texts in labels.items()}
        | {
            "point_index": pa.array(own_index.astype(np.int32)),
            "value_double": pa.array(values, pa.float64(), mask=whole),
            "value_long": pa.array(
                np.where(whole, values, 0).astype(np.int64), pa.int64(), mask=~whole
            ),
            "is_monotonic": pa.array(
                np.ones(len(push), np.bool_),
                pa.bool_(),
                mask=pa.array(labels["kind"]).take(pa.array(place)).to_numpy(False)
                != "sum",
            ),
            "time_unix_nano": pa.array(time_us[push] * _NANOS_PER_MICRO),
            "start_time_unix_nano": pa.array(
                _start_us(own, time_us)[push] * _NANOS_PER_MICRO,
                pa.int64(),
                mask=~has_start,
            ),
            "time": pa.array(time_us[push]).cast(_TIME),
            "attributes": _label_maps(one, [each.key for each in series]).take(
                pa.array(place)
            ),
            "topic_partition": pa.array(
                [each.key.partition for each in series], pa.int32()
            ).take(pa.array(place)),
        }
    )


def _start_us(own: _Own, time_us: Numbers) -> Numbers:
    """Return the start time of the sums in each push."""
    one = own.instance
    spans_us = np.round(own.signals.spans * MICROS).astype(np.int64)
    start_us: Numbers = time_us - spans_us
    if not one.is_cumulative:
        return start_us
    reset_s = one.reset.timestamp() if one.reset else np.inf
    is_new = own.signals.moments >= reset_s
    again: Numbers = np.where(is_new, start_us[np.argmax(is_new)], start_us[0])
    return again


def _list_labels(keys: Sequence[SeriesKey]) -> dict[str, list[str | None]]:
    """Return the text labels of series, by column."""
    nodes = [None if key.node is None else str(key.node) for key in keys]
    return {
        "metric": [PREFIX + key.metric for key in keys],
        "kind": [key.kind for key in keys],
        "temporality": [key.temporality for key in keys],
        "node_id": nodes,
        "node_role": ["broker" if node else None for node in nodes],
        "topic_name": [key.topic for key in keys],
    }


def _label_maps(one: Instance, keys: Sequence[SeriesKey]) -> pa.Array:
    """Return the attributes of series as the client family sends them."""
    prefix = "node-" if one.family == JAVA else ""
    maps = [
        [
            (name, f"{before}{value}")
            for name, before, value in (
                ("node_id", prefix, key.node),
                ("partition", "", key.partition),
                ("topic", "", key.topic),
            )
            if value is not None
        ]
        for key in keys
    ]
    return pa.array(maps, pa.map_(pa.string(), pa.string()))


def _of_push(own: _Own, push: Numbers) -> Columns:
    """Return the columns that identify the push of each row."""
    one = own.instance
    received = pa.array(own.signals.push_times[push]).cast(_TIME)
    ids = [f"sample-{one.number}-{place}" for place in range(own.signals.count)]
    return _spread({"topic": TOPIC}, len(push)) | {
        "partition": pa.array(
            np.full(len(push), one.number % TOPIC_PARTITIONS, np.int32)
        ),
        "offset": pa.array(own.offsets[push]),
        "received_at": received,
        "push_id": _code(ids, push),
    }


def _spread(said: Row, count: int) -> Columns:
    """Return columns with one value throughout; strings are dictionary-encoded."""
    places, missing = pa.array(np.zeros(count, np.int32)), pa.nulls(count, pa.int32())
    return {
        name: pa.array([value], pa.int32()).take(places)
        if name in _NUMBERS
        else pa.DictionaryArray.from_arrays(
            missing if value is None else places, pa.array([value or ""], pa.string())
        )
        for name, value in said.items()
    }


def _code(texts: Sequence[str | None], places: Numbers) -> pa.Array:
    """Return the strings at some positions, dictionary-encoded."""
    return pa.array(texts, pa.string()).dictionary_encode().take(pa.array(places))


def _with_nulls(columns: Columns, kinds: Mapping[str, pa.DataType]) -> Columns:
    """Return all columns of a table, with nulls for missing ones."""
    count = len(columns["push_id"])
    return {
        name: columns[name] if name in columns else pa.nulls(count, kind)
        for name, kind in kinds.items()
    }
