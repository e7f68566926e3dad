"""The demo as a newcomer runs it: what it prints, what it leaves, how it ends."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest

from pipelines.settings import CONF_PATH
from tests.support.jobs.given_calls import run_line

ROOT = CONF_PATH.parent
PATIENCE_S = 600


def start_demo(folder, *words):
    return subprocess.Popen(
        [str(ROOT / "spark-submit.sh"), "demo", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def list_folders(pid):
    """List what a demo wrote its tables to, which is the checkout's wherever it ran."""
    return list((ROOT / "data").glob(f"demo-*-{pid}"))


def list_group(group):
    """List the commands of a process group that are still alive."""
    lines = subprocess.run(
        ["ps", "-Ao", "pgid=,stat=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    rows = [line.split(None, 2) for line in lines]
    return [row for row in rows if row[0] == str(group) and row[1][0] != "Z"]


def wait_until_empty(group):
    deadline = time.monotonic() + PATIENCE_S
    never = threading.Event()
    while (alive := list_group(group)) and time.monotonic() < deadline:
        never.wait(0.1)
    return alive


def ask_about_the_quota(spark, tables, capsys):
    """Expect that its tables say whom the quota throttles, and whom a change would."""
    quotas = spark.read.format("delta").load(str(tables / "effective_quotas"))
    ((at,),) = quotas.selectExpr(
        "date_format(max(as_of), 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
    ).collect()
    given = f"tables.root_path={tables}"

    def ask(words):
        run_line(spark, f"./spark-submit.sh quotas {words}", given)
        return capsys.readouterr().out

    words = "--user ANONYMOUS --client-id orders-1 --key producer_byte_rate"
    said = ask(f"explain {words} --at {at.replace(' ', 'T')}")
    assert said.startswith(
        "producer_byte_rate is 512.0, by level 7: clients/orders-1\n"
    )
    throttled = re.search(r"orders-1 reports: throttled (\S+) ms on average", said)
    assert float(throttled[1]) > 0
    printed = ask("what-if --alter clients/orders-1:producer_byte_rate=1024")
    _, *changes, summary = printed.splitlines()
    assert [line.split()[:3] for line in changes] == [
        ["User:ANONYMOUS", "orders-1", "producer_byte_rate"]
    ]
    assert summary.startswith("1 of 6 observed clients changes")


def ask_about_a_configuration(spark, tables, capsys):
    """Expect that its tables say what a client has set."""
    line = "./spark-submit.sh configs describe --client-id orders-1"
    run_line(spark, line, f"tables.root_path={tables}")
    (linger,) = (
        line
        for line in capsys.readouterr().out.splitlines()
        if line.lstrip().startswith("linger.ms=")
    )
    assert linger.lstrip().startswith("linger.ms=50 ")


def test_the_demo_sees_every_client_and_says_what_to_try_next(tmp_path, spark, capsys):
    running = start_demo(tmp_path, "--duration", "1", "--clients", "6")
    printed, said = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, said
    for client_id in ("orders-1", "payments-1", "billing-1", "shipping-1"):
        row = next(line for line in printed.splitlines() if line.startswith(client_id))
        assert "confluent-kafka-python" in row
        assert "User:ANONYMOUS" in row
    assert "Busiest metrics" in printed
    assert "org.apache.kafka.consumer." in printed
    assert "org.apache.kafka.producer." in printed
    assert re.search(r"\d+ pushes in Delta, \d of 6 clients", said)
    assert re.search(
        r"orders-1 +producer +client.id=orders-1 linger.ms=50 +\d", printed
    )
    brokers, quotas = printed.partition("\nBrokers\n")[2].split("\nClients that", 1)
    assert re.search(r"\n +1 +live +\S+ \S+ +described \(\d{3}\)", brokers), brokers
    (limited,) = re.findall(
        r"User:ANONYMOUS +orders-1 +producer_byte_rate +512\.0 +7 +clients/orders-1 +"
        r"(\S+) +(\S+)",
        quotas,
    )
    # How long a broker holds it back depends on the machine; that it does, does not.
    assert all(float(milliseconds) > 0 for milliseconds in limited)
    (folder,) = list_folders(running.pid)
    assert f"\nDelta tables: {folder}/tables\n" in printed
    assert (folder / "tables" / "client_metrics" / "_delta_log").is_dir()
    assert f"{ROOT}/spark-submit.sh sql" in printed
    assert re.search(r"\ncheck_tables: all of \d{2,} expectations", printed)
    assert list(tmp_path.iterdir()) == []
    ask_about_the_quota(spark, folder / "tables", capsys)
    ask_about_a_configuration(spark, folder / "tables", capsys)
    shutil.rmtree(folder)
    assert " WARNING " not in said
    assert " ERROR " not in said
    assert wait_until_empty(running.pid) == []


@pytest.mark.long
def test_a_demo_ends_at_ctrl_c_with_one_line_and_leaves_no_process(tmp_path):
    running = start_demo(tmp_path, "--duration", "600")
    for line in running.stderr:
        if "pushes in Delta" in line:
            break
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=PATIENCE_S)
    assert said == "kafka-clientele: demo: interrupted\n"
    assert running.returncode == 130
    assert wait_until_empty(running.pid) == []
    (folder,) = list_folders(running.pid)
    shutil.rmtree(folder)


def test_a_number_of_clients_that_makes_no_sense_is_refused(tmp_path):
    running = start_demo(tmp_path, "--clients", "1")
    _, said = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 2
    assert said.strip().splitlines()[-1] == (
        "./spark-submit.sh demo: error: argument --clients: expected a whole number, "
        "from 2 to 100000, not '1'"
    )
