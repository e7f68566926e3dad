"""A checkout runs wherever it stands, says where it cannot, and needs no Java for most."""

import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.commands import COMMANDS
from pipelines.commands.submit.arguments import QUIET_ARCHIVE
from tests.client_jars import find_java
from tests.integration.test_set_up import ROOT, fails_with_one_sentence, make_environ

CODE = ("conf", "notebooks", "pipelines", "udfs")
LOG_LINE = r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) WARNING SparkConf: "
NOTEBOOK = """\
# Databricks notebook source
import shlex
dbutils.widgets.text("set", "")
dbutils.widgets.text("hours", "24")
print("set:", shlex.split(dbutils.widgets.get("set")))
display(spark.sql("select 41 + 1 as answer"))
"""


def make_complete(folder):
    """Make a copy of this checkout, set up with the same packages and jars."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "spark-submit.sh", folder)
    for name in CODE:
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
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


def test_the_script_knows_which_commands_start_a_jvm():
    text = (ROOT / "spark-submit.sh").read_text()
    function = re.search(r"starts_jvm\(\) \{(.*?)esac", text, re.DOTALL)[1]
    listed = re.findall(r"[a-z_-]{3,}(?= \||\))", function)
    others = {"demo", "kafka"}
    commands = [c for c in COMMANDS if c.takes_spark_options or c.name in others]
    assert sorted(listed) == sorted(one.name for one in commands)


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
        done, "sql needs Java 17, 21 or 25 and found none at JAVA_HOME=/nowhere"
    )


def test_a_set_up_without_java_fetches_no_jars(tmp_path):
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


@pytest.mark.long
def test_a_checkout_below_odd_names_runs_spark_and_takes_odd_values(odd):
    path = odd.parent / "my notebook.py"
    path.write_text(NOTEBOOK)
    given = "tables.root_path=my tables"
    words = ["notebook", str(path), "--set", given, "--conf", "spark.cache.class=x"]
    done = run_command(odd, *words, LC_ALL="C.UTF-8", TZ="Asia/Kathmandu")
    assert done.returncode == 0, done.stderr
    # Spark warns of an option that it has no longer.
    (line, *_) = re.findall(LOG_LINE, done.stderr, re.MULTILINE)
    written = datetime.fromisoformat(line)
    assert abs(datetime.now(tz=UTC) - written) < timedelta(hours=1)
    set_line, page = done.stdout.splitlines()
    assert set_line == f"set: {[given]}"
    assert page == str(odd / "data" / "my notebook.html")
    assert "<td>42</td>" in Path(page).read_text()
    assert sorted(one.name for one in odd.parent.iterdir()) == ["checkout", path.name]
    # Nor anything below the name as a URI has it.
    assert list(odd.parents[1].iterdir()) == [odd.parent]


@pytest.mark.long
def test_a_job_of_a_checkout_below_odd_names_starts(odd):
    done = run_command(odd, "maintain_tables", LC_ALL="C.UTF-8")
    # Spark passes on to its output what a job says on either stream.
    last = (done.stderr + done.stdout).splitlines()[-1]
    told = f"kafka-clientele: there is no table in {odd}/data/tables yet"
    assert last.startswith(told), done.stderr


@pytest.mark.long
def test_a_short_command_maps_the_classes_that_the_set_up_kept(odd, tmp_path):
    log = tmp_path / "classes.log"
    option = f"spark.driver.extraJavaOptions=-Xlog:class+load:file={log}"
    words = ["sql", "select 41 + 1 as answer", "--format", "csv", "--conf", option]
    done = run_command(odd, *words, LC_ALL="C.UTF-8")
    assert done.stdout == "answer\n42\n", done.stderr
    lines = log.read_text().splitlines()
    # Of the JVM's own file are some hundreds, and it makes some classes as it goes.
    mapped = [line for line in lines if line.endswith("shared objects file (top)")]
    assert len(mapped) > len(lines) / 2


def test_a_file_of_classes_that_does_not_fit_is_nobody_s_concern(tmp_path):
    archive = tmp_path / "classes.jsa"
    archive.write_bytes(b"of another Java")
    options = [f"-XX:SharedArchiveFile={archive}", *QUIET_ARCHIVE]
    done = subprocess.run(
        [find_java(), *options, "-version"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, "warning" in done.stderr) == ("", False)


@pytest.mark.long
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
def test_a_folder_that_cannot_be_is_refused_before_the_set_up(tmp_path, name, reason):
    folder = tmp_path / name
    folder.mkdir()
    shutil.copy(ROOT / "spark-submit.sh", folder)
    done = run_command(folder, "setup", LC_ALL="C", LANG="C")
    assert fails_with_one_sentence(done, str(folder), reason)
    assert not (folder / ".cache").exists()


def test_a_mask_that_is_none_is_refused(complete):
    done = run_command(complete, "settings", KAFKA_CLIENTELE_UMASK="rw")
    assert done.returncode == 2
    assert done.stderr.startswith("kafka-clientele: KAFKA_CLIENTELE_UMASK=rw: expects")
