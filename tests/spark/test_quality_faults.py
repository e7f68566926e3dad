"""Each expectation finds the fault that is planted for it, and names its key."""

import json
from datetime import UTC, datetime

import pytest
from delta.tables import DeltaTable

from pipelines.errors import MissingTable
from pipelines.quality import check
from pipelines.quality.frames import FRAMES
from pipelines.quality.suites import CONTRACTS, key_of, read_suite
from tests.support.jobs.given_calls import run_line
from tests.support.spark.quality_faults import (
    GOOD,
    SECRET,
    WITHOUT_KEYS,
    key_in,
    plant,
)
from tests.support.spark.quality_tables import NOW, QualityTables, fill, hour, push


@pytest.fixture(scope="module")
def checked(spark, tmp_path_factory):
    """Tables with all faults at once, and what one run says of them."""
    folder = tmp_path_factory.mktemp("quality")
    tables = QualityTables(spark, folder / "tables", "check_tables.examples=100")
    rows, planted = plant()
    tables.write(**rows)
    request = check.Request(is_all=True, html=folder / "docs")
    done = check.run(spark, tables.settings, NOW, request)
    return tables, planted, done, folder


def list_expectations():
    return {
        (name, one["meta"]["name"])
        for name in (*CONTRACTS, *FRAMES)
        for one in read_suite(name)["expectations"]
    }


def test_each_expectation_finds_its_fault_and_names_the_key(checked):
    _, planted, done, _ = checked
    failed = {(one.suite, one.expectation): one for one in done.failures}
    broken = {k: o.observed for k, o in failed.items() if "not eval" in o.observed}
    assert broken == {}
    assert planted.keys() | WITHOUT_KEYS == list_expectations()
    assert failed.keys() == list_expectations()
    for place, key in planted.items():
        examples = [json.loads(text) for text in failed[place].examples]
        assert any(key.items() <= found.items() for found in examples), (place, key)
    unknown = failed["pushes_and_points", "push_of_each_point_is_there"].examples
    # One has no push, the other one that of another client.
    assert {30, 34} <= {json.loads(text)["offset"] for text in unknown}


def test_good_rows_and_what_is_on_its_way_are_not_named(checked):
    _, _, done, _ = checked
    named = {}
    for one in done.failures:
        named.setdefault(one.suite, []).extend(map(json.loads, one.examples))
    for name, good in GOOD.items():
        for row in good:
            key = key_in(fill(name, row), key_of(CONTRACTS[name]))
            assert key not in named[name], name
    frames = ("pushes_and_points", "topic_offsets", "config_topic_offsets")
    of_frames = [one for frame in frames for one in named[frame]]
    assert not {1000} & {one.get("offset") for one in of_frames}
    explained = {"lost", "rejected", "anew", "foreign"}
    gone = {"without points", "rejected long ago"}
    assert not (explained | gone) & {one["topic"] for one in of_frames}


def test_what_was_found_is_kept_and_no_hidden_value_with_it(checked, spark, capsys):
    _, _, done, folder = checked
    path = f"{folder}/tables/quality_results"
    stored = spark.read.format("delta").load(path).where(f"run_id = '{done.run_id}'")
    rows = {(row["suite"], row["expectation"]): row for row in stored.collect()}
    assert rows.keys() == list_expectations()
    left = rows["resource_configs", "no_value_is_left_where_redacted"]
    assert (left["table"], left["success"]) == ("resource_configs", False)
    assert left["checked_at"].astimezone(NOW.tzinfo) == NOW
    assert left["failed_rows"] > 0
    assert '"config_name": "left"' in " ".join(left["examples"])
    run_line(
        spark,
        "./spark-submit.sh check_tables --table resource_configs --since 2026-03-01",
        f"tables.root_path={folder}/tables",
        code=1,
    )
    printed = capsys.readouterr().out
    assert "resource_configs.no_value_is_left_where_redacted: A config with" in printed
    pages = [page.read_text() for page in (folder / "docs").rglob("*.html")]
    assert any("A config with the status redacted has no value" in p for p in pages)
    kept = [str(row) for row in rows.values()]
    assert not [text for text in (*pages, *kept, printed) if SECRET in text]


def test_the_newest_date_is_looked_at_alone_unless_more_is_asked_for(spark, tmp_path):
    tables = QualityTables(spark, tmp_path)
    yesterday = hour(-13)
    old = {"received_at": yesterday, "event_date": yesterday.date()}
    # The clock of its bridge is wrong; the day on which others write is looked at.
    to_come = datetime(2999, 1, 1, tzinfo=UTC)
    early = {"received_at": to_come, "event_date": to_come.date()}
    tables.write(
        client_pushes=[
            push(0, **old, client_type="robot"),
            push(1, point_count=0),
            push(2, **early, point_count=0),
        ],
    )
    newest = check.run(spark, tables.settings, hour(11))
    failed = {one.expectation: one.observed for one in newest.failures}
    gone = "not evaluated: there is no table client_metrics"
    assert failed.pop("what_it_is_compared_with_is_there") == gone
    assert failed.keys() == {"written_to_of_late"}
    of_pushes = [one for one in newest.outcomes if one.suite == "client_pushes"]
    assert {one.checked_rows for one in of_pushes} == {2}
    assert {one.scope for one in of_pushes} == {"event_date from 2026-03-01"}
    asked = check.Request(since=yesterday.date(), tables=("client_pushes",))
    since = check.run(spark, tables.settings, hour(11), asked)
    assert "client_type_is_known" in {one.expectation for one in since.failures}
    with pytest.raises(MissingTable, match="no table client_metrics in"):
        check.run(
            spark, tables.settings, NOW, check.Request(tables=("client_metrics",))
        )


def test_what_fails_after_maintenance_is_said_and_maintenance_stays_done(
    spark, tmp_path, capsys
):
    # Maintenance lets old rows go, by the clock.
    now = datetime.now(tz=UTC)
    today = {"received_at": now, "event_date": now.date(), "point_count": 0}
    tables = QualityTables(spark, tmp_path)
    tables.write(
        client_pushes=[push(0, **today, client_type="robot"), push(1, **today)],
        client_metrics=[],
    )
    tables.state_version(CONTRACTS["client_pushes"])
    line = "./spark-submit.sh maintain_tables --without-topics --table client_pushes"
    where = f"tables.root_path={tmp_path}"
    run_line(spark, line, where, code=1)
    printed = capsys.readouterr().out
    assert "client_pushes: set" in printed
    assert "client_pushes.client_type_is_known: " in printed
    assert "\n1 table, " in printed
    DeltaTable.forPath(spark, f"{tmp_path}/client_pushes").delete("offset = 0")
    run_line(spark, line, where)
    assert "all of " in capsys.readouterr().out
    runs = spark.read.format("delta").load(f"{tmp_path}/maintenance_runs")
    assert "failed" not in {row["outcome"] for row in runs.collect()}
