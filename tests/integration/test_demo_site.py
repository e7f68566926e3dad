"""The site with faults in it: what its tables tell of them, before and after."""

import math
import re
import subprocess

import pytest

from pipelines.demo.site_plan import CLIENTS, ROLLED_BROKERS, Family
from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent
PATIENCE_S = 1_800
PREFIX = "org.apache.kafka."


@pytest.fixture(scope="module")
def site(spark):
    """Return what a mended site printed and said, and the folder of its tables."""
    ended = subprocess.run(
        [str(ROOT / "spark-submit.sh"), "demo", "--site", "--mend"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == 0, ended.stderr
    return spark, re.search(r"Delta tables: (\S+)", ended.stdout)[1]


def read(site, table, *columns):
    spark, tables = site
    rows = spark.read.format("delta").load(f"{tables}/{table}").select(*columns)
    return [row.asDict() for row in rows.collect()]


def find_instances(site):
    """Return the instances of each client id, the first one first."""
    rows = read(site, "client_pushes", "client_id", "client_instance_id", "received_at")
    found = {}
    for row in sorted(rows, key=lambda one: one["received_at"]):
        found.setdefault(row["client_id"], []).append(row["client_instance_id"])
    return {client: list(dict.fromkeys(ids)) for client, ids in found.items()}


def configs_of(site, client_id):
    """Return what instances of a client ran with, by instance and key."""
    rows = read(
        site, "client_config_history",
        "client_id", "client_instance_ids", "config_key", "config_value",
    )  # fmt: skip
    return {
        (instance, row["config_key"]): row["config_value"]
        for row in rows
        if row["client_id"] == client_id
        for instance in row["client_instance_ids"]
    }


def newest(site, client_id, metric):
    """Return the last number of a metric that each instance of a client told."""
    rows = read(
        site, "client_metrics",
        "client_id", "client_instance_id", "metric", "value_double", "received_at",
    )  # fmt: skip
    told = {}
    for row in sorted(rows, key=lambda one: one["received_at"]):
        value = row["value_double"]
        is_it = (row["client_id"], row["metric"]) == (client_id, PREFIX + metric)
        if is_it and value is not None and not math.isnan(value):
            told[row["client_instance_id"]] = value
    return told


@pytest.mark.long
def test_every_client_is_seen_with_its_family(site):
    instances = find_instances(site)
    assert instances.keys() == {one.client_id for one in CLIENTS}
    rows = read(site, "client_pushes", "client_id", "client_software_name")
    software = {row["client_id"]: row["client_software_name"] for row in rows}
    for one in CLIENTS:
        is_java = software[one.client_id] == "apache-kafka-java"
        assert is_java == (one.family is Family.JAVA)


@pytest.mark.long
@pytest.mark.parametrize("client", CLIENTS, ids=lambda one: one.client_id)
def test_configurations_are_those_that_were_set(site, client):
    instances = find_instances(site)[client.client_id]
    configs = configs_of(site, client.client_id)
    if client.family is Family.STOCK:
        rows = read(site, "client_wire_configs", "client_id", "config_key")
        seen = {r["config_key"] for r in rows if r["client_id"] == client.client_id}
        assert "acks" in seen
        assert not configs
        return
    for key, value in client.configs.items():
        assert configs[instances[0], key] == value
    for key, value in client.fix.items():
        assert configs[instances[-1], key] == value


@pytest.mark.long
def test_telemetry_tells_the_faults_that_no_configuration_does(site):
    instances = find_instances(site)
    told = newest(site, "clickstream", "producer.records.per.request.avg")
    before, after = (told[instances["clickstream"][place]] for place in (0, -1))
    assert before < 5 <= after
    told = newest(site, "search-index", "consumer.fetch.manager.fetch.rate")
    before, after = (told[instances["search-index"][place]] for place in (0, -1))
    assert before > 40 > after
    told = newest(site, "export", "producer.produce.throttle.time.avg")
    before, after = (told[instances["export"][place]] for place in (0, -1))
    assert before > 100
    assert after < 10


@pytest.mark.long
def test_quotas_and_brokers_have_their_histories(site):
    rows = read(site, "client_quotas", "entity_path", "quota_value", "is_current")
    values = sorted(
        (row["is_current"], row["quota_value"])
        for row in rows
        if row["entity_path"] == "clients/export"
    )
    assert values == [(False, 2_800.0), (True, 100_000.0)]
    rows = read(
        site, "broker_static_configs", "broker_id", "config_name", "config_value"
    )
    fetchers = {
        (row["broker_id"], row["config_value"])
        for row in rows
        if row["config_name"] == "num.replica.fetchers"
    }
    assert fetchers >= {(1, "1"), *((one, "2") for one in ROLLED_BROKERS)}


@pytest.mark.long
def test_each_fault_is_found_and_its_fix_closes_it(site):
    found = {
        (row["client_id"], row["rule"]): row
        for row in read(
            site, "client_findings",
            "client_id", "rule", "severity", "since", "until", "evidence",
        )
        if row["until"] is None or row["since"] < row["until"]
    }  # fmt: skip
    wrong = {one.client_id: one.rule for one in CLIENTS if one.rule}
    for place in wrong.items():
        assert found[place]["until"] is not None
        assert found[place]["evidence"]
    right = {one.client_id for one in CLIENTS} - wrong.keys()
    assert [place for place in found if place[0] in right] == []
