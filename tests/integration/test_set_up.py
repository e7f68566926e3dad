"""spark-submit.sh sets up by itself, says in one sentence why it cannot, leaves nothing.

Each test has a copy of the script in a folder of its own, so that the set-up of this
checkout stays as it is.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.command_line.commands import COMMANDS
from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent
CODE = ("conf", "notebooks", "pipelines", "udfs")
NOTEBOOK = """\
# Databricks notebook source
import shlex
dbutils.widgets.text("set", "")
dbutils.widgets.text("hours", "24")
print("set:", shlex.split(dbutils.widgets.get("set")))
display(spark.sql("select 41 + 1 as answer"))
"""
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


def make_complete(folder):
    """Make a copy of this checkout, set up with the same packages and jars."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "spark-submit.sh", folder)
    for name in CODE:
        (folder / name).symlink_to(ROOT / name)
    for name, parts in {
        ".venv": ("bin", "lib", "pyvenv.cfg"),
        ".cache": ("jars",),
    }.items():
        (folder / name).mkdir()
        for part in parts:
            (folder / name / part).symlink_to((ROOT / name).resolve() / part)
    lock = (ROOT / "conf" / "requirements.txt").read_bytes()
    sums = subprocess.run(["cksum"], input=lock, capture_output=True, check=True)
    version = "{}.{}".format(*sys.version_info)
    stamp = "".join(sums.stdout.decode().split())
    (folder / ".venv" / ".complete").write_text(f"{stamp} {version} {folder}/.venv")
    return folder


def run_command(folder, *words, **changes):
    return subprocess.run(
        [str(folder / "spark-submit.sh"), *words],
        cwd=folder.parent,
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
    assert fails_with_one_sentence(done, "needs Java 17 or 21 and found none")


def test_the_script_knows_which_commands_start_a_jvm():
    text = (ROOT / "spark-submit.sh").read_text()
    function = re.search(r"starts_jvm\(\) \{(.*?)esac", text, re.DOTALL)[1]
    listed = re.findall(r"[a-z_-]{3,}(?= \||\))", function)
    others = {"demo", "kafka"}
    assert sorted(listed) == sorted(
        one.name for one in COMMANDS if one.takes_spark_options or one.name in others
    )


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    return make_complete(tmp_path_factory.mktemp("complete") / "checkout")


@pytest.mark.parametrize(
    "words",
    [
        ("settings",),
        ("bridge", "--help"),
        ("sql", "--help"),
        ("setup", "--without-java"),
    ],
    ids=" ".join,
)
def test_what_starts_no_jvm_works_without_java(complete, words):
    done = run_command(complete, *words, JAVA_HOME="/nowhere")
    assert (done.returncode, "Java" in done.stderr) == (0, False)


def test_who_needs_java_says_so(complete):
    done = run_command(complete, "sql", "select 1", JAVA_HOME="/nowhere")
    assert fails_with_one_sentence(
        done, "sql needs Java 17 or 21 and found none at JAVA_HOME=/nowhere"
    )


def test_a_set_up_without_java_fetches_no_jars(complete, tmp_path):
    """Whose stamp is gone; only a Java could fetch them again."""
    folder = make_complete(tmp_path / "bridge alone")
    (folder / ".cache" / "jars").unlink()
    done = run_command(folder, "settings", JAVA_HOME="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    return make_complete(
        tmp_path_factory.mktemp("odd") / "a b %20 'ä\" $x" / "checkout"
    )


def test_a_checkout_below_odd_names_runs_spark_and_takes_odd_values(odd):
    path = odd.parent / "my notebook.py"
    path.write_text(NOTEBOOK)
    given = "tables.root_path=my tables"
    done = run_command(odd, "notebook", str(path), "--set", given, LC_ALL="C.UTF-8")
    assert done.returncode == 0, done.stderr
    set_line, page = done.stdout.splitlines()
    assert set_line == f"set: {[given]}"
    assert page == str(odd / "data" / "my notebook.html")
    assert "<td>42</td>" in Path(page).read_text()
    assert sorted(one.name for one in odd.parent.iterdir()) == ["checkout", path.name]


def test_a_job_of_a_checkout_below_odd_names_starts(odd):
    done = run_command(odd, "compact_tables", LC_ALL="C.UTF-8")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("kafka-clientele: table ")
    assert last.endswith("there is none")
    assert f"{odd}/data/tables" in last


def test_a_widget_that_is_not_there_is_refused_before_spark_starts(odd):
    path = odd.parent / "my notebook.py"
    path.write_text(NOTEBOOK)
    done = run_command(
        odd, "notebook", str(path), "--widget", "hous=1", LC_ALL="C.UTF-8"
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"kafka-clientele: --widget hous: {path} has no such widget; it has set, hours\n"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a:b", "Python takes no path with a colon"),
        ("a,b", "Spark takes no path with any of"),
        ("a#b", "Spark takes no path with any of"),
        ("a{b}", "Spark takes no path with any of"),
        ("ä", "set LC_ALL=C.UTF-8"),
    ],
)
def test_a_folder_that_cannot_be_is_refused_before_the_set_up(checkout, name, reason):
    folder = checkout / name
    folder.mkdir()
    shutil.copy(ROOT / "spark-submit.sh", folder)
    done = run_command(folder, "setup", LC_ALL="C", LANG="C")
    assert fails_with_one_sentence(done, str(folder), reason)
    assert not (folder / ".cache").exists()


def test_a_mask_that_is_none_is_refused(complete):
    done = run_command(complete, "settings", KAFKA_CLIENTELE_UMASK="rw")
    assert done.returncode == 2
    assert done.stderr.startswith("kafka-clientele: KAFKA_CLIENTELE_UMASK=rw: expects")


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
