"""Deltas summed up, through restarts of clients and of the forwarder.

Strategy: sums and the offset behind the records that are in them are one transaction of
a local file, written after the receiver's yes. What is read again after a kill is added
to the sums that were before it, so that the same points are sent again.
The sums of a client instance are one row of packed numbers, here as in the file: 40
bytes a series. Sums of instances that say farewell go with it, those of which nothing
is heard for long go as well, and where there are too many series, those first that were
heard of longest ago. What comes after that begins anew, with a new start time.
"""

import logging
import math
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path

from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality as Kind
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from pipelines.errors import FullDisk, InvalidSetting

from .points import MAX_INT64, list_points, name_attributes

logger = logging.getLogger(__name__)
_DELTA = Kind.AGGREGATION_TEMPORALITY_DELTA
_CUMULATIVE = Kind.AGGREGATION_TEMPORALITY_CUMULATIVE
_VERSION = 2
"""Of the file; version 1 had no topic_id."""
_TABLES = f"""
create table if not exists about (topic text, group_id text);
create table if not exists sums (
  partition integer, instance blob, used_ms integer, series blob,
  primary key (partition, instance)) without rowid;
create table if not exists offsets (
  partition integer primary key, next integer, topic_id text not null default '');
pragma user_version = {_VERSION};
"""
_UPGRADE = f"""
begin;
alter table offsets add column topic_id text not null default '';
pragma user_version = {_VERSION};
commit;
"""
_ROW = struct.Struct("<16sQqd")
"""Hash of a series, start in nanoseconds, sum of whole numbers, sum of others."""
MOST_OF_AN_INSTANCE = 20_000
"""Series of one client instance that are summed up; of more, those heard of last. A
client that invents labels costs 800 kB and its own sums, no more."""

_Sum = tuple[int, int, float]
Series = dict[bytes, _Sum]
_Place = tuple[int, bytes]


class Sums:
    """Sums of all series of the partitions that this forwarder reads."""

    def __init__(
        self, path: str, *, topic: str, group_id: str, max_series: int, idle_ms: int
    ) -> None:
        """Open the file, or make it.

        Raises: InvalidSetting where it is somebody else's, or no such file.
        """
        self._path = path
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._file = _open_file(path)
        except (OSError, sqlite3.Error) as error:
            raise InvalidSetting(
                f"forward.state_location: {path} cannot be used ({error}); each "
                "forwarder has a file of its own"
            ) from None
        found = self._file.execute("select topic, group_id from about").fetchone()
        if found is None:
            with self._transaction() as file:
                file.execute("insert into about values (?, ?)", (topic, group_id))
        elif found != (topic, group_id):
            self._file.close()
            raise InvalidSetting(
                f"forward.state_location: {path} has sums of topic {found[0]}, group "
                f"{found[1]}; name another file"
            )
        self._topic_ids: dict[int, str] = {}
        """Of the topic, by partition that is read."""
        self._max_bytes, self._idle_ms = max_series * _ROW.size, idle_ms
        self._kept: dict[_Place, tuple[int, bytes]] = {}
        """When each was heard of last, and its rows; who was heard of longest ago is
        first."""
        self._bytes = 0
        self._changed: dict[_Place, Series | None] = {}
        """None: it has said farewell."""
        self.left_out = 0
        """Points of deltas of a kind that is not summed up."""
        self.forgotten = 0
        """Series that went because there were too many."""

    @property
    def series(self) -> int:
        """How many series are summed up."""
        return self._bytes // _ROW.size

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def open_partition(
        self, partition: int, committed: int | None, topic_id: str
    ) -> int | None:
        """Return the offset to continue at; load the sums up to it.

        Sums are deleted where other forwarders have read beyond them, and where the
        topic was recreated.

        Args:
            partition: Number of the partition.
            committed: Offset that the group has committed; None for none.
            topic_id: ID of the topic as Kafka has it now.

        Returns: None for the beginning of the partition.

        Raises: FullDisk.
        """
        self.close_partition(partition)
        with self._transaction() as file:
            asked = "select next, topic_id from offsets where partition = ?"
            found = file.execute(asked, (partition,)).fetchone()
            # A file of version 1 has no ID.
            is_other = found is not None and found[1] not in {"", topic_id}
            if is_other:
                logger.warning(
                    "Topic was recreated, deleted its sums: partition=%d "
                    "old_topic_id=%s new_topic_id=%s next_offset=%s",
                    partition, found[1], topic_id,
                    "beginning" if committed is None else committed,
                )  # fmt: skip
            self._topic_ids[partition] = topic_id
            is_behind = found and committed is not None and found[0] < committed
            if found is None or is_other or is_behind:
                for table in ("sums", "offsets"):
                    file.execute(
                        f"delete from {table} where partition = ?",  # noqa: S608 - no value
                        (partition,),
                    )
                return committed
            asked = "select instance, used_ms, series from sums where partition = ?"
            with closing(file.execute(asked, (partition,))) as rows:
                for instance, used_ms, series in rows:
                    self._kept[partition, instance] = (used_ms, series)
                    self._bytes += len(series)
        self._kept = dict(sorted(self._kept.items(), key=lambda one: one[1][0]))
        return int(found[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit what the block writes, or nothing of it.

        Raises: FullDisk where the file cannot be read or written.
        """
        try:
            with self._file:
                yield self._file
        except sqlite3.Error as error:
            raise FullDisk(
                f"forward.state_location: cannot write {self._path} ({error}). Free "
                "disk space or correct its permissions, then restart the forwarder; it "
                "sends again what it has not committed."
            ) from None

    def close_partition(self, partition: int) -> None:
        """Forget, in memory, a partition that is read by somebody else now."""
        for place in [one for one in self._kept if one[0] == partition]:
            self._bytes -= len(self._kept.pop(place)[1])

    def open_instance(self, partition: int, instance: bytes) -> Series:
        """Return the sums of a client instance, to be added to until the commit."""
        place = (partition, instance)
        series = self._changed.get(place)
        if series is None:
            packed = (
                self._kept.get(place, (0, b""))[1]
                if place not in self._changed
                else b""
            )
            series = {row[0]: row[1:] for row in _ROW.iter_unpack(packed)}
            self._changed[place] = series
        return series

    def end_instance(self, partition: int, instance: bytes) -> None:
        """Let the sums of an instance go that has sent its last push."""
        self._changed[partition, instance] = None

    def add(self, series: Series, resource: bytes, metric: Metric) -> None:
        """Make the deltas of a metric sums; leave out those that cannot be added."""
        kind = metric.WhichOneof("data")
        if kind in {"histogram", "exponential_histogram"}:
            if getattr(metric, kind).aggregation_temporality == _DELTA:
                self.left_out += len(list_points(metric))
                del list_points(metric)[:]
            return
        if kind != "sum" or metric.sum.aggregation_temporality != _DELTA:
            return
        metric.sum.aggregation_temporality = _CUMULATIVE
        named = resource + b"\0" + metric.name.encode() + b"\0"
        for point in metric.sum.data_points:
            key = blake2b(
                named + name_attributes(point.attributes), digest_size=16
            ).digest()
            begin = point.start_time_unix_nano or point.time_unix_nano
            # Taken out, so that those heard of last stand last.
            start, whole, rest = series.pop(key, (begin, 0, 0.0))
            if point.WhichOneof("value") == "as_int":
                whole += point.as_int
                if not -MAX_INT64 <= whole <= MAX_INT64:
                    start, whole = point.time_unix_nano, 0
                point.as_int = whole
            else:
                added = rest + point.as_double
                # One value that is no number would be the sum for good.
                rest = added if math.isfinite(added) else rest
                point.as_double = rest
            point.start_time_unix_nano = start
            series[key] = (start, whole, rest)

    def commit(self, offsets: dict[int, int], now_ms: int) -> None:
        """Keep what was added, with the offsets behind the records that it is from.

        Raises: FullDisk.
        """
        written: list[tuple[int, bytes, int, bytes]] = []
        gone: list[_Place] = []
        for place, series in self._changed.items():
            self._bytes -= len(self._kept.pop(place, (0, b""))[1])
            if not series:
                gone.append(place)
                continue
            self.forgotten += max(len(series) - MOST_OF_AN_INSTANCE, 0)
            rows = list(series.items())[-MOST_OF_AN_INSTANCE:]
            packed = b"".join(_ROW.pack(key, *one) for key, one in rows)
            self._kept[place] = (now_ms, packed)
            self._bytes += len(packed)
            written.append((*place, now_ms, packed))
        gone += self._forget(now_ms)
        reached = [(*one, self._topic_ids[one[0]]) for one in offsets.items()]
        with self._transaction() as file:
            file.executemany("insert or replace into sums values (?, ?, ?, ?)", written)
            file.executemany(
                "delete from sums where partition = ? and instance = ?", gone
            )
            file.executemany("insert or replace into offsets values (?, ?, ?)", reached)
        self._changed = {}

    def _forget(self, now_ms: int) -> list[_Place]:
        """Let those go that are silent for long, or too many."""
        gone = []
        for place, (used_ms, packed) in self._kept.items():
            is_silent = used_ms < now_ms - self._idle_ms
            if not is_silent and self._bytes <= self._max_bytes:
                break
            self._bytes -= len(packed)
            self.forgotten += 0 if is_silent else len(packed) // _ROW.size
            gone.append(place)
        for place in gone:
            del self._kept[place]
        return gone

    def abandon(self) -> None:
        """Forget what was added since the last commit."""
        self._changed = {}


def _open_file(path: str) -> sqlite3.Connection:
    file = sqlite3.connect(path, timeout=2)
    try:
        # One forwarder a file: a second one fails here.
        file.execute("pragma locking_mode = exclusive")
        file.execute("pragma journal_mode = wal")
        file.execute("pragma synchronous = full")
        version = file.execute("pragma user_version").fetchone()[0]
        if version not in {0, 1, _VERSION}:
            raise sqlite3.DatabaseError(f"it is of version {version}")
        if version == 1:
            file.executescript(_UPGRADE)
        file.executescript(_TABLES)
    except sqlite3.Error:
        file.close()
        raise
    return file
