"""Every command of the README is run as it stands there, on free ports and folders."""

import os
import re
import shlex
import signal
import stat
import subprocess
import threading
import time
from contextlib import ExitStack, closing, contextmanager

import pytest
from confluent_kafka import Consumer, Producer

from pipelines.commands.session import INTERPRETED
from pipelines.commands.submit.arguments import SHORT_JAVA_OPTIONS
from pipelines.jobs.telemetry.job import JOB_NAME
from pipelines.settings import CONF_PATH
from tests.spark.class_archive import driver_words

ROOT = CONF_PATH.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PATIENCE_S = 600
HASTE = (*INTERPRETED, *driver_words(*SHORT_JAVA_OPTIONS))
# On the command line they start from the current folder, which each test has of its own.
TABLES = ("--set", "tables.root_path=data/tables")
CHECKPOINT = ("--set", f"{JOB_NAME}.checkpoint_location=data/checkpoint")

RUN_ELSEWHERE = {
    "./spark-submit.sh demo": "test_demo.py",
    "tests/run.sh": "what runs this",
    "./spark-submit.sh scram-credential --name alice --output users.jsonl": (
        "test_scram_credential.py"
    ),
    "pip install ./pipelines/clients": "tests/unit/clients, as a wheel",
    "./spark-submit.sh push-config --properties client.properties "
    "--client-type producer": "test_push_config_command.py",
    "./spark-submit.sh client_telemetry_to_delta --env cluster "
    "--master spark://host:7077 --once": "test_cluster_submit.py",
    "./spark-submit.sh replay_pushes --from 2026-03-01 --to 2026-03-02": (
        "test_replay_pushes.py"
    ),
    "./spark-submit.sh replay_pushes --from 2026-03-01 --to 2026-03-02 --dry-run": (
        "test_replay_pushes.py"
    ),
    "./spark-submit.sh compact_tables": "test_compact_tables.py",
    "./spark-submit.sh client_configs_to_delta --env local --once": (
        "test_configs_job.py"
    ),
    "./spark-submit.sh client_wire_configs_to_delta --env local --once": (
        "test_proxy_wire_configs.py"
    ),
}


def list_commands():
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


COMMANDS = list_commands()
RUN_ELSEWHERE |= {
    command: "tests/unit/commands/test_explain_rule.py"
    for command in COMMANDS
    if " explain-rule " in command
}
RUN_ELSEWHERE |= {
    command: "test_client_metrics_command.py"
    for command in COMMANDS
    if " kafka-client-metrics " in command
}
RUN_ELSEWHERE |= {
    command: "test_configs_command.py"
    for command in COMMANDS
    if re.search(r" configs |client_configuration|client_config_diff", command)
}
RUN_ELSEWHERE |= {
    command: "test_purge_secrets.py"
    for command in COMMANDS
    if " purge_secrets" in command
}
KAFKA, BRIDGE, JOB, *ASKING = [c for c in COMMANDS if c not in RUN_ELSEWHERE]
SQL = [command for command in ASKING if " sql " in command]


def words_of(command, *more):
    return [str(ROOT / "spark-submit.sh"), *shlex.split(command)[1:], *more]


@contextmanager
def running(folder, words, mark):
    """Run a command until the block ends; yields the first line that has the mark."""
    process = subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield read_until(process, mark)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE_S)
        process.stdout.close()


def read_until(process, mark):
    watchdog = threading.Timer(PATIENCE_S, process.kill)
    watchdog.start()
    try:
        for line in process.stdout:
            if mark in line:
                return line.strip()
    finally:
        watchdog.cancel()
    pytest.fail(f"{process.args} ended without {mark!r}")


def run(folder, command, *more, stdin=""):
    return subprocess.run(
        words_of(command, *more),
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    ).stdout


@pytest.fixture(scope="module")
def stopped_job(filled):
    """What the job of the step-by-step commands printed at Ctrl-C, and its end."""
    return filled[1]


@pytest.fixture(scope="module")
def folder(filled):
    """Where the step-by-step commands ran with a real client."""
    return filled[0]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Run the three step-by-step commands with a real client; the job until Ctrl-C."""
    folder = tmp_path_factory.mktemp("readme")
    with ExitStack() as stack:
        servers = stack.enter_context(
            running(folder, words_of(KAFKA.replace("9092", "0")), "bootstrap servers:")
        )
        kafka = f"kafka.bootstrap_servers={servers.split()[-1]}"
        endpoint = stack.enter_context(
            running(
                folder,
                words_of(BRIDGE, "--set", kafka, "--set", "bridge.listen_port=0"),
                "bridge:",
            )
        )
        producer = Producer(
            {"bootstrap.servers": endpoint.split()[-1], "client.id": "readme"}
        )
        assert wait_for_push(servers.split()[-1], producer)
        stopped = run_until_ctrl_c(
            folder, words_of(JOB, "--set", kafka, *TABLES, *CHECKPOINT, *HASTE)
        )
    return folder, stopped


def run_until_ctrl_c(folder, words):
    """Run a job until it has written a batch, then press Ctrl-C as a terminal does.

    Returns: (exit code, lines from there on).
    """
    process = subprocess.Popen(
        words,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    read_until(process, "0 quarantined")
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said.splitlines()


def wait_for_push(servers, producer):
    """Keep a producer alive until its first push stands in the topic."""
    with closing(
        Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": "readme",
                "auto.offset.reset": "earliest",
                "enable.metrics.push": False,
            }
        )
    ) as consumer:
        consumer.subscribe(["clientele.telemetry"])
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            producer.poll(0)
            record = consumer.poll(0.2)
            if record is not None and record.error() is None:
                return True
    return False


def test_the_readme_begins_with_the_two_commands():
    assert COMMANDS[:2] == ["./spark-submit.sh demo", "tests/run.sh"]
    assert README.index("tests/run.sh") < 1200  # the first screen


def test_every_command_is_run_by_a_test():
    known = {"sql", "shell", "notebook", "settings"}
    assert all(shlex.split(command)[1] in known for command in ASKING)
    assert [KAFKA.split()[1], BRIDGE.split()[1], JOB.split()[1]] == [
        "kafka",
        "bridge",
        "client_telemetry_to_delta",
    ]
    assert all(
        (ROOT / (name if "/" in name else f"tests/integration/{name}")).exists()
        for name in RUN_ELSEWHERE.values()
        if name.endswith(".py")
    )


def test_ctrl_c_ends_a_job_with_one_line(stopped_job):
    assert stopped_job == (
        130,
        ["kafka-clientele: client_telemetry_to_delta: interrupted"],
    )


def test_sql_prints_rows(folder):
    printed = run(folder, SQL[0], *TABLES)
    assert re.search(r"\([1-9]\d* rows?\)", printed)


def test_what_was_made_is_the_owners_and_stands_where_it_was_asked_for(folder):
    modes = {
        str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
    }
    assert any(name.endswith(".parquet") for name in modes)
    assert any("_delta_log" in name for name in modes)
    assert any("offsets" in name for name in modes)
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}
    names = {path.name for path in folder.iterdir()}
    assert names & {"data", "spark-warehouse", "metastore_db", "derby.log"} == {"data"}


def test_the_shell_has_spark_and_the_tables_and_answers_every_query(folder):
    """The queries of the other commands: a Spark for each would take minutes."""
    command = next(c for c in ASKING if c.endswith("shell"))
    queries = [shlex.split(one)[2] for one in SQL[1:]]
    lines = ['print("clients:", spark.table("clients").count())']
    lines += [f"print('rows:', len(sql({query!r}).collect()))" for query in queries]
    printed = run(folder, command, *TABLES, *HASTE, stdin="\n".join([*lines, ""]))
    assert "clients: 1" in printed
    counts = [int(found) for found in re.findall(r"rows: (\d+)", printed)]
    assert len(counts) == len(queries) > 2
    assert all(counts)


def test_the_notebook_writes_a_page_without_an_empty_table_or_picture(folder):
    command = next(c for c in ASKING if " notebook " in c)
    command = command.replace("notebooks/", f"{ROOT}/notebooks/")
    output = ("--output", "a page/clients.html")
    printed = run(folder, command, *output, *TABLES, *HASTE)
    page = (folder / printed.strip()).read_text(encoding="utf-8")
    assert "readme" in page
    assert page.count("<table") == 3
    assert page.count('src="data:image/png;base64,') == 3
    assert '<p class="note">0 rows' not in page


def test_settings_prints_every_key(folder):
    command = next(c for c in ASKING if " settings " in c)
    assert "bridge.telemetry_max_bytes = 1048576\n" in run(folder, command)
