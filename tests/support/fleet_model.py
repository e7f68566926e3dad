"""An independent calculation of the answers about a fleet, from the rows of its tables.

It is slow and plain on purpose: Python over lists, without Spark and without the code
of the product. Its rules for metrics are those of KIP-714 by name, not a file.
"""

from collections import defaultdict
from datetime import timedelta
from math import isfinite
from pathlib import Path
from statistics import fmean

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

PREFIX = "org.apache.kafka."
INTERVALS_UNTIL_IDLE = 3
EXPIRES_AFTER = timedelta(hours=24)
_TICK = timedelta(microseconds=1)
WEIGHTS = {
    "node.request.latency.avg": "node.request.rate",
    "request.latency.avg": "request.rate",
}
"""Name of a mean to the name of the rate that it is weighted by."""


def read_rows(root, table):
    """Return the rows of a table to which jobs only append, as dicts."""
    files = DeltaTable(Path(root) / table).file_uris()
    # Not as a dataset: the date in a path is no column here.
    return [
        row
        for file in files
        for row in _read_file(file.removeprefix("file://")).to_pylist()
    ]


def _read_file(path):
    """Return the rows of a file; all times are in UTC, also those of Spark's files."""
    rows = pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read()
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is None:
            times = rows.column(place).cast(pa.timestamp("us", "UTC"))
            rows = rows.set_column(place, field.name, times)
    return rows


def number_of(point):
    """Return the finite number of a point, or None."""
    number = point["value_double"]
    if number is None:
        number = point["value_long"]
    return None if number is None or not isfinite(number) else float(number)


def level_of(point):
    """Return client, node, topic or partition."""
    if point["topic_partition"] is not None:
        return "partition"
    if point["topic_name"] is not None:
        return "topic"
    return "client" if point["node_id"] is None else "node"


def words_of(metric):
    """Return how values of a gauge combine over places, instances and time."""
    if "records.lag" in metric:
        return {"places": max, "instances": max, "time": max}
    if metric.endswith(".max"):
        return {"places": max, "instances": max, "time": max}
    if metric.endswith((".avg", ".ratio")):
        return {"places": fmean, "instances": fmean, "time": fmean}
    # Rates and counts of the whole client.
    return {"places": sum, "instances": sum, "time": fmean}


class FleetModel:
    """Clients, states and metrics of one fleet at one time."""

    def __init__(self, root, now):
        self.root, self.now = root, now
        self.pushes = read_rows(root, "client_pushes")
        self.points = read_rows(root, "client_metrics")
        self.configs = read_rows(root, "client_configs")
        self.wire = read_rows(root, "client_wire_configs")
        self.quotas = read_rows(root, "client_quotas")
        self.traffic = read_rows(root, "client_traffic")
        self.registrations = read_rows(root, "broker_registrations")
        self.instances = {
            row["client_instance_id"]: row
            for row in read_rows(root, "client_instances")
        }
        self.points_of = defaultdict(list)
        self.points_by = defaultdict(list)
        for point in self.points:
            instance = point["client_instance_id"]
            self.points_of[instance].append(point)
            self.points_by[instance, point["metric"]].append(point)
        self.pushes_of = defaultdict(list)
        for push in sorted(self.pushes, key=lambda one: one["received_at"]):
            self.pushes_of[push["client_instance_id"]].append(push)

    # Clients and their states

    def last_push_of(self, instance):
        """Return its newest push; one far in the future does not count."""
        return max(
            (
                push
                for push in self.pushes_of[instance]
                if push["received_at"] <= self.now + patience_of(push)
            ),
            key=lambda push: push["received_at"],
        )

    def state_of(self, instance):
        """Return the state of an instance that pushed telemetry."""
        last = self.last_push_of(instance)
        silence = self.now - last["received_at"]
        if self.pushes_of[instance][-1]["terminating"]:
            return "terminated"
        if silence > EXPIRES_AFTER:
            return "expired"
        return "active" if silence <= patience_of(last) else "idle"

    def list_states(self):
        """Return the state of each instance with telemetry."""
        return {one: self.state_of(one) for one in self.instances}

    def list_active(self):
        """Return the instances with telemetry that are active."""
        return {one for one, state in self.list_states().items() if state == "active"}

    def client_of(self, instance):
        """Return what identifies the client of an instance."""
        row = self.instances[instance]
        return tuple(
            row[name]
            for name in ("cluster_id", "principal", "client_id", "client_type")
        )

    def list_clients(self, instances):
        """Return clients, each with its instances."""
        found = defaultdict(set)
        for one in instances:
            found[self.client_of(one)].add(one)
        return found

    # Metrics

    def values_of(self, instance, metric, received_at=None):
        """Return push ID to the value of the instance: of a gauge of any level.

        Args:
            received_at: Start and end of a time range, or None.
        """
        by_push = defaultdict(list)
        for point in self.points_by[instance, PREFIX + metric]:
            if _is_within(point, received_at):
                by_push[point["push_id"]].append(point)
        found = {}
        for push_id, points in by_push.items():
            value = self._value_of_push(instance, metric, points)
            if value is not None:
                found[push_id] = value
        return found

    def _value_of_push(self, instance, metric, points):
        levels = {level_of(point) for point in points}
        level = next(
            one for one in ("client", "node", "topic", "partition") if one in levels
        )
        if {"topic", "partition"} <= levels and level == "topic":
            levels = {"topic", "partition"}
        else:
            levels = {level}
        chosen = [
            point
            for point in points
            if level_of(point) in levels and number_of(point) is not None
        ]
        if not chosen:
            return None
        numbers = [number_of(point) for point in chosen]
        weights = self._weights_of(instance, metric, chosen)
        if weights is not None:
            return sum(n * w for n, w in zip(numbers, weights, strict=True)) / sum(
                weights
            )
        return words_of(metric)["places"](numbers)

    def _weights_of(self, instance, metric, points):
        """Return the weights of means, if all of them are known and positive."""
        name = metric.partition(".")[2]
        if name not in WEIGHTS:
            return None
        wanted = metric.partition(".")[0] + "." + WEIGHTS[name]
        rates = {
            (point["push_id"], point["node_id"]): number_of(point)
            for point in self.points_by[instance, PREFIX + wanted]
        }
        found = [rates.get((one["push_id"], one["node_id"])) for one in points]
        return found if all(found) else None

    def newest_value(self, instance, metric):
        """Return the value of the newest push that has one, or None."""
        values = self.values_of(instance, metric)
        for push in reversed(self.pushes_of[instance]):
            if push["push_id"] in values:
                return values[push["push_id"]]
        return None

    def newest_range(self, instance):
        """Return the last three push intervals of an instance."""
        last = self.last_push_of(instance)
        start = last["received_at"] - patience_of(last)
        # The start is excluded, and the last push is included.
        return start + _TICK, last["received_at"] + _TICK

    def roll_up(self, client, metric):
        """Return the current value of a client, or None: of a sum its rate.

        Pushes of each active instance combine first, then its instances.
        """
        return self.roll_up_instances(
            self.list_clients(self.list_active())[client], metric
        )

    def roll_up_instances(self, instances, metric):
        """Return the current value of some instances together, or None."""
        words, found, weights = words_of(metric), [], []
        for one in instances:
            recent = self.newest_range(one)
            if metric.endswith(".total"):
                value = self.rate_of(one, metric, recent)
            else:
                values = [*self.values_of(one, metric, recent).values()]
                value = words["time"](values) if values else None
            if value is not None:
                found.append(value)
                weights.append(self._weight_of_instance(one, metric, recent))
        if all(weights) and found:
            weighed = zip(found, weights, strict=True)
            return sum(value * weight for value, weight in weighed) / sum(weights)
        return words["instances"](found) if found else None

    def _weight_of_instance(self, instance, metric, received_at):
        """Return the mean rate that weighs a mean of an instance, or None."""
        kind, _, name = metric.partition(".")
        if name not in WEIGHTS:
            return None
        pushes = self.values_of(instance, metric, received_at)
        rates = self.values_of(instance, f"{kind}.{WEIGHTS[name]}", received_at)
        known = [rates[push] for push in pushes if push in rates]
        return fmean(known) if known else None

    def growths_of(self, instance, metric, received_at=None):
        """Return time, amount and seconds of each push with a sum, oldest first.

        A delta has its own time range. A cumulative sum grows since the point before,
        and from zero after a reset.
        """
        points = [
            point
            for point in self.points_by[instance, PREFIX + metric]
            if level_of(point) == "client"
        ]
        points.sort(key=lambda one: one["received_at"])
        found, before = [], None
        for point in points:
            if not _is_within(point, received_at):
                before = point
                continue
            number, at = number_of(point), point["received_at"]
            if point["temporality"] == "delta":
                nanos = point["time_unix_nano"] - point["start_time_unix_nano"]
                found.append((at, number, nanos / 1_000_000_000))
            elif before is not None:
                former = number_of(before)
                amount = number if number < former else number - former
                seconds = (at - before["received_at"]).total_seconds()
                found.append((at, amount, seconds))
            before = point
        return found

    def amount_of(self, instance, metric, received_at=None):
        """Return the growth of a sum, or None if it has no point."""
        growths = self.growths_of(instance, metric, received_at)
        return sum(amount for _, amount, _ in growths) if growths else None

    def rate_of(self, instance, metric, received_at=None):
        """Return the growth of a sum per second, or None."""
        growths = self.growths_of(instance, metric, received_at)
        seconds = sum(one[2] for one in growths)
        return sum(one[1] for one in growths) / seconds if seconds else None


def patience_of(push):
    """Return the time after which an instance without another push is idle."""
    return INTERVALS_UNTIL_IDLE * timedelta(milliseconds=push["push_interval_ms"])


def _is_within(point, received_at):
    if received_at is None:
        return True
    start, end = received_at
    return start <= point["received_at"] < end
