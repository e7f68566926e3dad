"""Whether clients deliver what KIP-714 asks for, by rows that say only what matters."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from pipelines.commands.clients.coverage import describe_fleet, summarize
from pipelines.reading import views
from pipelines.settings import load_settings
from pipelines.tables.cluster import CLIENT_METRICS_SUBSCRIPTIONS
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    TELEMETRY_CONTRACTS,
)
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows

NOW = datetime.now(tz=UTC)
PREFIX = "org.apache.kafka."
TOTAL = f"{PREFIX}producer.connection.creation.total"
RATE = f"{PREFIX}producer.connection.creation.rate"
QUEUE = f"{PREFIX}producer.record.queue.time.avg"
POLL = f"{PREFIX}consumer.poll.idle.ratio.avg"
HOUR_MS = 3_600_000
WHO = {
    "client_software_name": "apache-kafka-java",
    "client_software_version": "4.3.1",
    "client_source_address": "10.0.0.7",
    "principal": "User:a",
}


def subscriptions(*texts):
    """Return a setting: each text is name, prefixes by spaces and items of match."""
    made = []
    for name, prefixes, *match in texts:
        metrics = ", ".join(f'"{one}"' for one in prefixes.split())
        items = ", ".join(f"'{one}'" for one in match)
        made.append(
            f'{{name="{name}", metrics=[{metrics}], interval_ms=60000, match=[{items}]}}'
        )
    return f"subscriptions=[{', '.join(made)}]"


def ago(minutes):
    return NOW - timedelta(minutes=minutes)


class Site:
    """Tables that say what some clients have pushed."""

    def __init__(self, spark, folder):
        self.spark = spark
        self.settings = load_settings("base", [f"tables.root_path={folder}"])
        contracts = [*TELEMETRY_CONTRACTS, CLIENT_CONFIGS, CLIENT_METRICS_SUBSCRIPTIONS]
        make_tables(spark, self.settings.tables, contracts)
        self.contracts = contracts
        self.rows = {contract.name: [] for contract in contracts}
        self._offset = 0

    def add_client(self, name, *pushes, client_type="producer", **fields):
        """Take a client; each push is its age in minutes and {metric: kind}."""
        known = WHO | {"client_instance_id": name, "client_id": name} | fields
        self.rows[CLIENT_INSTANCES.name].append(
            known | {"push_interval_ms": HOUR_MS, "client_type": client_type}
        )
        for age, metrics in pushes:
            self._offset += 1
            push = known | {"offset": self._offset, "push_id": f"p{self._offset:03}"}
            push |= {"received_at": ago(age), "point_count": len(metrics)}
            self.rows[CLIENT_PUSHES.name].append(push)
            for place, (metric, kind) in enumerate(metrics.items()):
                point = {"metric": metric, "kind": kind, "point_index": place}
                self.rows[CLIENT_METRICS.name].append(push | point)

    def subscribe(self, name, metrics, *, cluster_id="c1", **fields):
        """Take a resource of a cluster."""
        row = {"name": name, "metrics": metrics, "cluster_id": cluster_id}
        row |= {"is_current": True, "match": {}} | fields
        self.rows[CLIENT_METRICS_SUBSCRIPTIONS.name].append(row)

    def write(self):
        for contract in self.contracts:
            names, rows = contract.column_names, self.rows[contract.name]
            if rows:
                kept = [{k: v for k, v in one.items() if k in names} for one in rows]
                append_rows(self.settings.tables, contract, *kept)
                rows.clear()

    def statuses(self, *changes, metrics=(TOTAL, RATE, QUEUE), columns=("status",)):
        """Return {client instance: what the view has of each of these metrics}."""
        own = load_settings("base", list(changes))
        settings = dataclasses.replace(own, tables=self.settings.tables)
        assert views.COVERAGE in views.register(self.spark, settings)
        told = self.spark.table(views.COVERAGE).where("metric IS NOT NULL")
        found = {}
        for row in told.select("client_instance_id", "metric", *columns).collect():
            if row["metric"] in metrics:
                found.setdefault(row[0], {})[row["metric"]] = tuple(row)[2:]
        return {
            name: [of_client[one] if len(columns) > 1 else of_client[one][0]
                   for one in metrics if one in of_client]
            for name, of_client in found.items()
        }  # fmt: skip


EVERYTHING = subscriptions(("all", "*"))


@pytest.fixture
def site(spark, tmp_path):
    return Site(spark, tmp_path)


NODE = f"{PREFIX}producer.node.request.latency.avg"
THROTTLE = f"{PREFIX}producer.produce.throttle.time.max"
FRANZ_GO = {"client_software_name": "kgo", "client_software_version": "1.21.4"}


def test_absence_is_judged_by_the_software_of_a_client(site):
    # franz-go pushes what happened; it leaves out zeros and totals that did not grow.
    busy = {NODE: "gauge"}
    connected = busy | {TOTAL: "sum", RATE: "gauge"}
    days = 24 * 60
    site.add_client(
        "franz", (50, connected), *((age, busy) for age in (40, 30, 20, 10)), **FRANZ_GO
    )
    site.add_client(
        "quiet", (2 * days, connected), *((age, {}) for age in (30, 20, 10)), **FRANZ_GO
    )
    site.add_client("few", (10, busy), **FRANZ_GO)
    site.add_client("java", (50, connected), *((age, busy) for age in (30, 20, 10)))
    site.add_client("pushes nothing", first_seen=ago(5), **FRANZ_GO)
    site.write()
    everyone = subscriptions(
        ("all", "*", "client_id=[^f].*|franz"), ("few", NODE, "client_id=few")
    )
    asked = (TOTAL, RATE, NODE, THROTTLE, QUEUE)
    told = site.statuses(everyone, metrics=asked)
    yes, quiet, never = "delivered", "nothing_happened", "not_supported"
    assert told == {
        # Five pushes after its last connection, on the same day.
        "franz": [yes, yes, yes, quiet, never],
        "quiet": [quiet] * 4 + [never],
        "few": ["not_asked", "not_asked", yes, "not_asked", never],
        # Java pushes all that it has in each push.
        "java": ["missing", "missing", yes, "missing", "missing"],
        "pushes nothing": ["missing"] * 4 + [never],
    }
    prefixes = site.spark.table("client_subscriptions").collect()
    assert {row[0]: tuple(row[1]) for row in prefixes} == {
        "few": (NODE,),
        **dict.fromkeys(("franz", "quiet", "java", "pushes nothing"), ("*",)),
    }
    coverage = site.spark.table(views.COVERAGE)
    answer, counts, table = describe_fleet(summarize(coverage).collect())
    assert answer == (
        "2 of 5 clients lack a KIP-714 metric that a subscription asks for"
    )
    assert counts.endswith("of 40 metrics")
    head, _, *lines = table.splitlines()
    assert head.split() == [
        *("CLIENT-ID", "CLIENT-INSTANCE-ID", "TYPE", "STATE"),
        *("METRIC", "STATUS", "LAST-DELIVERED", "NOTE"),
    ]
    assert {line.split()[0] for line in lines} == {"java", "pushes"}
    right = coverage.where("client_id IN ('franz', 'quiet', 'few')")
    assert [*describe_fleet(summarize(right).collect())] == [
        "0 of 3 clients lack a KIP-714 metric that a subscription asks for",
        "4 delivered, 9 nothing_happened, 5 not_asked, 6 not_supported of 24 metrics",
    ]


@pytest.mark.long
def test_a_metric_counts_in_the_last_three_pushes_and_by_its_kind(site):
    site.add_client(
        "one",
        (50, {TOTAL: "sum", RATE: "gauge"}),
        (40, {TOTAL: "gauge", QUEUE: "sum"}),
        (30, {}),
        (20, {TOTAL: "sum"}),
    )
    site.write()
    told = site.statuses(
        EVERYTHING, columns=("status", "delivered_kind", "last_delivered", "kind")
    )
    times = {one: told["one"][place][2] for place, one in enumerate("trq")}
    assert [row[:2] + row[3:] for row in told["one"]] == [
        ("delivered", "sum", "sum"),
        # In the fourth push from the end.
        ("missing", "gauge", "gauge"),
        ("wrong_kind", "sum", "gauge"),
    ]
    assert times["q"] - times["r"] == timedelta(minutes=10)
    assert times["t"] - times["q"] == timedelta(minutes=20)


@pytest.mark.long
def test_who_is_not_asked_is_told_by_selectors_and_prefixes(site):
    site.add_client("orders", (1, {TOTAL: "sum"}), client_software_version="4.3.1")
    site.add_client("old", (1, {TOTAL: "sum"}), client_software_version="3.9.2")
    site.add_client("nameless", (1, {}), client_id=None)
    site.add_client("else", (1, {}), client_source_port=5)
    site.write()
    told = site.statuses(
        subscriptions(
            ("one", f"{PREFIX}producer.connection.", r"client_software_version=4\..*",
             "client_id=ord.*"),
            ("two", f"{PREFIX}producer.record.queue.time.avg", "client_id=.*l.*"),
            ("port", "*", "client_source_port=5"),
            # Nobody matches what the bridge does not take, and no bridge starts with
            # what is no selector.
            ("odd", "*", "client_id=(?=o).*"),
            ("none", "*", "client_id"),
        )
    )  # fmt: skip
    assert told == {
        "orders": ["delivered", "missing", "not_asked"],
        # It has delivered before, whatever it is asked for now.
        "old": ["delivered", "not_asked", "missing"],
        "nameless": ["not_asked", "not_asked", "not_asked"],
        "else": ["missing", "missing", "missing"],
    }


@pytest.mark.long
def test_without_a_subscription_nobody_is_asked(site):
    site.add_client("one", (1, {}))
    site.write()
    assert site.statuses("subscriptions=[]") == {"one": ["not_asked"] * 3}
    # A resource that asks for nothing changes that as little.
    empty = subscriptions(("empty", ""))
    assert site.statuses(empty) == {"one": ["not_asked"] * 3}


@pytest.mark.long
def test_the_subscriptions_of_its_own_cluster_count_for_a_client(site):
    for cluster in ("c1", "c2", None):
        site.add_client(str(cluster), (1, {}), cluster_id=cluster)
    site.subscribe("queue", [QUEUE])
    site.subscribe("rate", [RATE], cluster_id="c2", match=None)
    site.subscribe("over", ["*"], is_current=False)
    site.subscribe("useless", ["*"], problem="lookaround")
    site.write()
    no, asked = "not_asked", "missing"
    followed = {
        "c1": [no, no, asked],
        "c2": [no, asked, no],
        "None": [no, asked, asked],
    }
    assert site.statuses("subscriptions=[]") == followed
    both = subscriptions(("own", TOTAL))
    assert site.statuses(both) == {
        "c1": [asked, no, asked], "c2": [asked, asked, no], "None": [asked] * 3,
    }  # fmt: skip
    conf, cluster = (
        f"bridge.subscriptions_source={one}" for one in ("conf", "cluster")
    )
    assert site.statuses(both, conf) == {one: [asked, no, no] for one in followed}
    assert site.statuses(both, cluster) == followed


@pytest.mark.long
def test_a_resource_stands_before_a_subscription_of_its_name_used_or_not(site):
    site.add_client("c1", (1, {}), cluster_id="c1")
    site.add_client("c2", (1, {}), cluster_id="c2")
    site.add_client("c3", (1, {}), cluster_id="c3")
    site.subscribe("same", [RATE])
    site.subscribe("same", ["*"], cluster_id="c2", problem="lookaround")
    site.subscribe("same", ["*"], cluster_id="c3", is_current=False)
    site.write()
    assert site.statuses(subscriptions(("same", TOTAL))) == {
        "c1": ["not_asked", "missing", "not_asked"],
        "c2": ["not_asked", "not_asked", "not_asked"],
        "c3": ["missing", "not_asked", "not_asked"],
    }


@pytest.mark.long
def test_empty_pushes_are_told_from_silence(site):
    site.add_client("active", (1, {TOTAL: "sum"}))
    site.add_client("empty", (4, {TOTAL: "sum"}), (3, {}), (2, {}), (1, {}))
    site.add_client("idle", (60 * 9, {TOTAL: "sum"}))
    site.add_client("idle and empty", (60 * 9, {}))
    site.add_client("gone", (1, {TOTAL: "sum"}), terminated_at=NOW)
    site.rows[CLIENT_CONFIGS.name] += [
        {"client_instance_id": "pushes nothing", "client_type": "producer"},
        {"client_instance_id": "no kafka client", "client_type": "admin"},
    ]
    site.write()
    told = site.statuses(
        EVERYTHING, metrics=[TOTAL], columns=("status", "client_state")
    )
    assert told == {
        "active": [("delivered", "active")],
        "empty": [("missing", "empty")],
        "idle": [("delivered", "idle")],
        "idle and empty": [("missing", "idle")],
        "gone": [("delivered", "terminated")],
        "pushes nothing": [("missing", "never_pushed")],
    }


@pytest.mark.long
def test_a_client_is_asked_for_the_metrics_of_its_type_where_that_is_known(site):
    site.add_client("producer", (1, {TOTAL: "sum"}))
    site.add_client("consumer", (1, {}), client_type="consumer")
    site.add_client("admin", (1, {TOTAL: "sum"}), client_type="admin")
    site.add_client("unknown", (1, {}), client_type=None)
    site.add_client("told otherwise", (1, {}), client_type=None)
    site.rows[CLIENT_CONFIGS.name].append(
        {"client_instance_id": "told otherwise", "client_type": "consumer"}
    )
    site.write()
    told = site.statuses(EVERYTHING, metrics=[TOTAL, POLL])
    assert {name: len(of_client) for name, of_client in told.items()} == {
        "producer": 1, "consumer": 1, "unknown": 2, "told otherwise": 1,
    }  # fmt: skip
    counts = site.spark.table(views.COVERAGE).groupBy("client_instance_id").count()
    assert dict(counts.collect()) == {
        "producer": 8, "consumer": 13, "unknown": 21, "told otherwise": 13,
    }  # fmt: skip


@pytest.mark.long
def test_a_filter_on_clients_reaches_the_files_of_points(site):
    site.add_client("one", (1, {TOTAL: "sum"}))
    site.write()
    site.statuses(EVERYTHING)
    one = site.spark.table(views.COVERAGE).where("client_instance_id = 'one'")
    plan = one._jdf.queryExecution().optimizedPlan().toString()
    scanned = [line for line in plan.splitlines() if "Relation" in line]
    filters = [line for line in plan.splitlines() if "Filter" in line]
    assert len(scanned) >= 3
    assert sum("client_instance_id" in one and "= one" in one for one in filters) >= 3


def test_it_is_there_where_points_are(spark, tmp_path):
    settings = load_settings("base", [f"tables.root_path={tmp_path}"])
    make_tables(spark, settings.tables, TELEMETRY_CONTRACTS)
    names = views.find_names("select * from client_metric_coverage")
    assert views.COVERAGE in views.register(spark, settings, names)
    assert spark.table(views.COVERAGE).count() == 0
