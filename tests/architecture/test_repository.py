"""The repository keeps what its documents promise."""

import ast
import configparser
import re
import subprocess
import sys
import tokenize
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pipelines.commands.reference import list_pages
from pipelines.settings import CONF_PATH, list_environments, load_settings
from pipelines.settings.records import Settings
from pipelines.streaming import topic_losses
from pipelines.tables.quarantine_reasons import QUARANTINE_REASONS
from udfs.compression import codecs, frames
from udfs.configs import pushes
from udfs.envelopes import readers
from udfs.files import (
    client_traffic_files,
    cluster_record_files,
    dynamic_config_files,
    push_files,
    wire_config_files,
)
from udfs.otlp import schema

ROOT = CONF_PATH.parent
MAX_FILE_LINES = 400
REASON = re.compile(r"# Longer than 400 lines(:| because) \S")
PYTHON_ROOMS = ("pipelines", "udfs", "notebooks", "tests")


def list_python_files():
    return sorted(path for room in PYTHON_ROOMS for path in (ROOT / room).rglob("*.py"))


@pytest.mark.parametrize(
    "path", list_python_files(), ids=lambda p: str(p.relative_to(ROOT))
)
def test_a_file_is_short_or_says_why_not(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_FILE_LINES or REASON.search(text)


@pytest.mark.parametrize("env", [*list_environments(), "base"])
def test_conf_loads_for_every_environment(env):
    assert isinstance(load_settings(env), Settings)


@pytest.mark.parametrize("name", list_pages())
def test_a_page_is_the_one_that_the_code_makes(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text == list_pages()[name](), "run ./spark-submit.sh reference"


def test_every_reason_in_quarantine_is_explained():
    reasons = {
        *(readers.NULL_VALUE, readers.MISSING_HEADER, readers.HEADER_NOT_UTF8),
        *(readers.INVALID_HEADER, readers.HEADERS_TOO_LARGE),
        *(frames.WRONG_CODEC, frames.TRUNCATED_FRAME, frames.CORRUPT_FRAME),
        *(frames.TOO_LARGE, codecs.UNKNOWN_CODEC, push_files.VALUE_TOO_LARGE),
        *(schema.TRUNCATED_OTLP, schema.MALFORMED_OTLP, schema.INVALID_UTF8),
        *(pushes.TRUNCATED_PUSH_CONFIG, pushes.MALFORMED_PUSH_CONFIG),
        *(wire_config_files.MALFORMED_WIRE_CONFIGS, *topic_losses.REASONS),
        client_traffic_files.MALFORMED_CLIENT_TRAFFIC,
        *cluster_record_files.REASONS.values(),
        *dynamic_config_files.REASONS.values(),
        dynamic_config_files.SENSITIVE_CLIENT_CONFIG,
    }
    assert QUARANTINE_REASONS.keys() == reasons


def test_the_index_of_decisions_says_what_they_say():
    index = re.findall(
        r"^\| \[(\d+)\]\((\S+)\) \| (.*) \| (.*) \|$",
        (ROOT / "DECISIONS.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    said = []
    for path in sorted((ROOT / "docs/decisions").iterdir()):
        text = path.read_text(encoding="utf-8")
        head = re.match(r"# (\d+)\. (.*)\n\nStatus: (.*)\n\n\S", text)
        assert head, path
        number, title, status = head.groups()
        assert path.name.startswith(f"{int(number):04d}-")
        said.append((number, str(path.relative_to(ROOT)), title, status))
    assert index == said
    assert [int(number) for number, *_ in index] == list(range(1, len(index) + 1))


PIN = re.compile(r"^\s*([A-Za-z0-9_.-]+)==(\S+)$", re.MULTILINE)


def read_pins(text):
    return {canonicalize_name(name): version for name, version in PIN.findall(text)}


LOCKS = {
    "run": "conf/requirements.txt",
    "checks": "conf/checks-requirements.txt",
    "report": "conf/report-requirements.txt",
    "test": "tests/requirements.txt",
}


def read_lock(name):
    return read_pins((ROOT / LOCKS[name]).read_text())


def read_needs():
    """Return lock to the pins of setup.cfg that it holds, with what they need."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"]
    needs = {name: read_pins(extras[name]) for name in ("checks", "report", "test")}
    always = setup["options"]["install_requires"] + extras["notebooks"]
    return needs | {"run": read_pins(always)}


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_of_setup_cfg_is_the_one_that_is_installed(name):
    assert read_needs()[name].items() <= read_lock(name).items()


def test_a_package_is_in_two_locks_of_extras_alone_and_of_one_version():
    # Checks and report have some of their packages in common, and one environment.
    extras = read_lock("checks") | read_lock("report")
    assert extras == read_lock("report") | read_lock("checks")
    every = [*read_lock("run"), *extras, *read_lock("test")]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("lock", ["run", "checks", "report"])
def test_a_lock_holds_what_is_needed_and_nothing_of_the_tests(lock):
    needs = read_needs()
    found, waiting = set(), [*needs["run"], *needs[lock]]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needed = map(Requirement, requires(name) or ())
            waiting += [
                canonicalize_name(one.name)
                for one in needed
                if one.marker is None or one.marker.evaluate({"extra": ""})
            ]
    assert found == read_lock("run").keys() | read_lock(lock).keys()


def list_imports(path):
    """Return the top-level modules that a file imports, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def test_what_runs_imports_what_is_installed_for_it():
    imported = {
        name
        for room in ("pipelines", "udfs")
        for path in (ROOT / room).rglob("*.py")
        for name in list_imports(path)
    }
    others = imported - sys.stdlib_module_names - {"pipelines", "udfs"}
    makers = packages_distributions()
    packages = {canonicalize_name(makers[name][0]) for name in others}
    locked = [read_lock(name).keys() for name in ("run", "checks", "report")]
    assert packages <= set().union(*locked)


def test_spark_sessions_are_built_in_one_place_of_the_product():
    builders = [
        str(path.relative_to(ROOT))
        for room in ("pipelines", "udfs")
        for path in (ROOT / room).rglob("*.py")
        if "SparkSession.builder" in path.read_text(encoding="utf-8")
    ]
    assert builders == ["pipelines/commands/session.py"]


PRIVATE = re.compile(
    r"org\.apache\.spark|_jdt\b|_jdf\b|_jsparkSession\b|sql\.delta|pyspark\.sql\.classic"
)
JVM = re.compile(r"\._(?:jvm|jsc|gateway|active_spark_context|accumulatorServer)\b")
JVM_DOORS = {
    # Public classes of Java, Hadoop, Kafka and Delta Kernel only; pyspark has no public
    # way to a JVM.
    "pipelines/commands/session.py",  # its end, and the signals that it takes
    "pipelines/delta_tables/kernel.py",  # Delta Kernel
    "pipelines/delta_tables/locations.py",  # Hadoop's file systems
    "pipelines/streaming/positions.py",  # Kafka's clients
    "pipelines/streaming/table_claims.py",  # the lock of a file
}


def test_nothing_uses_private_classes_of_spark_or_delta():
    texts = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for room in ("pipelines", "udfs", "notebooks")
        for path in (ROOT / room).rglob("*.py")
    }
    assert [name for name, text in texts.items() if PRIVATE.search(text)] == []
    assert {name for name, text in texts.items() if JVM.search(text)} == JVM_DOORS


def test_environment_variables_are_read_in_one_place_of_the_product():
    readers = [
        str(path.relative_to(ROOT))
        for room in ("pipelines", "udfs")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"os\.environ|getenv", path.read_text(encoding="utf-8"))
    ]
    assert readers == ["pipelines/__main__.py"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda p: p.name
)
def test_a_notebook_defines_nothing_and_writes_nothing(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Databricks notebook source\n")
    assert (
        re.findall(r"^\s*(?:def|class) |\.write|%pip|INSERT|MERGE", text, re.MULTILINE)
        == []
    )


def list_comments(path):
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def test_the_code_holds_no_open_work():
    marks = re.compile("TO" + "DO|FIX" + "ME|X" + "XX")
    open_work = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in list_python_files()
        for line, comment in list_comments(path)
        if marks.search(comment)
    ]
    assert open_work == []


def test_a_shell_script_parses():
    for script in ("spark-submit.sh", "tests/run.sh", ".ci/run"):
        subprocess.run(["bash", "-n", str(ROOT / script)], check=True)
