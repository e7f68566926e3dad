"""The unit of systemd names what there is."""

import shutil
import subprocess
import sys
from email.message import Message

import pytest

from pipelines.commands import build_parser
from pipelines.settings import CONF_PATH, load_settings

ROOT = CONF_PATH.parent
UNIT = ROOT / "docs/operations/kafka-clientele-bridge.service"
INSTALLED_AT = "/opt/kafka-clientele"
START = ["-m", "pipelines", "bridge", "--env", "cluster"]
"""What it starts."""


def read_unit():
    """Return key to values; a key may come more than once."""
    unit = Message()
    for line in UNIT.read_text().splitlines():
        if line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            unit[key] = value
    return unit


def parse_start(words):
    """Return the arguments that the program itself reads out of these words."""
    assert words[:2] == ["-m", "pipelines"]
    return build_parser().parse_args(words[2:])


def test_unit_starts_a_command_that_exists():
    program, *words = read_unit()["ExecStart"].split()
    assert program == f"{INSTALLED_AT}/.venv/bin/python"
    assert words == START
    arguments = parse_start(words)
    assert (arguments.command, arguments.env) == ("bridge", "cluster")
    assert read_unit()["WorkingDirectory"] == INSTALLED_AT


def test_unit_waits_longer_for_the_end_than_the_bridge_drains():
    drain_s = load_settings("cluster").bridge.drain_timeout_ms / 1_000
    assert int(read_unit()["TimeoutStopSec"]) >= drain_s + 5
    assert read_unit()["KillSignal"] == "SIGTERM"


def test_unit_is_one_that_systemd_understands(tmp_path):
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("this machine has no systemd-analyze")
    # systemd wants programs that exist; those of the unit are where it is installed.
    copy = tmp_path / UNIT.name
    text = UNIT.read_text()
    text = text.replace(f"{INSTALLED_AT}/.venv/bin/python", sys.executable)
    copy.write_text(text.replace(INSTALLED_AT, str(ROOT)))
    done = subprocess.run(
        [verify, "verify", "--man=no", str(copy)],
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if UNIT.stem in line]
    assert ours == []
