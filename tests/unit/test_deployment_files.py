"""The unit and the container file name what there is."""

import json
import re
import shutil
import subprocess
import sys
from email.message import Message
from pathlib import Path

import pytest

from pipelines.commands import build_parser
from pipelines.settings import CONF_PATH, load_settings

ROOT = CONF_PATH.parent
UNIT = ROOT / "docs/operations/kafka-clientele-bridge.service"
CONTAINER_FILE = ROOT / "docs/operations/Containerfile"
INSTALLED_AT = "/opt/kafka-clientele"
MODULES = """
import json, sys
import pipelines.__main__, pipelines.commands.bridge, pipelines.bridge.server, pipelines.bridge.operations.logs
tops = {name.partition(".")[0] for name in sys.modules}
from importlib.metadata import packages_distributions
print(json.dumps(sorted({d for t, ds in packages_distributions().items() if t in tops for d in ds})))
"""
NOT_NEEDED = {
    "crc32c": "comes with kio",
    "typing-extensions": "comes with kio",
    "hypothesis": "imported by kio where it is installed, which is for tests",
    "sortedcontainers": "comes with hypothesis",
    "tzdata": "imported by hypothesis",
    "setuptools": "hooks itself into every start of Python",
}
"""Imported beside what the container installs, and why that does not matter."""
START = ["-m", "pipelines", "bridge", "--env", "cluster"]
"""What both files start."""


def read_unit():
    """Return key to values; a key may come more than once."""
    unit = Message()
    for line in UNIT.read_text().splitlines():
        if line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            unit[key] = value
    return unit


def read_container_file():
    """Return (instruction, its text) with continued lines joined."""
    text = CONTAINER_FILE.read_text()
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line]


def parse_start(words):
    """Return the arguments that the program itself reads out of these words."""
    assert words[:2] == ["-m", "pipelines"]
    return build_parser().parse_args(words[2:])


def normal(name):
    return name.lower().replace("_", "-")


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


def test_container_starts_the_same_command():
    steps = dict(read_container_file())
    program, *words = json.loads(steps["ENTRYPOINT"]) + json.loads(steps["CMD"])
    assert program == "python"
    assert words == START


def test_container_copies_what_exists():
    copied = [text.split() for step, text in read_container_file() if step == "COPY"]
    assert ["pipelines", "pipelines"] in copied
    for *sources, _ in copied:
        assert all((ROOT / source).exists() for source in sources)


def test_container_installs_what_the_bridge_imports_and_no_spark():
    done = subprocess.run(
        [sys.executable, "-c", MODULES],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    imported = {normal(name) for name in json.loads(done.stdout)}
    (install,) = [t for step, t in read_container_file() if "pip install" in t]
    installed = {
        normal(word) for word in install.split("&&")[0].split() if word[0] not in "-/"
    }
    assert imported - installed <= NOT_NEEDED.keys()
    assert "pyspark" not in imported


def test_ports_of_the_container_are_those_of_the_settings():
    steps, bridge = dict(read_container_file()), load_settings("cluster").bridge
    assert steps["EXPOSE"] == str(bridge.listen_port)
    assert f"127.0.0.1:{bridge.http_port}/healthz" in steps["HEALTHCHECK"]
    assert Path(CONF_PATH / "cluster.toml").exists()
