"""What `brokers` prints, of tables that the job has made."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.brokers.answers import AmbiguousCluster, BrokerCommand
from pipelines.commands.call import Call
from pipelines.errors import MissingTable, NothingToDo
from pipelines.reading import brokers
from pipelines.reading.naming import tell_clusters_apart
from pipelines.settings import load_settings
from tests.support.cluster_records import (
    BROKER,
    START_MS,
    broker,
    config,
    endpoint,
    full_set,
    gone,
    place,
    sent,
)
from tests.support.spark.cluster_job import ClusterJob

SEGMENT = "log.segment.bytes"
HOUR = 3_600_000


def described(number, at, segment, *, defaults=(SEGMENT, "x"), **options):
    """Return a look at a broker with three configs, one of which names it."""
    configs = {SEGMENT: segment, "x": "1", "node.id": str(number)}
    said = {"defaults": ",".join(defaults), "static_configs": "described"}
    return broker(number, at, configs, **said, **options)


RECORDS = [
    described(1, 0, "1073741824", rack="r1"),
    described(2, 0, "1073741824", rack="r1"),
    described(3, 0, "1073741824"),
    broker(4, 0, static_configs="refused"),
    broker(5, 0, fenced=True, static_configs="unreachable"),
    broker(6, 0, endpoints=[endpoint(1, host="::1")], static_configs="refused"),
    gone(6, HOUR),
    gone(2, HOUR),
    described(2, 2 * HOUR, "134217728", rack="r1", defaults=("x",)),
    config(BROKER, "2", SEGMENT, "268435456", 3 * HOUR),
    config(BROKER, "", "x", "7", 4 * HOUR),
    broker(5, 5 * HOUR, fenced=False, rack="r2", static_configs="unreachable"),
    broker(5, 6 * HOUR, fenced=True, static_configs="unreachable"),
]
LATER = [
    sent(one.key, one.value, one.ms, **(one.headers | {"cluster_id": "cluster-2"}))
    for one in RECORDS[:1]
]


@pytest.fixture(scope="module")
def settings(spark, tmp_path_factory):
    job = ClusterJob(spark, tmp_path_factory.mktemp("brokers"))
    job.write(place(RECORDS))
    return job.settings


SEEN = datetime(2026, 11, 18, 17, 6, 40, tzinfo=UTC)
"""Time of the newest record."""


def ask(spark, settings, line, now=SEEN):
    """Return the exit code of a command and what it prints."""
    said = []
    arguments = parse_words(["brokers", *line.split()])
    command = BrokerCommand(spark, settings, arguments, said.append, now)
    code = command.answer()
    return code, said


def test_brokers_are_listed_with_what_they_have_told(spark, settings):
    assert ask(spark, settings, "list") == (
        0,
        [
            (
                "BROKER  STATE   RACK  ENDPOINTS                   REGISTERED            "
                "STATIC-CONFIGS"
            ),
            (
                "1       live    r1    PLAINTEXT://127.0.0.1:9091  2026-11-18T11:06:40Z  "
                "described (3)"
            ),
            (
                "2       live    r1    PLAINTEXT://127.0.0.1:9092  2026-11-18T13:06:40Z  "
                "described (3)"
            ),
            (
                "3       live    -     PLAINTEXT://127.0.0.1:9093  2026-11-18T11:06:40Z  "
                "described (3)"
            ),
            (
                "4       live    -     PLAINTEXT://127.0.0.1:9094  2026-11-18T11:06:40Z  "
                "refused"
            ),
            (
                "5       fenced  -     PLAINTEXT://127.0.0.1:9095  2026-11-18T11:06:40Z  "
                "unreachable"
            ),
            (
                "6       gone    -     PLAINTEXT://[::1]:1         2026-11-18T11:06:40Z  "
                "refused"
            ),
            "last observation of the cluster: 2026-11-18T17:06:40Z",
        ],
    )


def test_brokers_list_after_last_observation_reports_unknown_since(spark, settings):
    hour = timedelta(hours=1)
    for later, state in ((hour, "live"), (1.5 * hour, "unknown")):
        _, said = ask(spark, settings, "list", SEEN + later)
        assert [line.split()[1] for line in said[1:7]] == [
            *[state] * 4,
            "fenced",
            "gone",
        ]
    assert said[7].startswith(
        "unknown since 2026-11-18T17:06:40Z, the last observation"
    )


@pytest.mark.parametrize(
    ("source", "ages"),
    [("metadata_log", {0.5: "live", 1.5: "unknown"}), ("file", {100: "live"})],
)
def test_brokers_list_of_unchanged_log_uses_time_of_observation(
    spark, tmp_path, source, ages
):
    job = ClusterJob(spark, tmp_path)
    # The last position of a quiet log stays the same in each full snapshot.
    headers = {"timestamp_ms": str(START_MS), "observed_at_ms": str(START_MS + HOUR)}
    snapshot = full_set([broker(1, source=source)], source=source)
    job.write(place([replace(one, headers=one.headers | headers) for one in snapshot]))
    observed = datetime.fromtimestamp((START_MS + HOUR) / 1000, UTC)
    for age, state in ages.items():
        now = observed + timedelta(hours=age)
        _, said = ask(spark, job.settings, "list", now)
        assert said[1].split()[1] == state
        assert ("2026-11-18T12:06:40Z" in said[-1]) == (source != "file")


@pytest.mark.long
def test_drift_names_each_value_and_who_has_it(spark, settings):
    assert ask(spark, settings, "drift") == (
        1,
        [
            "CONFIG             VALUE       BROKERS  SOURCE   EFFECTIVE",
            "log.segment.bytes  1073741824  1,3      default",
            (
                "                   134217728   2        static   268435456 "
                "(dynamic_broker)"
            ),
            (
                "1 of 3 configs differs between 3 live brokers (1 that names a broker is "
                "left out, --all shows it)"
            ),
            "not among them: 4 (static configs refused)",
        ],
    )
    code, said = ask(spark, settings, "drift --all --broker 1 --broker 3")
    assert code == 1
    assert [line.split()[0] for line in said[1:3]] == ["node.id", "3"]
    code, said = ask(spark, settings, "drift --key x")
    assert (code, said[0]) == (0, "0 of 1 config differ between 3 live brokers")


@pytest.mark.long
def test_check_names_who_breaks_a_constraint(spark, settings):
    line = f"check --key {SEGMENT} --min 200000000"
    assert ask(spark, settings, line) == (
        1,
        [
            "BROKER  VALUE      SOURCE  VERDICT",
            "2       134217728  static  breaks --min 200000000",
            "1 of 3 live brokers breaks the constraint",
            "not among them: 4 (static configs refused)",
        ],
    )
    code, said = ask(spark, settings, f"check --key {SEGMENT} --max 1e10")
    assert (code, said[0]) == (0, "0 of 3 live brokers break the constraint")
    code, said = ask(spark, settings, "check --key x --value 2 --json")
    assert [row["broker_id"] for row in json.loads(said[0])] == [1, 2, 3]
    with pytest.raises(NothingToDo, match=f"log.segment.byte; there is {SEGMENT}"):
        ask(spark, settings, "check --key log.segment.byte --min 1")


@pytest.mark.long
def test_history_tells_what_happened_to_a_broker(spark, settings):
    code, said = ask(spark, settings, "history --broker 2")
    seen = [f"seen-{1_795_000_000_000 + at * HOUR}" for at in (0, 2)]
    assert said == [
        f"2026-11-18T11:06:40Z  registered         incarnation {seen[0]}",
        f"2026-11-18T12:06:40Z  vanished           incarnation {seen[0]}",
        f"2026-11-18T13:06:40Z  registered         incarnation {seen[1]}",
        (
            "2026-11-18T13:06:40Z  log.segment.bytes  1073741824 -> 134217728 (static, new "
            "incarnation)"
        ),
        "2026-11-18T14:06:40Z  log.segment.bytes  set to 268435456 (dynamic)",
        "2026-11-18T15:06:40Z  x                  set to 7 (dynamic default)",
    ]
    assert code == 0
    narrow = "history --from 2026-11-18T12:00 --to 2026-11-18T13:00"
    _, said = ask(spark, settings, narrow)
    assert [line.split()[1:4] for line in said] == [
        ["broker", "2", "vanished"],
        ["broker", "6", "vanished"],
    ]
    _, said = ask(spark, settings, "history --from 2026-11-18T15:00")
    assert [" ".join(line.split()) for line in said] == [
        "2026-11-18T15:06:40Z all brokers x set to 7 (dynamic default)",
        "2026-11-18T16:06:40Z broker 5 unfenced; rack null -> r2",
        "2026-11-18T17:06:40Z broker 5 fenced; rack r2 -> null",
    ]
    _, said = ask(spark, settings, "history --to 2026-01-01")
    assert said == ["nothing happened in that time"]


@pytest.mark.long
def test_a_question_is_about_one_cluster(spark, tmp_path):
    job = ClusterJob(spark, tmp_path)
    with pytest.raises(NothingToDo, match="no broker is known yet"):
        ask(spark, job.settings, "list")
    job.write(place([*RECORDS[:1], *LATER]))
    with pytest.raises(AmbiguousCluster, match="cluster-1, cluster-2"):
        ask(spark, job.settings, "list")
    with pytest.raises(NothingToDo, match="no broker of cluster x is known"):
        ask(spark, job.settings, "list --cluster-id x")
    heads, broker, seen = ask(spark, job.settings, "list --cluster-id cluster-2")[1]
    assert (heads.split()[0], broker.split()[0]) == ("BROKER", "1")
    assert "the last observation of the cluster" in seen


def test_a_missing_table_is_said_with_the_job_that_makes_it(spark, tmp_path):
    settings = load_settings("local", [f"tables.root_path={tmp_path}"])
    told = "cluster_metadata_to_delta makes it"
    with pytest.raises(MissingTable, match=told):
        ask(spark, settings, "list")


def run_words(line):
    arguments = parse_words(["brokers", *line.split()])
    COMMANDS_BY_NAME["brokers"].run(Call(arguments=arguments, environ={}))


@pytest.mark.parametrize(
    "line",
    [
        "check",
        "check --key x",
        "list --min 1",
        "list --key x",
        "drift --from 2026-01-01",
        "history --from 2026-01-02 --to 2026-01-01",
        "list --all",
        "nothing",
        "list --broker x",
    ],
)
def test_words_that_do_not_fit_are_a_misuse(line, capsys):
    with pytest.raises(SystemExit) as ended:
        run_words(line)
    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err


def test_select_drift_compares_the_brokers_of_each_cluster_by_itself(spark):
    schema = (
        "cluster_id STRING, broker_id INT, config_name STRING, config_value STRING, "
        "source STRING, effective_value STRING, effective_source STRING"
    )
    rows = [
        (cluster, broker, name, value, "static", value, "static")
        for cluster, broker, name, value in (
            *(("k1", 1, "x", "8"), ("k1", 2, "x", "8")),
            *(("k2", 1, "x", "16"), ("k2", 2, "x", "16")),
            *(("k2", 1, "y", "1"), ("k2", 2, "y", "2")),
            *(("k1", 1, "z", "1"), ("k1", 2, "z", "2")),
        )
    ]
    drift = brokers.select_drift(spark.createDataFrame(rows, schema))
    found = {(row["cluster_id"], row["config_name"]) for row in drift.collect()}
    assert found == {("k1", "z"), ("k2", "y")}
    cells = tell_clusters_apart(brokers.select_drift_cells(drift).toPandas(), "broker")
    assert cells.drop(columns="cluster_id").to_numpy().tolist() == [
        *(["y", "1 @ k2", "1"], ["y", "2 @ k2", "2"]),
        *(["z", "1 @ k1", "1"], ["z", "2 @ k1", "2"]),
    ]


def test_tell_clusters_apart_one_of_several_clusters_keeps_its_name():
    frame = pd.DataFrame({"cluster_id": ["k1"], "broker": ["1"]})
    assert [*tell_clusters_apart(frame, known=("k1",))] == ["broker"]
    named = tell_clusters_apart(frame, "broker", known=("k1", "k2"))
    assert named.to_numpy().tolist() == [["k1", "1 @ k1"]]
