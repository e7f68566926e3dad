"""The list of clients has one row per client, with its own findings and limits."""

from datetime import UTC, datetime

from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.reading.client_list import list_clients
from pipelines.reading.finding_overview import (
    count_by_client,
    select_by_rule,
    with_known_client,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_CLIENT = "cluster_id STRING, principal STRING, client_id STRING, client_type STRING"
_CLIENTS = f"{_CLIENT}, state STRING, active_instances INT"
_FINDINGS = (
    f"{_CLIENT}, logical_client STRING, rule STRING, severity STRING, "
    "instances INT, since TIMESTAMP, setting STRING, suggested_value STRING, "
    "why STRING, source STRING"
)
_USE = (
    "cluster_id STRING, principal STRING, client_id STRING, quota_key STRING, "
    "`limit` DOUBLE, `use` DOUBLE, throttled_ms DOUBLE"
)


def client(name, kind="producer", cluster="c1"):
    return (cluster, "User:a", name, kind, "active", 1)


def finding(name, kind, rule="r", severity="error", cluster="c1"):
    told = (f"l-{name}", rule, severity, 2, NOW, "linger.ms", "5", "why", "KIP")
    return (cluster, "User:a", name, kind, *told)


def use(name, part, key="producer_byte_rate", cluster="c1"):
    return (cluster, "User:a", name, key, 100.0, part, None)


def listed(spark, clients, findings=(), limits=()):
    known = spark.createDataFrame(clients, _CLIENTS)
    rows = spark.createDataFrame([*findings], _FINDINGS)
    found = list_clients(
        known,
        rows.transform(with_known_client, known).transform(count_by_client),
        spark.createDataFrame([*limits], _USE),
    )
    columns = ("cluster_id", "client_id", "client_type", "errors", "use")
    return [tuple(row) for row in found.select(*columns).collect()]


def test_list_clients_unknown_cluster_and_limits_of_two_has_one_row(spark):
    limits = [use("a", 0.99), use("a", 0.1, cluster="c2"), use("b", 0.5, cluster="c2")]
    clients = [client("a", cluster=None), client("b", cluster=None)]
    # The limit of b is of the only cluster that knows its name.
    assert listed(spark, clients, limits=limits) == [
        (None, "b", "producer", 0, 0.5),
        (None, "a", "producer", 0, None),
    ]


def test_list_clients_equal_names_in_two_clusters_have_own_numbers(spark):
    clients = [client("a"), client("a", cluster="c2")]
    found = listed(
        spark, clients, [finding("a", "producer")],
        [use("a", 0.2), use("a", 0.8, cluster="c2")],
    )  # fmt: skip
    assert found == [
        ("c1", "a", "producer", 1, 0.2),
        ("c2", "a", "producer", 0, 0.8),
    ]


def test_list_clients_limit_of_other_type_does_not_count(spark):
    clients = [client("a"), client("a", "consumer"), client("a", None)]
    limits = [use("a", 0.9, "consumer_byte_rate"), use("a", 0.2)]
    assert {row[2:] for row in listed(spark, clients, limits=limits)} == {
        ("producer", 0, 0.2),
        ("consumer", 0, 0.9),
        (None, 0, 0.9),
    }


def test_with_known_client_type_known_later_keeps_finding_on_its_row(spark):
    # The rule was evaluated before the client pushed its configuration.
    findings = [finding("a", None), finding("b", "consumer", cluster="")]
    clients = [client("a"), client("b", "consumer", cluster=None)]
    assert listed(spark, clients, findings) == [
        ("c1", "a", "producer", 1, None),
        (None, "b", "consumer", 1, None),
    ]


def test_select_by_rule_tells_worst_severity_first(spark):
    findings = [
        finding("a", "producer", "mild", "advice"),
        finding("a", "producer", "mixed", "advice"),
        finding("b", "producer", "mixed", "warning"),
        finding("a", "producer", "grave"),
    ]
    rows = spark.createDataFrame(findings, _FINDINGS)
    found = select_by_rule(rows, NOW).select("rule", "severity", "clients", "opened")
    assert [tuple(row) for row in found.collect()] == [
        *(("grave", "error", 1, 1), ("mixed", "warning", 2, 2)),
        ("mild", "advice", 1, 1),
    ]
    later = select_by_rule(rows, NOW.replace(hour=13)).agg(F.sum("opened"))
    assert later.collect()[0][0] == 0
