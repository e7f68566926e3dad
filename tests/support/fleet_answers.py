"""Answers of the model about groups, brokers, quotas, configurations and findings."""

from collections import defaultdict
from itertools import pairwise

from tests.support.fleet_model import PREFIX, FleetModel, number_of

_WEAK = {"0", "1"}
_WEAK_KEYS = {("acks", one) for one in _WEAK}


class FleetAnswers(FleetModel):
    """What people ask about a fleet."""

    def change_of_interval(self, client_id):
        """Return when the push interval of a client changed."""
        (changed,) = [
            push["received_at"]
            for one, row in self.instances.items()
            if row["client_id"] == client_id
            for before, push in pairwise(self.pushes_of[one])
            if push["push_interval_ms"] != before["push_interval_ms"]
        ]
        return changed

    # Groups, brokers, connections

    def list_groups(self):
        """Return cluster and group to the instances that are its members."""
        found = defaultdict(set)
        for one, row in self.instances.items():
            if row["group_id"] is not None:
                found[row["cluster_id"], row["group_id"]].add(one)
        return found

    def lag_of(self, instances):
        """Return the greatest lag that any partition of instances had, or None."""
        lags = [
            number_of(point)
            for one in instances
            for point in self.points_of[one]
            if point["metric"] == f"{PREFIX}consumer.fetch.manager.records.lag.max"
        ]
        return max((lag for lag in lags if lag is not None), default=None)

    def longest_by_broker(self):
        """Return cluster and broker to the longest request of any client."""
        found = defaultdict(float)
        for point in self.points:
            if point["metric"].endswith("node.request.latency.max"):
                row = self.instances[point["client_instance_id"]]
                key = row["cluster_id"], int(point["node_id"])
                found[key] = max(found[key], number_of(point) or 0.0)
        return found

    def list_newest_latency(self):
        """Return client ID, broker and metric to the newest value of each instance."""
        newest = {}
        for point in self.points:
            name = point["metric"].removeprefix(PREFIX)
            number = number_of(point)
            if name.endswith(".request.latency.avg") and number is not None:
                key = point["client_instance_id"], point["node_id"], name
                if key not in newest or newest[key][0] <= point["received_at"]:
                    newest[key] = point["received_at"], number
        found = defaultdict(list)
        for (one, node_id, name), (_, number) in newest.items():
            found[self.instances[one]["client_id"], node_id, name].append(number)
        return found

    def longest_throttling(self):
        """Return each client with a throttle time to the longest one."""
        found = {}
        for client, instances in self.list_clients(self.instances).items():
            times = [
                number_of(point)
                for one in instances
                for point in self.points_of[one]
                if ".throttle.time." in point["metric"]
            ]
            known = [time for time in times if time is not None]
            if known:
                found[client] = max(known)
        return found

    def connections_by_client_id(self):
        """Return client ID to new connections, of all its instances."""
        found = defaultdict(float)
        for one, row in self.instances.items():
            metric = f"{row['client_type']}.connection.creation.total"
            amount = self.amount_of(one, metric)
            if amount is not None:
                found[row["client_id"]] += amount
        return found

    # Quotas

    def count_brokers(self, cluster_id):
        """Return the number of live brokers of a cluster."""
        return sum(
            row["is_current"] and row["ended_at"] is None and not row["is_fenced"]
            for row in self.registrations
            if row["cluster_id"] == cluster_id
        )

    def list_user_quotas(self):
        """Return cluster and user to the current producer_byte_rate."""
        return {
            (row["cluster_id"], row["user_name"]): row["quota_value"]
            for row in self.quotas
            if row["is_current"] and row["quota_key"] == "producer_byte_rate"
        }

    def list_quota_use(self):
        """Return cluster and user to basis, rate and use of the user's quota.

        The proxy counts by broker, so the busiest broker decides. Without a proxy the
        rates that producers report are compared with the limit of all brokers.
        """
        found = {}
        for (cluster_id, user), limit in self.list_user_quotas().items():
            principal = f"User:{user}"
            newest = max(
                (
                    row["window_start"]
                    for row in self.traffic
                    if row["cluster_id"] == cluster_id
                ),
                default=None,
            )
            by_broker = defaultdict(float)
            for row in self.traffic:
                if (row["cluster_id"], row["principal"]) == (
                    cluster_id,
                    principal,
                ) and (row["window_start"] == newest):
                    rate = row["produced_bytes"] * 1000 / row["window_ms"]
                    by_broker[row["broker_id"]] += rate
            if by_broker:
                rate = max(by_broker.values())
                found[cluster_id, user] = ("proxy", rate, rate / limit)
                continue
            rates = [
                self.newest_value(one, "producer.outgoing.byte.rate")
                for one in self.list_active()
                if (self.instances[one]["cluster_id"], self.instances[one]["principal"])
                == (cluster_id, principal)
            ]
            known = [rate for rate in rates if rate is not None]
            if known:
                rate = sum(known)
                whole = limit * self.count_brokers(cluster_id)
                found[cluster_id, user] = ("reported", rate, rate / whole)
        return found

    def longest_quota_throttling(self):
        """Return cluster and user to the longest throttle time of the user's producers.

        Of the newest windows that the proxy counted, and of the newest pushes.
        """
        found = {}
        newest = max(row["window_start"] for row in self.traffic)
        for cluster_id, user in self.list_user_quotas():
            owner = cluster_id, f"User:{user}"
            times = [
                row["throttle_ms_max"]
                for row in self.traffic
                if (row["cluster_id"], row["principal"]) == owner
                and row["window_start"] == newest
            ]
            for one in self.list_active():
                row = self.instances[one]
                if (row["cluster_id"], row["principal"]) == owner:
                    metric = "producer.produce.throttle.time.max"
                    times.append(self.newest_value(one, metric))
            known = [time for time in times if time is not None]
            found[cluster_id, user] = max(known, default=None)
        return found

    # Configurations, findings, rejected records

    def list_throttled(self, length):
        """Return cluster and client ID of producers throttled in the newest time.

        Args:
            length: Of the time, up to the end of the data.
        """
        end = max(push["received_at"] for push in self.pushes)
        return {
            (row["cluster_id"], row["client_id"])
            for one, row in self.instances.items()
            if any(
                point["received_at"] >= end - length and (number_of(point) or 0.0) > 0
                for point in self.points_of[one]
                if point["metric"] == f"{PREFIX}producer.produce.throttle.time.avg"
            )
        }

    def list_weak_acks(self):
        """Return cluster and client ID of producers that do not wait for all replicas.

        A pushed value counts if its instance has not terminated. A value that only the
        proxy saw counts if no instance of the client pushed anything.
        """
        pushed = {
            row["client_instance_id"]: dict(row["configs"]).get("acks")
            for row in self.configs
        }
        found = {
            (row["cluster_id"], row["client_id"])
            for row in self.configs
            if (pushed[row["client_instance_id"]] or {}).get("config_value") in _WEAK
            and not self._has_terminated(row["client_instance_id"])
        }
        known = {
            (row["principal"], row["client_id"])
            for row in (*self.configs, *self.instances.values())
        }
        return found | {
            (row["cluster_id"], row["client_id"])
            for row in self.wire
            if (row["config_key"], row["config_value"]) in _WEAK_KEYS
            and (row["principal"], row["client_id"]) not in known
        }

    def _has_terminated(self, instance):
        pushes = self.pushes_of[instance]
        return bool(pushes) and pushes[-1]["terminating"]
