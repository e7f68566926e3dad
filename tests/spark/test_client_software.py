"""What clients run and use, and what a release of brokers does with them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from pipelines.reading import views
from pipelines.settings import load_settings
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows

NOW = datetime.now(tz=UTC)
JAVA, PYTHON = "apache-kafka-java", "confluent-kafka-python"
CONTRACTS = (CLIENT_INSTANCES, CLIENT_PUSHES, CLIENT_WIRE_CONFIGS, CLIENT_TRAFFIC)
SEEN = (
    # client id, principal, software, version, client type
    ("old-java", "User:a", JAVA, "3.1.0", "producer"),
    ("old-java-reader", "User:a", JAVA, "3.1.0", "consumer"),
    ("new-java", "User:a", JAVA, "4.4.0", "producer"),
    ("platform", "User:a", JAVA, "7.1.4-ccs", "producer"),
    ("next-platform", "User:a", JAVA, "8.0.0-ce", "producer"),
    # Patch releases that no file lists yet.
    ("unlisted-old", "User:a", JAVA, "3.8.9", "consumer"),
    ("unlisted-new", "User:a", JAVA, "4.3.99", "consumer"),
    ("binding", "User:b", PYTHON, "2.16.1-rdkafka-2.16.0", "producer"),
    ("old-binding", "User:b", PYTHON, "2.7.0", "consumer"),
    ("bad-binding", "User:b", PYTHON, "2.10.0-rdkafka-2.10.0", None),
    ("rust", "User:b", "rust-rdkafka", "0.36.2", "producer"),
    ("go", "User:b", "kgo", "v1.19.0", "producer"),
    ("other", "User:c", "kafkajs", "2.2.4", "producer"),
    (None, "User:c", "unknown", "unknown", "consumer"),
)


@pytest.fixture(scope="module")
def settings(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("software")
    settings = load_settings("base", [f"tables.root_path={folder}"])
    make_tables(spark, settings.tables, CONTRACTS)
    instances, wire, traffic = [], [], []
    for place, (client_id, principal, name, version, kind) in enumerate(SEEN):
        who = {
            "client_id": client_id,
            "principal": principal,
            "client_software_name": name,
            "client_software_version": version,
            "cluster_id": "c1",
        }
        instances.append(
            who
            | {
                "client_instance_id": f"instance-{place}",
                "client_type": kind,
                "first_seen": NOW - timedelta(hours=2),
            }
        )
    del instances[-1]
    who["client_source_address"] = "10.0.0.7"
    wire.append(who | {"client_type": "consumer", "received_at": NOW})

    def use(client_id, principal, software, versions, **fields):
        traffic.append(
            {
                "cluster_id": "c1",
                "principal": principal,
                "client_id": client_id,
                "client_software_name": software[0],
                "client_software_version": software[1],
                "window_start": NOW - timedelta(hours=1),
                "received_at": NOW - timedelta(minutes=59),
                "api_versions": versions,
            }
            | fields
        )

    use("old-java", "User:a", (JAVA, "3.1.0"), [(0, 9), (3, 12), (18, 3)])
    use("new-java", "User:a", (JAVA, "4.4.0"), [(0, 13), (18, 5), (28, 6)])
    use("", "User:c", ("unknown", "unknown"), [(1, 3), (1, 2), (9, 0), (7_000, 1)])
    use("", "User:c", ("unknown", "unknown"), [(1, 3), (3, 0)], broker_id=2)
    # Long ago, and a connection that sent no request.
    long_ago = NOW - timedelta(days=30)
    use("go", "User:b", ("kgo", "v1.19.0"), [(0, 2)], window_start=long_ago)
    use("rust", "User:b", ("rust-rdkafka", "0.36.2"), [])
    use("share", "User:d", (JAVA, "4.0.0"), [(78, 0)])
    append_rows(settings.tables, CLIENT_INSTANCES, *instances)
    append_rows(settings.tables, CLIENT_WIRE_CONFIGS, *wire)
    append_rows(settings.tables, CLIENT_TRAFFIC, *traffic)
    return settings


def ask(spark, settings, capsys, line, code):
    capsys.readouterr()
    path = f"tables.root_path={settings.tables.root_path}"
    run_line(spark, line, path, code=code)
    return capsys.readouterr().out


def test_software_is_known_by_its_core(spark, settings):
    views.register(spark, settings, views.find_names_in(views.CLIENT_SOFTWARE))
    rows = spark.table(views.CLIENT_SOFTWARE).collect()
    assert {
        row["client_id"]: (row["family"], row["core_release"], row["support"])
        for row in rows
    } == {
        "old-java": ("java", "3.1.0", "ended"),
        "old-java-reader": ("java", "3.1.0", "ended"),
        "new-java": ("java", "4.4.0", "supported"),
        "platform": ("java", "3.1", None),
        "next-platform": ("java", "4.0", None),
        "binding": ("librdkafka", "2.16.0", None),
        "old-binding": ("librdkafka", "2.6.1", None),
        "bad-binding": ("librdkafka", "2.10.0", "advised_against"),
        "rust": ("librdkafka", None, None),
        "go": ("franz-go", "1.19.0", None),
        "other": ("other", "2.2.4", None),
        None: ("other", None, None),
        "share": ("java", "4.0.0", "ended"),
        # Kafka supports minor lines, whatever the patch release.
        "unlisted-old": ("java", "3.8.9", "ended"),
        "unlisted-new": ("java", "4.3.99", "supported"),
    }
    by_id = {row["client_id"]: row for row in rows}
    assert str(by_id["old-binding"]["released_on"]) == "2024-12-21"
    assert by_id["platform"]["released_on"] is None
    assert by_id["go"]["newest_core_release"] == "1.21.5"
    assert by_id["old-java"]["core_number"] == 3_000_001_000_000
    assert by_id["old-java"]["client_types"] == ["producer"]


@pytest.mark.long
def test_stale_names_faults_by_principal(spark, settings, capsys):
    (line,) = find_block("docs/guide/upgrades-of-clients.md", "clients-stale").commands
    text = ask(spark, settings, capsys, line, 1)
    assert "10 of 15 clients have software" in text
    assert (
        "warning: java 3.1.0 idempotence is not on although it is the default "
        "[KAFKA-13598, fixed in 3.1.1]: old-java\n"
    ) in text
    # A patch release of a vendor may have the fix.
    assert "warning: java 3.1 may have: idempotence" in text
    assert "old-java-reader" in text
    assert "[librdkafka #5088 #5051, fixed in 2.10.1]: bad-binding" in text
    assert "new-java" not in text
    found = json.loads(ask(spark, settings, capsys, f"{line} --json --all", 1))
    by_id = {one["client_id"]: one for one in found}
    assert len(found) == 15
    assert by_id["new-java"]["faults"] == []
    assert by_id["old-java"]["released_days_ago"] == (
        (NOW.date() - datetime(2022, 1, 24, tzinfo=UTC).date()).days
    )
    faults = {one["issue"]: one for one in by_id["bad-binding"]["faults"]}
    # Of no type that is known: those of both types may be there.
    assert not faults["librdkafka #4844 #5213"]["is_sure"]
    assert faults["librdkafka #5088 #5051"]["is_sure"]
    assert by_id["bad-binding"]["faults"][0]["severity"] == "error"
    # One that only a configuration has.
    only = f"{line} --json --principal User:b --client-id old-binding"
    (one,) = json.loads(ask(spark, settings, capsys, only, 1))
    keys = {fault["condition_key"] for fault in one["faults"]}
    assert keys == {None, "partition.assignment.strategy"}
    quiet = f"{line} --client-id new-java"
    assert ask(spark, settings, capsys, quiet, 0).startswith("0 of 1 client have")


def test_upgrade_names_who_breaks(spark, settings, capsys):
    block = find_block("docs/guide/upgrades-of-clients.md", "clients-upgrade")
    (line,) = block.commands
    text = ask(spark, settings, capsys, line, 1)
    assert "User:c breaks with brokers 4.4:" in text
    assert "2 of 4 clients use API versions that brokers 4.4 do not serve" in text
    assert "of 11 others nothing is known" in text
    assert "User:b, not seen by the proxy: bad-binding" in text
    assert "User:a breaks" not in text
    found = json.loads(ask(spark, settings, capsys, f"{line} --json --all", 1))
    by_id = {one["client_id"]: one for one in found}
    assert len(by_id) == len(found) == 15
    assert by_id["old-java"]["verdict"] == by_id["new-java"]["verdict"] == "works"
    assert by_id["go"]["verdict"] == by_id["rust"]["verdict"] == "not_seen"
    broken = by_id[None]
    assert (broken["principal"], broken["verdict"]) == ("User:c", "breaks")
    assert [
        (one["api_name"], one["api_version"], one["first_version"])
        for one in broken["lost"]
    ] == [("Fetch", 2, 4), ("Fetch", 3, 4), ("OffsetFetch", 0, 1)]
    # A version that only an early release had.
    (lost,) = by_id["share"]["lost"]
    assert (lost["api_name"], lost["first_version"]) == ("ShareFetch", 1)


@pytest.mark.long
def test_upgrade_is_asked_of_other_releases_clients_and_times(spark, settings, capsys):
    (line,) = find_block(
        "docs/guide/upgrades-of-clients.md", "clients-upgrade"
    ).commands
    back = line.replace("4.4", "3.9")
    found = json.loads(ask(spark, settings, capsys, f"{back} --json", 1))
    # Newer versions are not missed: a client has the older ones as well.
    assert [one["client_id"] for one in found if one["verdict"] == "breaks"] == [
        "share"
    ]
    (lost,) = next(one["lost"] for one in found if one["client_id"] == "share")
    assert lost["first_version"] is None
    works = f"{line} --principal User:a --client-id new-java"
    assert ask(spark, settings, capsys, works, 0) == (
        "0 of 1 client use API versions that brokers 4.4 do not serve\n"
    )
    wide = f"{line} --since 2020-01-01 --client-id go --json"
    (go,) = json.loads(ask(spark, settings, capsys, wide, 1))
    assert go["lost"][0]["api_name"] == "Produce"
