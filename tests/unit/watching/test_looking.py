"""What of a site is looked at, and what is said of the rest; no Kafka is there."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.settings import load_settings
from pipelines.settings.watching_settings import STREAMING_JOBS
from pipelines.watching.judging import find_problems
from pipelines.watching.looking import list_bridges, look_at_site

KAFKA = {"bootstrap.servers": "127.0.0.1:1"}
JOB = STREAMING_JOBS[0]


def look(folder, *overrides, checkpoints=None):
    """Look at a site with everything below a folder."""
    places = checkpoints or f"{folder}/checkpoints"
    settings = load_settings(
        "local",
        [
            "watching.answer_timeout_ms=100",
            f"tables.root_path={folder}/tables",
            *(f"{one}.checkpoint_location={places}/{one}" for one in STREAMING_JOBS),
            *overrides,
        ],
    )
    return look_at_site(settings, KAFKA)


def start_job(folder, name=JOB):
    place = folder / "checkpoints" / name / "kafka_clientele"
    place.mkdir(parents=True)
    (place / "start.json").write_text(json.dumps({"starting_offsets": {"0": -2}}))


def write_table(folder, name):
    (folder / "tables").mkdir(exist_ok=True)
    write_deltalake(str(folder / "tables" / name), pa.table({"a": [1, 2]}))


def test_where_nothing_was_ever_started_there_is_nothing_to_see(tmp_path):
    site = look(tmp_path)
    assert (site.jobs, site.stored.tables, site.bridges) == ((), (), ())
    assert site.kafka_fault is not None
    [unseen] = site.not_looked_at
    assert "bridge.http_port is 0" in unseen


def test_the_tables_of_a_job_that_was_started_are_expected(tmp_path):
    start_job(tmp_path)
    write_table(tmp_path, "client_pushes")
    write_table(tmp_path, "of_somebody_else")
    site = look(tmp_path)
    [job] = site.jobs
    assert (job.name, job.was_started, job.is_running) == (JOB, True, False)
    assert (job.committed_ms, job.topic_look) == (None, None)
    assert {one.name: one.rows for one in site.stored.tables} == {
        "client_pushes": 2,
        "of_somebody_else": 2,
        "client_instances": None,
        "client_metrics": None,
        "quarantine": None,
    }
    missing = {one.name for one in site.stored.tables if not one.is_there}
    assert missing == {"client_instances", "client_metrics", "quarantine"}
    assert site.stored.quarantined is None


def test_jobs_that_must_be_there_are_shown_though_they_never_were(tmp_path):
    start_job(tmp_path)
    name = STREAMING_JOBS[1]
    site = look(tmp_path, f'watching.jobs=["{name}"]')
    assert [(one.name, one.was_started) for one in site.jobs] == [
        (JOB, True),
        (name, False),
    ]
    assert "client_configs" not in {one.name for one in site.stored.tables}


def test_what_is_elsewhere_is_named_and_not_judged(tmp_path):
    site = look(
        tmp_path,
        "tables.root_path=hdfs://name/tables",
        "bridge.http_port=-1",
        checkpoints="s3a://bucket/checkpoints",
    )
    assert [one.was_started for one in site.jobs] == [None] * len(STREAMING_JOBS)
    assert {one.is_running for one in site.jobs} == {None}
    assert site.stored.tables == ()
    bridges, tables, first, *_ = site.not_looked_at
    assert bridges == "bridges, which serve no pages (bridge.http_port is -1)"
    assert tables == "the tables at hdfs://name/tables, on no disk of this machine"
    assert (
        first == f"{JOB}, whose checkpoint location is s3a://bucket/checkpoints/{JOB}"
    )


def test_tables_of_a_catalog_are_not_looked_for_in_a_folder(tmp_path):
    write_table(tmp_path, "client_pushes")
    site = look(tmp_path, "tables.catalog_schema=main.clientele")
    assert site.stored.tables == ()
    assert site.tables_at == "main.clientele"
    assert any("main.clientele" in one for one in site.not_looked_at)


def test_a_table_of_runs_that_cannot_be_read_is_named(tmp_path):
    start_job(tmp_path)
    write_table(tmp_path, "maintenance_runs")
    site = look(tmp_path)
    assert site.stored.maintenance is None
    assert any(one.startswith("maintenance_runs: ") for one in site.stored.unread)


@pytest.mark.parametrize(
    ("keys", "bridges"),
    [
        (["bridge.http_port=9193"], ["127.0.0.1:9193"]),
        (
            ["bridge.http_port=9193", "bridge.workers=2", "bridge.http_host=h"],
            ["h:9193", "h:9194"],
        ),
        (['watching.bridges=["a:1","b:2"]', "bridge.http_port=9193"], ["a:1", "b:2"]),
        (["bridge.http_port=0"], []),
        (["bridge.http_port=-1"], []),
    ],
)
def test_bridges_are_those_of_the_settings(keys, bridges):
    assert [*list_bridges(load_settings("local", keys))] == bridges


@pytest.mark.parametrize(
    ("file", "error"),
    [("kafka_clientele/start.json", "JSONDecodeError"), ("offsets/0", "IndexError")],
)
def test_a_checkpoint_location_that_was_cut_off_is_that_jobs_fault(
    tmp_path, file, error
):
    for name in STREAMING_JOBS[:2]:
        start_job(tmp_path, name)
    place = tmp_path / "checkpoints" / JOB
    cut_off = [file, "commits/0"] if file.startswith("offsets") else [file]
    for one in cut_off:
        (place / one).parent.mkdir(exist_ok=True)
        (place / one).write_text("")
    site = look(tmp_path)
    assert {one.name: one.fault for one in site.jobs} == {
        JOB: f"{place}: {error}",
        STREAMING_JOBS[1]: None,
    }
    told = find_problems(site, load_settings("local").watching, options="--env local")
    assert [one.what for one in told if JOB in one.what] == [
        f"the checkpoint location of {JOB} cannot be read ({place}: {error})"
    ]


def test_a_quarantine_that_cannot_be_read_is_told(tmp_path):
    start_job(tmp_path)
    (tmp_path / "tables").mkdir()
    row = {"reason": ["x"], "kafka_timestamp": [datetime.now(tz=UTC)]}
    rows = pa.table(row | {"event_date": [datetime.now(tz=UTC).date()]})
    write_deltalake(str(tmp_path / "tables" / "quarantine"), rows)
    for one in (tmp_path / "tables" / "quarantine").glob("*.parquet"):
        one.unlink()
    site = look(tmp_path)
    assert site.stored.quarantined is None
    assert any(one.startswith("quarantine: ") for one in site.stored.unread)
