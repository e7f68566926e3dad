"""The commands of the page of purges take out what the shipped rules hide."""

import os
import pathlib
import shlex
import subprocess
import sys

import pytest

from pipelines.delta_tables.setup import ensure_tables
from pipelines.settings import CONF_PATH, load_settings
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
)
from tests.integration.test_docs import HASTE, PATIENCE_S
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.spark.config_rows import JAVA, entry, held, instance
from tests.support.spark.table_rows import append_rows

ROOT = CONF_PATH.parent
CANARY = "canary7f3a"
# Five tables are each looked through, rewritten and listed several times.
PURGE_PATIENCE_S = 3 * PATIENCE_S


def find_canary(folder):
    """Return the files of a folder that hold the canary."""
    return [
        path.name
        for path in sorted(pathlib.Path(folder).rglob("*"))
        if path.is_file() and CANARY.encode() in path.read_bytes()
    ]


def run(command, folder):
    """Run a process of its own: what its JVM prints is to be seen, too."""
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pipelines"),
            *shlex.split(command)[1:],
            *("--set", f"tables.root_path={folder}"),
            *HASTE,
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PURGE_PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert CANARY not in done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_the_commands_say_what_they_find_and_leave_no_byte_of_it(
    spark, tmp_path, capsys
):
    settings = load_settings("local", [f"tables.root_path={tmp_path}"])
    ensure_tables(spark, settings.tables, CLIENT_CONFIG_CONTRACTS)
    spark.conf.set("spark.sql.parquet.compression.codec", "uncompressed")
    password = entry("ssl.key.password", CANARY, "PASSWORD")
    push = JAVA | {"decode_status": "ok", "configs": [password]}
    append_rows(settings.tables, CLIENT_CONFIG_PUSHES, push)
    configs = {"ssl.key.password": held(CANARY, "STRING"), "acks": held("1")}
    append_rows(settings.tables, CLIENT_CONFIGS, instance("one", configs))
    dry_run, purge = find_block("docs/operations/purge.md", "purge").commands
    run_line(spark, dry_run, f"tables.root_path={tmp_path}")
    printed = capsys.readouterr().out
    assert CANARY not in printed
    assert "client_configs: 1 entries in 1 rows would be taken out" in printed
    assert len(find_canary(tmp_path)) == 2
    printed = run(purge, tmp_path)
    assert "client_configs: 1 entries in 1 rows are taken out" in printed
    assert "out of reach:" in printed
    assert find_canary(tmp_path) == []
