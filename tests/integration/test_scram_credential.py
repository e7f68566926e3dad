"""The command that makes a line of the file of credentials."""

import subprocess
import sys

import pytest

from pipelines.bridge.sasl.credentials import parse_credentials
from pipelines.settings import CONF_PATH

COMMAND = (sys.executable, "-m", "pipelines", "scram-credential")
PASSWORD = "correct horse, bättery=staple"


def run(*words, stdin=f"{PASSWORD}\n"):
    return subprocess.run(
        [*COMMAND, *words],
        cwd=CONF_PATH.parent,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def test_lines_of_the_command_are_a_file_of_credentials():
    lines = [
        run("--name", "alice").stdout,
        run("--name", "bob", "--mechanism", "SCRAM-SHA-256").stdout,
        run("--name", "carol", "--iterations", "4096", stdin=PASSWORD).stdout,
    ]
    assert PASSWORD not in "".join(lines)
    found = parse_credentials("".join(lines))
    assert len(found) == 3
    assert found.find("alice", "SCRAM-SHA-512").iterations == 8_192
    for name in ("alice", "bob", "carol"):
        assert found.find_any(name).is_password(PASSWORD.encode())


def test_the_same_password_is_another_line_each_time():
    assert run("--name", "alice").stdout != run("--name", "alice").stdout


@pytest.mark.parametrize(
    ("words", "stdin", "reason"),
    [
        (["--name", "alice"], "", "the password is empty"),
        (["--name", ""], "x", "the name is empty"),
        (["--name", "a", "--iterations", "100"], "x", "iterations must be 4096"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(words, stdin, reason):
    done = run(*words, stdin=stdin)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr
