"""Arrow columns of the telemetry of some instances of the sample fleet."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .sample_fleet import (
    AMSTERDAM,
    JAVA,
    MICROS,
    SOFTWARE_NAMES,
    Instance,
    Numbers,
)
from .sample_series import PREFIX, Series, SeriesKey
from .sample_signals import Signals

Row = dict[str, Any]
Columns = dict[str, pa.Array]
TOPIC, TOPIC_PARTITIONS = "clientele.telemetry", 6
BRIDGE_ID = "sample-bridge"
_DELAY_US = 400_000
"""From the time of a point to the receipt of its push."""
_NANOS_PER_MICRO = 1_000
_NUMBERS = {"broker_id", "client_source_port"}
"""Columns of `describe` with integers."""
_TIME = pa.timestamp("us", "UTC")


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


@dataclass(frozen=True, slots=True)
class Own:
    """Series of an instance, with the offsets of its records."""

    instance: Instance
    signals: Signals
    series: Sequence[Series]
    offsets: Numbers


@dataclass(frozen=True)
class Telemetry:
    """Pushes and points of some instances.

    A row of numbers for each push, series or point is what most columns are taken from.
    """

    owns: Sequence[Own]

    @cached_property
    def owners(self) -> Numbers:
        """Return the index of the instance of each push."""
        counts = [own.signals.count for own in self.owns]
        return np.repeat(np.arange(len(self.owns)), counts)

    @cached_property
    def received_us(self) -> Numbers:
        """Return the time of receipt of each push."""
        return np.concatenate([own.signals.push_times for own in self.owns])

    @cached_property
    def push_ids(self) -> list[str | None]:
        """Return the ID of each push."""
        return [
            f"sample-{own.instance.number}-{place}"
            for own in self.owns
            for place in range(own.signals.count)
        ]

    def make_pushes(self) -> Columns:
        """Return the columns of client_pushes, with empty bodies."""
        count = len(self.owners)
        instances = [(own.instance, own.signals) for own in self.owns]
        interval = np.concatenate(
            [one.push_intervals_ms(signals.push_times) for one, signals in instances]
        )
        is_last = np.diff(self.owners, append=len(self.owns)) > 0
        is_terminated = np.array([one.is_terminated for one, _ in instances])
        points = [
            np.sum([each.is_there for each in own.series], axis=0) for own in self.owns
        ]
        same = {"compression_type": "zstd", "decode_status": "ok"}
        return (
            self._describe(self.owners, [same] * len(self.owns))
            | self._of_push(np.arange(count))
            | {
                "subscription_id": pa.array(np.ones(count, np.int32)),
                "push_interval_ms": pa.array(interval.astype(np.int32)),
                "terminating": pa.array(is_last & is_terminated[self.owners]),
                "point_count": pa.array(np.concatenate(points).astype(np.int32)),
                "body_bytes": pa.array(np.zeros(count, np.int32)),
                "body": pa.array([b""] * count, pa.binary()),
            }
        )

    def make_points(self) -> Columns:
        """Return the columns of client_metrics, push by push."""
        push, place, values, own_index = self._find_points()
        series = list(chain.from_iterable(own.series for own in self.owns))
        keys = [each.key for each in series]
        is_java = [own.instance.family == JAVA for own in self.owns for _ in own.series]
        is_sum = np.array([key.kind == "sum" for key in keys])
        whole = np.array([each.is_whole for each in series])[place]
        time_us = np.concatenate([_list_times_us(own) for own in self.owns])
        start_us = np.concatenate([_list_starts_us(own) for own in self.owns])
        partitions = pa.array([key.partition for key in keys], pa.int32())
        return (
            self._describe(self.owners[push], [_scope_of(own) for own in self.owns])
            | self._of_push(push)
            | {name: _code(texts, place) for name, texts in _list_labels(keys).items()}
            | {
                "point_index": pa.array(own_index.astype(np.int32)),
                "value_double": pa.array(values, pa.float64(), mask=whole),
                "value_long": pa.array(
                    np.where(whole, values, 0).astype(np.int64), pa.int64(), mask=~whole
                ),
                "is_monotonic": pa.array(
                    np.ones(len(push), np.bool_), pa.bool_(), mask=~is_sum[place]
                ),
                "time_unix_nano": pa.array(time_us[push] * _NANOS_PER_MICRO),
                "start_time_unix_nano": pa.array(
                    start_us[push] * _NANOS_PER_MICRO,
                    pa.int64(),
                    mask=~(is_sum | ~np.array(is_java))[place],
                ),
                "time": pa.array(time_us[push]).cast(_TIME),
                "attributes": _label_maps(keys, is_java).take(pa.array(place)),
                "topic_partition": partitions.take(pa.array(place)),
            }
        )

    def _find_points(
        self,
    ) -> tuple[Numbers, Numbers, npt.NDArray[np.float64], Numbers]:
        """Return push, series, value and index within the push, of each point."""
        pushes, places, values, indexes = [], [], [], []
        first_push = first_place = 0
        for own in self.owns:
            there = np.stack([each.is_there for each in own.series], axis=1)
            push, place = np.nonzero(there)
            every = np.stack([each.values for each in own.series], axis=1)
            values.append(every[push, place])
            indexes.append((np.cumsum(there, axis=1) - 1)[push, place])
            pushes.append(push + first_push)
            places.append(place + first_place)
            first_push += own.signals.count
            first_place += len(own.series)
        return (
            *(np.concatenate(pushes), np.concatenate(places)),
            *(np.concatenate(values), np.concatenate(indexes)),
        )

    def _describe(self, owners: Numbers, further: Sequence[Row]) -> Columns:
        """Return the columns that are equal in all rows of an instance."""
        rows = [
            describe(own.instance) | more
            for own, more in zip(self.owns, further, strict=True)
        ]
        return {
            name: pa.array(values, pa.int32()).take(pa.array(owners))
            if name in _NUMBERS
            else _code(values, owners)
            for name, values in ((one, [row[one] for row in rows]) for one in rows[0])
        }

    def _of_push(self, push: Numbers) -> Columns:
        """Return the columns that identify the push of each row."""
        numbers = np.array([own.instance.number for own in self.owns], np.int32)
        offsets = np.concatenate([own.offsets for own in self.owns])
        return {
            "topic": _code([TOPIC], np.zeros(len(push), np.int64)),
            "partition": pa.array(numbers[self.owners[push]] % TOPIC_PARTITIONS),
            "offset": pa.array(offsets[push]),
            "received_at": pa.array(self.received_us[push]).cast(_TIME),
            "push_id": _code(self.push_ids, push),
        }


def _scope_of(own: Own) -> Row:
    one = own.instance
    scope = None if one.family == JAVA else SOFTWARE_NAMES[one.family]
    return {
        "scope_name": scope,
        "scope_version": one.software_version if scope else None,
    }


def _list_times_us(own: Own) -> Numbers:
    """Return the time of the points in each push, by the client's clock."""
    ahead_us = own.instance.clock_ahead // timedelta(microseconds=1)
    times: Numbers = own.signals.push_times - _DELAY_US + ahead_us
    return times


def _list_starts_us(own: Own) -> Numbers:
    """Return the start time of the sums in each push."""
    one = own.instance
    spans_us = np.round(own.signals.spans * MICROS).astype(np.int64)
    start_us: Numbers = _list_times_us(own) - spans_us
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


def _label_maps(keys: Sequence[SeriesKey], is_java: Sequence[bool]) -> pa.Array:
    """Return the attributes of series as the client family sends them."""
    maps = [
        [
            (name, f"{before}{value}")
            for name, before, value in (
                ("node_id", "node-" if prefixed else "", key.node),
                ("partition", "", key.partition),
                ("topic", "", key.topic),
            )
            if value is not None
        ]
        for key, prefixed in zip(keys, is_java, strict=True)
    ]
    return pa.array(maps, pa.map_(pa.string(), pa.string()))


def _code(texts: Sequence[str | None], places: Numbers) -> pa.Array:
    """Return the strings at some positions, dictionary-encoded."""
    return pa.array(texts, pa.string()).dictionary_encode().take(pa.array(places))
