"""The command that makes a line of the file of credentials."""

import stat
import subprocess
import sys

import pytest

from pipelines.bridge.security.sasl.credentials import parse_credentials
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


def test_a_file_that_the_command_makes_is_its_owners(tmp_path):
    path = tmp_path / "users.jsonl"
    for name in ("alice", "bob"):
        done = run("--name", name, "--output", str(path))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = parse_credentials(path.read_text())
    assert found.find_any("bob").is_password(PASSWORD.encode())
    assert len(found) == 2


@pytest.mark.parametrize("is_redirected", [True, False], ids=["shell", "output"])
def test_a_file_that_others_read_is_warned_of(tmp_path, is_redirected):
    path = tmp_path / "users.jsonl"
    path.touch(mode=0o644)
    path.chmod(0o644)
    with path.open("a") as file:
        words = ["--name", "alice"]
        done = subprocess.run(
            [*COMMAND, *words, *([] if is_redirected else ["--output", str(path)])],
            cwd=CONF_PATH.parent,
            input=PASSWORD,
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
    assert len(parse_credentials(path.read_text())) == 1
    assert "others may read" in done.stderr
    assert "(mode 644)" in done.stderr


def test_the_same_password_is_another_line_each_time():
    assert run("--name", "alice").stdout != run("--name", "alice").stdout


@pytest.mark.parametrize(
    ("words", "stdin", "reason"),
    [
        (["--name", "a", "--output", "/no/x"], "x", "--output /no/x: cannot be"),
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
