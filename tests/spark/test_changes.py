"""Changes since a timestamp, each once."""

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.reading import changes
from pipelines.tables.configs import CLIENT_CONFIG_HISTORY
from pipelines.tables.findings import CLIENT_FINDINGS

START = datetime(2026, 3, 1, tzinfo=UTC)
CLIENTS = (
    "cluster_id STRING, principal STRING, client_id STRING, client_type STRING, "
    "client_software_name STRING, client_software_version STRING, state STRING, "
    "first_seen TIMESTAMP, last_seen TIMESTAMP"
)
INSTANCES = f"{CLIENTS}, client_instance_id STRING, logical_client STRING"


def minutes(number):
    return START + timedelta(minutes=number)


def client(name, state, first, last, version="4.3.1"):
    seen = (None if first is None else minutes(first), minutes(last))
    return ("k", "User:a", name, "producer", "java", version, state, *seen)


def rows_of(spark, schema, *rows):
    return spark.createDataFrame(rows, schema)


def of_contract(spark, contract, *rows):
    schema = ", ".join(f"`{one.name}` {one.sql_type}" for one in contract.columns)
    made = [[row.get(one.name) for one in contract.columns] for row in rows]
    return spark.createDataFrame(made, schema)


@pytest.fixture(scope="module")
def tables(spark):
    finding = {"cluster_id": "", "logical_client": "l", "severity": "error"}
    value = {"logical_client": "l", "principal": "User:a", "client_id": "steady"}
    value |= {"client_type": "producer", "config_key": "acks", "value_id": "v"}
    quotas = (
        "cluster_id STRING, entity_path STRING, quota_key STRING, quota_value DOUBLE, "
        "valid_from TIMESTAMP, valid_to TIMESTAMP, not_before TIMESTAMP, source STRING"
    )
    quota = ("k", "users/a", "producer_byte_rate")
    return {
        "known_clients": rows_of(
            spark,
            CLIENTS,
            client("steady", "active", -900, 20),
            client("new", "active", 5, 20),
            client("left", "terminated", -900, 7),
            client("left-before", "expired", -900, -800),
            # Known by the proxy only; its connection is new.
            client("wire", "active", None, 9),
        ),
        "known_instances": rows_of(
            spark,
            INSTANCES,
            *(
                (*client("steady", "active", first, last, version), name, "l")
                for name, first, last, version in (
                    *(("s1", -900, 11, "4.3.1"), ("s2", -900, 30, "4.3.1")),
                    # The roll-out of a version, in which an old instance restarts.
                    *(("s3", 10, 40, "4.4.0"), ("s4", 12, 30, "4.3.1")),
                    *(("s5", 15, 40, "4.4.0"), ("s6", 50, 60, "4.3.1")),
                    # A restart.
                    ("s7", 70, 80, "4.3.1"),
                )
            ),
        ),
        "client_config_timeline": of_contract(
            spark,
            CLIENT_CONFIG_HISTORY,
            value
            | {"config_value": "1", "valid_from": minutes(-9)}
            | {"valid_to": minutes(3)},
            value | {"config_value": "all", "valid_from": minutes(3)},
        ),
        "client_quotas": rows_of(
            spark, quotas, (*quota, 5.0, minutes(2), None, None, "admin_api")
        ),
        "client_findings": of_contract(
            spark,
            CLIENT_FINDINGS,
            finding | {"rule": "old", "since": minutes(-9), "until": minutes(4)},
            finding | {"rule": "never-open", "since": minutes(4), "until": minutes(4)},
            finding | {"rule": "opened", "since": minutes(6)},
        ),
    }


def test_select_changes_returns_each_change_once(tables):
    found = changes.select_changes(tables, START).collect()
    assert found[0].asDict().keys() == {*changes.CHANGE}
    told = [
        (row["what"], row["client_id"], row["name"], row["before"], row["after"])
        for row in reversed(found)
    ]
    assert told == [
        ("quota", None, "users/a producer_byte_rate", None, "5.0"),
        ("config", "steady", "acks", "1", "all"),
        ("finding closed", None, "old", "error", None),
        ("appeared", "new", "java 4.3.1", None, "active"),
        ("finding opened", None, "opened", None, "error"),
        ("left", "left", "java 4.3.1", "active", "terminated"),
        ("version", "steady", "java", "4.3.1", "4.4.0"),
        ("version", "steady", "java", "4.4.0", "4.3.1"),
    ]
    assert {row["cluster_id"] for row in found if "finding" not in row["what"]} == {"k"}


def test_select_changes_without_tables_of_a_kind_returns_the_others(tables):
    some = {"known_clients": tables["known_clients"]}
    found = changes.select_changes(some, START).collect()
    assert [row["what"] for row in found] == ["left", "appeared"]
