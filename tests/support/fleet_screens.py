"""What pages, commands and notebooks show of a fleet, calculated independently."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean
from typing import Any

from tests.support.fleet_answers import FleetAnswers
from tests.support.fleet_model import (
    EXPIRES_AFTER,
    PREFIX,
    number_of,
    patience_of,
    read_rows,
    words_of,
)

STATES = ("active", "idle", "terminated", "expired")
"""The state of a client is the first one that an instance of it has."""
CLIENT = ("cluster_id", "principal", "client_id", "client_type")
_CONNECTION = ("cluster_id", "principal", "client_id", "client_source_address")
_SOURCES = ("telemetry", "configs", "wire")


@dataclass(frozen=True)
class Known:
    """One instance that a table reports, or a client that only the proxy saw."""

    row: dict[str, Any]
    known_by: str
    state: str
    first_seen: datetime | None
    last_seen: datetime

    @property
    def client(self):
        return tuple(self.row[name] for name in CLIENT)


class FleetScreens(FleetAnswers):
    """Numbers of all clients, and of one client over time."""

    def __init__(self, root, now):
        super().__init__(root, now)
        self.quarantine = read_rows(root, "quarantine")
        self.static_configs = read_rows(root, "broker_static_configs")
        self.subscriptions = read_rows(root, "client_metrics_subscriptions")
        self.findings = read_rows(root, "client_findings")

    @property
    def since(self):
        """Return the time of the first push."""
        return min(push["received_at"] for push in self.pushes)

    @property
    def until(self):
        """Return the time of the newest push."""
        return max(push["received_at"] for push in self.pushes)

    # All clients

    def list_known(self):
        """Return what any table reports."""
        pushed = {row["client_instance_id"]: row for row in self.configs}
        found = []
        for one, row in self.instances.items():
            seen = [self.last_push_of(one)["received_at"]]
            seen += [pushed[one]["received_at"]] if one in pushed else []
            state = self.state_of(one)
            found.append(Known(row, "telemetry", state, row["first_seen"], max(seen)))
        for one, row in pushed.items():
            if one not in self.instances:
                at = row["received_at"]
                found.append(Known(row, "configs", self._state_since(at), at, at))
        known = {_connection(one.row) for one in found}
        by_proxy = {}
        for row in self.wire:
            if _connection(row) not in known:
                by_proxy.setdefault((*_connection(row), row["client_type"]), row)
        for row in by_proxy.values():
            at = row["received_at"]
            found.append(Known(row, "wire", self._state_since(at), None, at))
        return found

    def _state_since(self, at):
        return "active" if self.now - at <= EXPIRES_AFTER else "expired"

    def list_known_clients(self):
        """Return each client with what is known of it."""
        found = defaultdict(list)
        for one in self.list_known():
            found[one.client].append(one)
        return found

    def describe_clients(self):
        """Return client and column to the value that a list of clients shows."""
        found = {}
        for client, known in self.list_known_clients().items():
            of_telemetry = [one for one in known if one.known_by != "wire"]
            newest = max(known, key=lambda one: one.first_seen or one.last_seen)
            columns = {
                "state": min((one.state for one in known), key=STATES.index),
                "known_by": min((one.known_by for one in known), key=_SOURCES.index),
                "instances": len(of_telemetry),
                "active": sum(one.state == "active" for one in of_telemetry),
                "first_seen": min(
                    (one.first_seen for one in of_telemetry), default=None
                ),
                "last_seen": max(one.last_seen for one in known),
                "version": newest.row["client_software_version"],
                "versions": len({one.row["client_software_version"] for one in known}),
            }
            found |= {(client, name): value for name, value in columns.items()}
        return found

    def count_findings(self):
        """Return client and severity to the number of its open findings."""
        clients = self.list_known_clients()
        found = Counter()
        for row in self.findings:
            if row["until"] is None:
                name = (row["cluster_id"] or None, row["principal"], row["client_id"])
                own = [one for one in clients if one[:3] == name]
                exact = [one for one in own if one[3] == row["client_type"]]
                found[(exact or own or [name])[0], row["severity"]] += 1
        return found

    def list_new(self, since):
        """Return the clients of which nothing was known before."""
        return [
            client
            for client, known in self.list_known_clients().items()
            if all(one.first_seen for one in known)
            and min(one.first_seen for one in known) >= since
        ]

    # Values now, and in the newest hour

    def list_values(self, metric):
        """Return each active client with a value now to it."""
        values = {
            client: self.roll_up_instances(instances, metric)
            for client, instances in self.list_clients(self.list_active()).items()
        }
        return {one: value for one, value in values.items() if value is not None}

    def value_in(self, instance, metric, received_at, node_id=None):
        """Return the mean or maximum of the pushes of an instance, or None.

        Args:
            node_id: Only the points of this broker, and of these those above zero.
        """
        if node_id is None:
            values = self.values_of(instance, metric, received_at).values()
        else:
            numbers = [
                number_of(point)
                for point in self.points_by[instance, PREFIX + metric]
                if point["node_id"] == node_id
                and received_at[0] <= point["received_at"] < received_at[1]
            ]
            values = [one for one in numbers if one is not None and one > 0]
        return words_of(metric)["time"](values) if values else None

    def list_in_last_hour(self, metric, node_id=None):
        """Return each client with a value in the hour before the newest push to it."""
        end = self.until
        hour = end - timedelta(hours=1), end + timedelta(seconds=1)
        found = {}
        for client, instances in self.list_clients(self.instances).items():
            values = [self.value_in(one, metric, hour, node_id) for one in instances]
            known = [value for value in values if value is not None]
            if known:
                found[client] = words_of(metric)["instances"](known)
        return found

    # One client over time

    def at_of(self, point):
        """Return the client's time, or the bridge's if the client's clock is wrong."""
        row = self.instances[point["client_instance_id"]]
        is_right = abs(point["time"] - point["received_at"]) <= patience_of(row)
        return point["time"] if is_right else point["received_at"]

    def line_of(self, instances, metric, start, step):
        """Return step to value: of a gauge its value, of a sum its growth."""
        by_step = defaultdict(lambda: defaultdict(list))
        for one in instances:
            at = {
                point[key]: self.at_of(point)
                for point in self.points_of[one]
                for key in ("push_id", "received_at")
            }
            if metric.endswith(".total"):
                values = [(t, amount) for t, amount, _ in self.growths_of(one, metric)]
            else:
                values = self.values_of(one, metric).items()
            for key, value in values:
                by_step[(at[key] - start) // step][one].append(value)
        words = words_of(metric)
        if metric.endswith(".total"):
            words = {"time": sum, "instances": sum}
        return {
            number: words["instances"](map(words["time"], own.values()))
            for number, own in by_step.items()
        }

    def count_live(self, start, step, steps):
        """Return step and principal to the number of active instances."""
        found = Counter()
        for one, row in self.instances.items():
            last = self.last_push_of(one)
            end = {
                "active": start + steps * step,
                "terminated": last["received_at"],
            }.get(self.state_of(one), last["received_at"] + patience_of(last))
            first, final = ((at - start) // step for at in (row["first_seen"], end))
            for number in range(max(first, 0), min(final, steps - 1) + 1):
                found[number, row["principal"]] += 1
        return found

    # Groups, brokers, quotas and rejected records

    def describe_groups(self):
        """Return group and column to the value that is shown of it."""
        found = {}
        for group, members in self.list_groups().items():
            amounts = {
                name: [
                    self.amount_of(one, f"consumer.coordinator.{name}")
                    for one in members
                ]
                for name in ("rebalance.total", "rebalance.latency.total")
            }
            # librdkafka counts no rebalances, but it reports the time in them.
            counts = [
                self._count_waits(one) if amount is None else amount
                for one, amount in zip(members, amounts["rebalance.total"], strict=True)
            ]
            parts = [
                self.newest_value(one, "consumer.coordinator.assigned.partitions")
                for one in members
            ]
            idle = [
                fmean(values.values())
                for one in members
                if (values := self.values_of(one, "consumer.poll.idle.ratio.avg"))
            ]
            spent = _greatest(amounts["rebalance.latency.total"])
            columns = {
                "partitions": _total(parts),
                "rebalances": _greatest(counts),
                "rebalance_s": None if spent is None else spent / 1000,
                "poll_idle": fmean(idle) if idle else None,
            }
            found |= {(group, name): value for name, value in columns.items()}
        return found

    def _count_waits(self, instance):
        growths = self.growths_of(
            instance, "consumer.coordinator.rebalance.latency.total"
        )
        return sum(amount > 0 for _, amount, _ in growths) if growths else None

    def count_configs(self, cluster_id):
        """Return each broker to the number of its static configs."""
        return Counter(
            row["broker_id"]
            for row in self.static_configs
            if row["cluster_id"] == cluster_id and row["is_current"]
        )

    def list_drift(self, cluster_id):
        """Return config and value to the brokers that have it, if brokers differ."""
        found = defaultdict(lambda: defaultdict(list))
        for row in self.static_configs:
            if row["cluster_id"] == cluster_id and row["is_current"]:
                value = row["config_value"]
                found[row["config_name"]][value].append(row["broker_id"])
        return {
            (name, value): sorted(brokers)
            for name, values in found.items()
            if len(values) > 1
            for value, brokers in values.items()
        }

    def count_rejected(self, until=None):
        """Return reason and job to the number of records in quarantine."""
        return Counter(
            (row["reason"], row["source_job"])
            for row in self.quarantine
            if until is None or row["kafka_timestamp"] < until
        )

    def list_traffic(self):
        """Return start, client and direction to the bytes per second at all brokers."""
        found = defaultdict(float)
        for row in self.traffic:
            for word in ("produced", "fetched"):
                rate = row[f"{word}_bytes"] * 1000 / row["window_ms"]
                found[row["window_start"], row["client_id"], word] += rate
        used = {key[1:] for key, rate in found.items() if rate}
        return {key: rate for key, rate in found.items() if key[1:] in used}

    # Configurations, and metrics that clients deliver

    def list_active_configs(self):
        """Return the client and the pushed configuration of each active instance."""
        active = {
            one.row["client_instance_id"]
            for one in self.list_known()
            if one.state == "active" and one.known_by != "wire"
        }
        return [
            (tuple(row[name] for name in CLIENT), dict(row["configs"]))
            for row in self.configs
            if row["client_instance_id"] in active
        ]

    def list_set_values(self, client_id):
        """Return the keys that a client set to their values, of its newest push."""
        own = [row for row in self.configs if row["client_id"] == client_id]
        newest = max(own, key=lambda row: row["received_at"])
        return {
            key: entry["config_value"]
            for key, entry in dict(newest["configs"]).items()
            if not entry["is_default"]
        }

    def is_asked(self, instance, metric):
        """Return whether a subscription of its cluster requests a metric of it."""
        row = self.instances[instance]
        return any(
            metric.startswith(tuple(one["metrics"]))
            and (
                not one["match"]
                or row["client_id"] in dict(one["match"])["client_id"].split("|")
            )
            for one in self.subscriptions
            if row["cluster_id"] in {None, one["cluster_id"]}
        )

    def is_delivered(self, instance, metric):
        """Return whether one of the newest pushes has a point of a metric.

        They are the three newest ones, and those of a day for franz-go, which leaves
        out what did not happen.
        """
        pushes = self.pushes_of[instance]
        if self.instances[instance]["client_software_name"] == "kgo":
            day = pushes[-1]["received_at"] - timedelta(days=1) if pushes else None
            newest = {one["push_id"] for one in pushes if one["received_at"] >= day}
        else:
            newest = {push["push_id"] for push in pushes[-3:]}
        points = self.points_by.get((instance, metric), ())
        return any(point["push_id"] in newest for point in points)


def _connection(row):
    return tuple(row[name] for name in _CONNECTION)


def _greatest(values):
    return max((one for one in values if one is not None), default=None)


def _total(values):
    known = [one for one in values if one is not None]
    return sum(known) if known else None
