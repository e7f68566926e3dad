"""The commands of README and docs/ are run as they stand there.

One broker, one bridge and one job are processes, as people start them; everything else
that wants Spark runs in the session of this file, on the tables that they have made.
"""

import io
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.commands.session import INTERPRETED
from pipelines.commands.submit.arguments import SHORT_JAVA_OPTIONS
from pipelines.settings import CONF_PATH
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.spark.class_archive import driver_words

ROOT = CONF_PATH.parent
PATIENCE_S = 600
HASTE = (*INTERPRETED, *driver_words(*SHORT_JAVA_OPTIONS))
TUTORIAL = "docs/tutorial.md"
JOBS = (
    "client_telemetry_to_delta",
    "client_configs_to_delta",
    "client_wire_configs_to_delta",
)
OFTEN = 'subscriptions=[{name="t", metrics=["*"], interval_ms=1000, match=[]}]'


def start(folder, java, words):
    """Start a command as spark-submit.sh does, in a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "pipelines", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "KAFKA_CLIENTELE_JAVA": java},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@contextmanager
def running(process, mark):
    """Yield what stands behind a mark in what a command says, which then ends."""
    try:
        yield read_until(process, mark).partition(mark)[2].strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)


def read_until(process, mark):
    watchdog = threading.Timer(PATIENCE_S, process.kill)
    watchdog.start()
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            if mark in line:
                return line
    finally:
        watchdog.cancel()
    pytest.fail(f"{process.args} ended without {mark!r}: {''.join(said)}")


def words_of(command, *settings):
    """Return the words behind the program, with more settings."""
    more = [word for setting in settings for word in ("--set", setting)]
    return [*shlex.split(command)[1:], *more]


@dataclass(frozen=True, kw_only=True)
class Site:
    """What the first commands of the tutorial have left."""

    folder: Any
    proxy: str
    """Address of the clients."""
    settings: tuple[str, ...]
    heard: str
    """What the consumer printed."""
    stopped: tuple[int, list[str]]
    """Exit code of the job, and its lines from Ctrl-C on."""
    modes: dict[str, int]
    """Files that the job made, with their permissions."""
    names: set[str]
    """What stood beside them."""


def run_clients(folder, proxy):
    """Run producer and consumer of the tutorial beside each other."""
    processes = [
        subprocess.Popen(
            [
                *("bash", "-c"),
                block.text.replace(
                    ".venv/bin/python", shlex.quote(sys.executable)
                ).replace("127.0.0.1:9292", proxy),
            ],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        for block in (find_block(TUTORIAL, "produce"), find_block(TUTORIAL, "consume"))
    ]
    printed = [one.communicate(timeout=PATIENCE_S)[0] for one in processes]
    assert [one.returncode for one in processes] == [0, 0]
    return printed[1]


def run_until_ctrl_c(process):
    """Let a job write a batch, then press Ctrl-C as a terminal does."""
    read_until(process, "0 quarantined")
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said.splitlines()


def find_modes(folder):
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory, java):
    """Cluster, bridge, clients and the job of the tutorial, on free ports."""
    folder = tmp_path_factory.mktemp("tutorial")
    tables = (
        "tables.root_path=data/tables",
        *(f"{job}.checkpoint_location=data/checkpoints/{job}" for job in JOBS),
    )
    with ExitStack() as stack:
        (kafka,) = find_block(TUTORIAL, "kafka").commands
        words = words_of(kafka.replace("9092", "0"))
        servers = stack.enter_context(
            running(start(folder, java, words), "bootstrap servers:")
        )
        (bridge,) = find_block(TUTORIAL, "bridge").commands
        places = f"kafka.bootstrap_servers={servers}"
        free = ("proxy.base_port=0", "bridge.listen_port=0", OFTEN)
        process = start(folder, java, words_of(bridge, places, *free))
        proxy = stack.enter_context(running(process, "bootstrap.servers="))
        heard = run_clients(folder, proxy)
        (job,) = find_block("docs/operations/checkpoints.md", "telemetry-job").commands
        # Of the command line: they start from the current folder.
        words = [*words_of(job, places, *tables), *HASTE]
        stopped = run_until_ctrl_c(start(folder, java, words))
        yield Site(
            folder=folder,
            proxy=proxy,
            settings=(
                places,
                *(one.replace("data", f"{folder}/data") for one in tables),
            ),
            heard=heard,
            stopped=stopped,
            modes=find_modes(folder),
            names={path.name for path in folder.iterdir()},
        )


@pytest.fixture(scope="module")
def ask(spark, site):
    """Run one line in this process."""

    def run(line):
        run_line(spark, line, *site.settings)

    return run


@pytest.fixture(scope="module")
def configured(site, ask):
    """Run the tutorial's commands about configurations; return what `describe` says."""
    for command in find_block(TUTORIAL, "telemetry").commands[:1]:
        ask(command)
    for command in find_block(TUTORIAL, "wire-configs").commands[:1]:
        ask(command)
    prepare, push, fill, _ = find_block(TUTORIAL, "push-config").commands
    subprocess.run(
        ["bash", "-c", prepare.replace("127.0.0.1:9292", site.proxy)],
        cwd=site.folder,
        check=True,
    )
    pushed = subprocess.run(
        [sys.executable, "-P", "-m", "pipelines", *words_of(push)],
        cwd=site.folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert pushed.returncode == 0, pushed.stderr
    ask(fill)


@pytest.mark.long
def test_what_was_produced_is_consumed(site):
    assert site.heard == find_block(TUTORIAL, "consumed").text


@pytest.mark.long
def test_the_bridge_says_the_addresses_of_the_tutorial(site):
    said = find_block(TUTORIAL, "addresses").text.splitlines()
    host, _, port = site.proxy.partition(":")
    assert said[0].startswith(f"bootstrap.servers={host}:")
    assert port.isdecimal()


@pytest.mark.long
def test_ctrl_c_ends_a_job_with_one_line(site):
    assert site.stopped == (
        130,
        ["kafka-clientele: client_telemetry_to_delta: interrupted"],
    )


@pytest.mark.long
def test_what_was_made_is_the_owners_and_stands_where_it_was_asked_for(site):
    assert any(name.endswith(".parquet") for name in site.modes)
    assert any("_delta_log" in name for name in site.modes)
    assert any("offsets" in name for name in site.modes)
    made = {n: m for n, m in site.modes.items() if n.startswith("data")}
    assert {name: mode for name, mode in made.items() if mode & 0o077} == {}
    assert site.names == {"data"}


@pytest.mark.long
@pytest.mark.usefixtures("configured")
def test_the_tutorial_shows_both_clients(ask, capsys):
    ask(find_block(TUTORIAL, "telemetry").commands[1])
    printed = capsys.readouterr().out
    shown = find_block(TUTORIAL, "clients").text
    head = shown.split("\n", 1)[0].split()
    assert printed.split("\n", 1)[0].split() == head
    for client_id in ("greeter", "listener"):
        words = re.search(rf"^{client_id} .*", printed, re.MULTILINE)[0].split()
        promised = re.search(rf"^{client_id} .*", shown, re.MULTILINE)[0].split()
        assert words[:2] == promised[:2]
        # librdkafka waits a second at most for the answer to its last push.
        assert words[2] in (promised[2], "idle")
        assert int(words[3]) >= 1


@pytest.mark.long
@pytest.mark.usefixtures("configured")
def test_the_tutorial_shows_what_the_proxy_saw(ask, capsys):
    ask(find_block(TUTORIAL, "wire-configs").commands[1])
    printed = capsys.readouterr().out
    assert re.search(r"^greeter +acks +1$", printed, re.MULTILINE)
    assert re.search(r"^listener +group\.id +listeners$", printed, re.MULTILINE)


@pytest.mark.long
@pytest.mark.usefixtures("configured")
def test_the_tutorial_shows_what_was_pushed(ask, capsys):
    ask(find_block(TUTORIAL, "push-config").commands[3])
    printed = capsys.readouterr().out
    assert "acks=1 " in printed
    assert "ssl.key.password" not in printed


PAGES_OF_QUERIES = (
    find_block("README.md", "who"),
    find_block("README.md", "slow"),
    find_block("README.md", "reconnecting"),
    find_block("README.md", "acks"),
    find_block("README.md", "changed"),
    find_block(TUTORIAL, "values"),
    find_block("docs/guide/notebooks.md", "ask"),
    find_block("docs/guide/notebooks.md", "rates"),
)
QUERIES = dict.fromkeys(
    command
    for block in PAGES_OF_QUERIES
    for command in block.commands
    if " sql " in command
)
"""Each once: pages may ask the same."""


@pytest.mark.long
@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("command", QUERIES)
def test_a_query_has_an_answer(ask, capsys, command):
    ask(command)
    assert re.search(r"\([1-9]\d* rows?\)", capsys.readouterr().out)


@pytest.mark.long
def test_the_shell_has_spark_and_the_tables(ask, capsys, monkeypatch):
    (command,) = (
        one
        for one in find_block("docs/guide/notebooks.md", "ask").commands
        if one.endswith(" shell")
    )
    typed = 'print("clients:", spark.table("clients").count())\n'
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    ask(command)
    assert "clients: 2" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.usefixtures("configured")
def test_the_notebook_writes_a_page_without_an_empty_table_or_picture(
    site, ask, capsys
):
    (command,) = find_block("docs/guide/notebooks.md", "notebook").commands
    assert find_block(TUTORIAL, "values").commands[-1] == command
    command = command.replace("notebooks/", f"{ROOT}/notebooks/")
    mine = site.folder / "mine.toml"
    mine.write_text('[tables]\nroot_path = "data/tables"\n')
    ask(f"{command} --output '{site.folder}/a page/clients.html' --config {mine}")
    page = Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8")
    assert "greeter" in page
    assert page.count("<table") == 3
    assert page.count('src="data:image/png;base64,') == 3
    assert '<p class="note">0 rows' not in page


@pytest.mark.long
def test_tables_are_maintained(ask, capsys):
    for command in find_block("docs/operations/maintenance.md", "maintain").commands:
        ask(command)
        printed = capsys.readouterr().out
        assert "client_telemetry_to_delta, topic clientele.telemetry: " in printed
        assert "client_pushes: " in printed
        assert "!!!" not in printed


@pytest.mark.long
def test_the_bridge_of_its_guide_says_where_it_listens(site):
    (command,) = find_block("docs/guide/bridge.md", "bridge").commands
    words = words_of(command, site.settings[0], "bridge.listen_port=0")
    with running(start(site.folder, "", words), "bridge: ") as endpoint:
        assert re.fullmatch(r"127\.0\.0\.1:\d+", endpoint)


def run_shell(folder, command):
    """Run a line as a shell does, whose program is this checkout."""
    program = f"{shlex.quote(sys.executable)} -P -m pipelines"
    return subprocess.run(
        ["bash", "-c", command.replace("./spark-submit.sh", program)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    ).stdout


def test_completion_prints_a_script(tmp_path):
    (command,) = find_block("docs/operations/upgrade.md", "completion").commands
    assert "complete " in run_shell(tmp_path, command)


def test_settings_prints_every_key(tmp_path):
    (command,) = find_block("docs/guide/settings.md", "settings").commands
    assert "bridge.telemetry_max_bytes = 1048576\n" in run_shell(tmp_path, command)


def test_a_file_of_ones_own_variables_and_set_come_one_after_the_other(tmp_path):
    mine = find_block("docs/guide/settings.md", "own-file").text
    (tmp_path / "mine.toml").write_text(mine)
    block = find_block("docs/guide/settings.md", "own-file-and-variables")
    printed = [run_shell(tmp_path, command) for command in block.commands]
    assert all("kafka.bootstrap_servers = kafka-1:9092," in one for one in printed)
    ports = [re.search(r"bridge\.listen_port = (\d+)", one)[1] for one in printed]
    assert ports == ["9192", "19192", "29192"]
