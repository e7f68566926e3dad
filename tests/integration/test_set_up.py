"""spark-submit.sh sets up by itself, says in one sentence why it cannot, leaves nothing.

Each test has a copy of the script in a folder of its own, so that the set-up of this
checkout stays as it is.
"""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent
INTERRUPTED = 130
TERMINATED = 143


@pytest.fixture
def checkout(tmp_path):
    shutil.copy(ROOT / "spark-submit.sh", tmp_path)
    (tmp_path / "conf").mkdir()
    for name in ("requirements.txt", "ivy.xml", "ivysettings.xml"):
        shutil.copy(ROOT / "conf" / name, tmp_path / "conf")
    return tmp_path


def make_environ(**changes):
    # pip's own settings of this machine would find packages where a test wants none.
    kept = {n: v for n, v in os.environ.items() if not n.startswith("PIP_")}
    return kept | {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"} | changes


def run_set_up(checkout, **changes):
    return subprocess.run(
        [str(checkout / "spark-submit.sh"), "setup"],
        env=make_environ(**changes),
        capture_output=True,
        text=True,
        check=False,
    )


def make_program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def fails_with_one_sentence(done, *parts):
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("spark-submit.sh: ")
    for part in parts:
        assert part in last
    return True


def test_a_set_up_that_is_complete_is_left_as_it_is():
    done = subprocess.run(
        [str(ROOT / "spark-submit.sh"), "setup"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "set-up: complete\n"


def test_a_missing_java_is_named(checkout):
    done = run_set_up(checkout, JAVA_HOME="/nowhere")
    assert fails_with_one_sentence(done, "needs Java 17, 21 or 25 and found none")


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "24.0.1"])
def test_a_java_of_another_version_is_refused(checkout, version):
    home = checkout / "java"
    (home / "bin").mkdir(parents=True)
    make_program(home / "bin" / "java", f"echo 'openjdk version \"{version}\"' >&2")
    done = run_set_up(checkout, JAVA_HOME=str(home))
    assert fails_with_one_sentence(done, f"is {version.split('.')[0]};")


def test_a_missing_python_is_named(checkout):
    done = run_set_up(checkout, PYTHON="python-of-nobody")
    assert fails_with_one_sentence(done, "needs Python 3.11, 3.12 or 3.13")


@pytest.mark.parametrize("version", ["3.10", "3.14"])
def test_a_python_of_another_version_is_refused(checkout, version):
    python = make_program(checkout / "my python", f"echo {version}")
    done = run_set_up(checkout, PYTHON=str(python))
    assert fails_with_one_sentence(
        done, f"found {python}, which is {version}; install one"
    )


def test_no_network_is_one_sentence_and_leaves_no_environment(checkout):
    done = run_set_up(checkout, PIP_INDEX_URL="http://127.0.0.1:9/simple")
    assert fails_with_one_sentence(done, "cannot be downloaded", "mirror")
    assert not (checkout / ".venv").exists()
    assert list_cache(checkout) == []


@pytest.mark.long
def test_an_activated_environment_does_not_make_its_own_successor(checkout):
    programs = checkout / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "python3"):
        make_program(programs / name, "echo 3.11")
    done = run_set_up(
        checkout,
        PATH=f"{programs}:{os.environ['PATH']}",
        PIP_INDEX_URL="http://127.0.0.1:1/simple",
    )
    assert fails_with_one_sentence(done, "downloading", "cannot be downloaded")


def test_a_full_disk_is_one_sentence(checkout):
    tools = checkout / "tools"
    tools.mkdir()
    make_program(
        tools / "df",
        "printf 'Filesystem 1024-blocks Used Available\\nx 9 9 1024 9%% /\\n'",
    )
    done = run_set_up(checkout, PATH=f"{tools}:{os.environ['PATH']}")
    assert fails_with_one_sentence(done, "needs 3 GB of disk", "1 MB left")


def list_cache(checkout):
    """List what a set-up left that is neither its log nor its lock."""
    return [
        path.name
        for path in (checkout / ".cache").iterdir()
        if path.name not in {"setup.log", "setup.lock", "wheels"}
    ] + [path.name for path in (checkout / ".cache").glob("wheels/*")]


def list_processes(folder: Path):
    """List command lines that name a folder, as ps shows them."""
    lines = subprocess.run(
        ["ps", "-Ao", "args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [line for line in lines if str(folder) in line]


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, TERMINATED), (signal.SIGINT, INTERRUPTED)],
    ids=["kill", "ctrl-c"],
)
def test_a_set_up_that_is_ended_leaves_no_process_and_no_half(checkout, number, code):
    # An index that takes the connection and never answers holds pip where it is.
    with socket.create_server(("127.0.0.1", 0)) as index:
        index.settimeout(180)
        url = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
        running = subprocess.Popen(
            [str(checkout / "spark-submit.sh"), "setup"],
            env=make_environ(PIP_INDEX_URL=url),
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        connection, _ = index.accept()
        with connection:
            if number == signal.SIGINT:
                # A terminal sends it to the whole foreground group.
                os.killpg(running.pid, number)
            else:
                running.send_signal(number)
            _, said = running.communicate(timeout=180)
    assert running.returncode == code
    assert said.splitlines()[-1].endswith("nothing half-written was kept")
    assert not (checkout / ".venv").exists()
    assert list_cache(checkout) == []
    assert list_processes(checkout) == []


@pytest.mark.parametrize(
    ("words", "is_with_checks"),
    [
        ("check_tables", True),
        ("maintain_tables --env cluster", True),
        ("maintain_tables --no-checks", False),
        ("maintain_tables --dry-run", False),
        ("jobs", False),
    ],
)
def test_packages_of_checks_are_for_commands_that_check(words, is_with_checks):
    script = (ROOT / "spark-submit.sh").read_text(encoding="utf-8")
    functions = script.removesuffix('main "$@"\n')
    assert functions != script
    done = subprocess.run(
        ["bash", "-c", f"{functions}\nchecks_tables {words}"], check=False
    )
    assert (done.returncode == 0) is is_with_checks
