"""Whose configuration stands out: a hit, a near miss, and what nobody knows."""

import pytest

from pipelines.reading import config_outliers

JAVA = ("apache-kafka-java", "producer")


def entries(spark, *rows):
    """Return entries of clients: name, key, value, whether it is a default, cluster."""
    schema = (
        "cluster_id STRING, logical_client STRING, principal STRING, client_id STRING, "
        "client_software_name STRING, client_type STRING, client_instance_id STRING, "
        "client_source_address STRING, config_key STRING, config_value STRING, "
        "is_default BOOLEAN"
    )
    made = []
    for name, key, value, is_default, *cluster in rows:
        logical, _, instance = name.partition("/")
        who = (*(cluster or ["k1"]), logical, "User:a", logical, *JAVA)
        made.append((*who, f"{logical}-{instance or 1}", "a", key, value, is_default))
    return spark.createDataFrame(made, schema)


def test_an_outlier_is_unlike_most_peers_by_what_somebody_set(spark):
    peers = ("a", "b", "c", "d")
    given = [(name, "acks", "all", False) for name in peers]
    given += [("odd", "acks", "1", False), ("hidden", "acks", None, False)]
    # Half and half: nobody's outlier.
    given += [(name, "linger.ms", str(len(name)), False) for name in (*peers, "odd")]
    given += [(name, "linger.ms", "9", False) for name in ("e", "f", "g")]
    # Two releases have two defaults; somebody who sets one of them stands out.
    given += [(name, "retries", "1", True) for name in peers]
    given += [("old", "retries", "2", True), ("odd", "retries", "2", False)]
    # Too few to say what is usual.
    given += [
        ("a", "few", "1", False),
        ("b", "few", "1", False),
        ("c", "few", "2", False),
    ]
    found = config_outliers.select_outliers(entries(spark, *given)).collect()
    told = [
        (row["client_id"], row["config_key"], row["config_value"], row["usual_value"])
        for row in found
    ]
    assert told == [("odd", "acks", "1", "all"), ("odd", "retries", "2", "1")]
    assert [(row["peers"], row["usual_share"]) for row in found] == [
        (5, 0.8),
        (6, pytest.approx(4 / 6)),
    ]


def test_select_outliers_compares_clients_of_one_cluster(spark):
    peers = ("a", "b", "c", "d")
    given = [(name, "acks", "all", False, "k1") for name in peers]
    given += [(name, "acks", "1", False, "k2") for name in peers]
    given += [(name, "client.id", name, False, "k2") for name in peers]
    given += [("odd", "acks", "all", False, "k2"), ("odd2", "acks", "all", False, "k2")]
    found = config_outliers.select_outliers(entries(spark, *given))
    (row,) = config_outliers.group_outliers(found).collect()
    assert (row["cluster_id"], row["config_value"], row["clients"]) == ("k2", "all", 2)
    assert (row["usual_value"], row["usual_clients"]) == ("1", 4)
    assert row["client_id"] == "odd"
