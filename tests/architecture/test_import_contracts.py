"""Each import contract fails when it is broken; run.sh checks that they hold."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent

BREAKS = [
    (
        "kernels are free of Spark",
        "udfs/compression.py",
        "import os",
    ),
    (
        "kernels are free of Spark",
        "udfs/compression.py",
        "import pyspark",
    ),
    (
        "only jobs use the Spark wrappers",
        "pipelines/views/session_views.py",
        "import udfs.spark",
    ),
    ("delta has three doors", "pipelines/views/session_views.py", "import delta"),
    ("settings, contracts and errors", "pipelines/tables.py", "import pyspark"),
    ("transforms know", "pipelines/transforms/offsets.py", "import udfs.compression"),
    ("the protocol is bytes", "pipelines/bridge/protocol/metadata.py", "import socket"),
    ("a bridge file does no I/O", "pipelines/bridge/telemetry.py", "import time"),
    ("a bridge file does no I/O", "pipelines/bridge/sasl/tokens.py", "import time"),
    ("a bridge file does no I/O", "pipelines/bridge/connections.py", "import ssl"),
    (
        "one file of the bridge loads code by name",
        "pipelines/bridge/push_config.py",
        "import importlib",
    ),
    (
        "the admin tools speak",
        "pipelines/admin/command_config.py",
        "import pipelines.sinks",
    ),
    (
        "one file of the product publishes",
        "pipelines/views/session_views.py",
        "import confluent_kafka",
    ),
    (
        "the client library is installed alone",
        "pipelines/clients/handshake.py",
        "import pipelines.errors",
    ),
    (
        "only demo, push command",
        "pipelines/views/session_views.py",
        "import pipelines.clients.wire",
    ),
    ("the embedded Kafka stands alone", "pipelines/embedded/ports.py", "import kio"),
    (
        "only the demo and the command",
        "pipelines/views/session_views.py",
        "import pipelines.embedded",
    ),
    (
        "jobs never import each other",
        "pipelines/jobs/another_to_delta.py",
        "import pipelines.jobs.client_telemetry_to_delta",
    ),
    ("jobs wire", "pipelines/transforms/offsets.py", "import pipelines.sinks"),
]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    copy = tmp_path_factory.mktemp("checkout")
    for room in ("pipelines", "udfs"):
        shutil.copytree(
            ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "setup.cfg", copy)
    return copy


def check_contracts(checkout):
    return subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("contract", "file", "line"), BREAKS)
def test_a_contract_fails_when_it_is_broken(checkout, contract, file, line):
    path = checkout / file
    original = path.read_text(encoding="utf-8") if path.exists() else None
    path.write_text(f"{original or ''}\n{line}\n", encoding="utf-8")
    try:
        done = check_contracts(checkout)
    finally:
        if original is None:
            path.unlink()
        else:
            path.write_text(original, encoding="utf-8")
    broken = [row for row in done.stdout.splitlines() if " BROKEN" in row]
    assert done.returncode == 1
    assert any(row.startswith(contract) for row in broken), done.stdout
