"""What clients push through a bridge stands in the tables, once."""

import threading
import uuid

import pytest

from pipelines.commands.java import pushed_files
from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.telemetry import QUARANTINE
from tests.support.bridge.config_support import running_bridge
from tests.support.documents import find_block
from tests.support.jobs.config_job_support import make_settings, read_table, run_once
from tests.support.jobs.given_calls import run_line

SECRET = "hunter2-hunter2"
RECORDS = 3
PATIENCE_S = 600
"""The machine may be busy."""


def push(folder, servers, **properties):
    """Push the properties of a producer; return what the command says."""
    path = folder / f"{uuid.uuid4()}.properties"
    lines = {"bootstrap.servers": servers} | properties
    path.write_text("".join(f"{k.replace('_', '.')}={v}\n" for k, v in lines.items()))
    said = []
    pushed_files.run(
        properties_path=str(path),
        client_type="producer",
        connection_path=None,
        say=said.append,
        warn=said.append,
    )
    return said


def count_rows(spark, settings):
    contracts = (
        *(CLIENT_CONFIG_PUSHES, CLIENT_CONFIGS, CLIENT_CONFIG_HISTORY),
        *(CONFIG_DEFAULTS, CONFIG_VIOLATIONS, QUARANTINE),
    )
    return {one.name: read_table(spark, settings, one).count() for one in contracts}


@pytest.mark.long
def test_pushed_configurations_become_rows_once(spark, kafka, tmp_path, produce):
    topic, servers = f"c-{uuid.uuid4()}", kafka.bootstrap_servers
    topics = [f"topics.telemetry=t-{topic}", f"topics.configs={topic}"]
    with running_bridge(kafka, tmp_path / "log", *topics) as (_, host, port):
        push(tmp_path, f"{host}:{port}", client_id="a", acks="1", linger_ms="7")
        push(tmp_path, f"{host}:{port}", client_id="b")
    produce(servers, topic, SECRET.encode())  # without a header
    settings = make_settings(servers, topic, tmp_path)
    told, is_all = [], threading.Event()

    def note(progress):
        told.append(progress)
        if sum(one.records for one in told) == RECORDS:
            is_all.set()

    run_once(spark, settings, on_batch=note)
    assert is_all.wait(PATIENCE_S)
    assert sum(one.rows for one in told) == 2
    assert sum(one.quarantined for one in told) == 1
    assert "configurations, " in told[0].as_line()
    configs = read_table(spark, settings, CLIENT_CONFIGS)
    found = {row["client_id"]: row for row in configs.collect()}
    assert {row["client_type"] for row in found.values()} == {"producer"}
    held = {
        key: (one.config_value, one.status) for key, one in found["a"].configs.items()
    }
    assert held["acks"] == ("1", "overridden")
    assert held["linger.ms"] == ("7", "overridden")
    assert held["batch.size"] == ("16384", "default")
    defaults = read_table(spark, settings, CONFIG_DEFAULTS)
    rows = {row["config_key"]: row for row in defaults.collect()}
    assert rows["acks"]["default_value"] == "all"
    assert rows["batch.size"]["evidence_count"] == 2
    before = count_rows(spark, settings)
    # What the tables have is not read again.
    (command,) = find_block(
        "docs/guide/client-configs.md", "client-configs-to-delta"
    ).commands
    run_line(
        spark,
        command,
        f"kafka.bootstrap_servers={servers}",
        f"topics.configs={topic}",
        f"tables.root_path={tmp_path}/tables",
        f"client_configs_to_delta.checkpoint_location={tmp_path}/new",
    )
    assert count_rows(spark, settings) == before
    quarantined = read_table(spark, settings, QUARANTINE).collect()
    assert [(row["reason"], row["body"]) for row in quarantined] == [
        ("missing_header", None)
    ]
