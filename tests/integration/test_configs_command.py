"""What `configs` prints, and the notebook, of two clients that run with real tables."""

import json
import os
import shlex
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from pipelines.commands import parse_words
from pipelines.commands.asking import Printing, print_query
from pipelines.commands.configs.answers import (
    AmbiguousClient,
    ConfigCommand,
    UnknownClient,
)
from pipelines.commands.configs.questions import read_question
from pipelines.delta_tables.setup import ensure_tables
from pipelines.errors import MissingTable
from pipelines.settings import CONF_PATH, load_settings
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
)
from tests.integration.test_docs import HASTE, PATIENCE_S
from tests.support.documents import find_block
from tests.support.spark.config_rows import entry, held, hours, instance, span
from tests.support.spark.table_rows import append_rows

ROOT = CONF_PATH.parent
ORDERS = {"logical_client": "orders", "client_id": "orders"}
BILLING = {"logical_client": "billing", "client_id": "billing"}
SHOP = {"logical_client": "shop", "client_id": "shop"}
TWIN = {"logical_client": "twin", "client_id": "orders", "client_type": "consumer"}
PRODUCER = ["--client-type", "producer"]
TYPE = " ".join(PRODUCER)


@pytest.fixture(scope="module")
def settings(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("configs")
    made = load_settings("local", [f"tables.root_path={folder}/tables"])
    ensure_tables(spark, made.tables, CLIENT_CONFIG_CONTRACTS)
    append_rows(
        made.tables,
        CLIENT_CONFIGS,
        instance(
            "orders-1",
            {
                "acks": held("1"),
                "linger.ms": held("5", "LONG", "default"),
                "ssl.key.password": held(None, "PASSWORD", "redacted"),
                "retries": held("many", "INT", "invalid_value", is_default=True),
            },
            received_at=hours(2),
            **ORDERS,
        ),
        instance("billing-1", {"acks": held("a\x1b[2Jb")}, **BILLING),
        instance("shop-1", {"acks": held("all")}, **SHOP),
        instance("shop-2", {"acks": held("1")}, **SHOP),
    )
    append_rows(
        made.tables,
        CLIENT_CONFIG_HISTORY,
        span("acks", "all", 0, 2, **ORDERS),
        span("acks", "1", 2, **ORDERS),
        span("linger.ms", "5", 0, is_default=True, **ORDERS),
        span("ssl.key.password", None, 0, **ORDERS),
        span("acks", "all", 0, **BILLING),
        span("linger.ms", "5", 0, **BILLING),
        span("ssl.key.password", None, 0, **BILLING),
        span("group.id", "g", 0, **TWIN),
        span("acks", "1", 0, **SHOP | {"client_instance_ids": ["shop-1", "shop-2"]}),
        *(
            span(
                key, value, 0, 1, **ORDERS | {"client_id": name, "logical_client": name}
            )
            for name, acks in (("ended-1", "all"), ("ended-2", "1"))
            for key, value in (("acks", acks), ("client.id", name))
        ),
    )
    push = {"client_instance_id": "orders-1", "decode_status": "ok"} | ORDERS
    shop = push | SHOP | {"client_instance_id": "shop-1", "received_at": hours(0)}
    hidden = entry("ssl.key.password", None, "PASSWORD", is_default=True)
    append_rows(
        made.tables,
        CLIENT_CONFIG_PUSHES,
        push | {"received_at": hours(0), "configs": [entry("acks", "all")]},
        push | {"received_at": hours(2), "configs": [entry("acks", "1")]},
        shop | {"received_at": hours(0), "configs": [entry("acks", "1")]},
        shop | {"received_at": hours(1), "configs": [entry("acks", "all"), hidden]},
        shop | {"client_instance_id": "shop-2", "configs": [entry("acks", "1")]},
    )
    return made


@pytest.fixture(scope="module")
def ask(spark, settings):
    """Return what one question prints, asked in this process."""
    printed = []
    command = ConfigCommand(spark, settings, datetime.now(tz=UTC), printed.append)

    def answer(text):
        arguments = parse_words(["configs", *shlex.split(text)])
        printed.clear()
        command.answer(arguments.action, read_question(arguments))
        return "\n".join(printed)

    return answer


def run(settings, *words):
    return subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pipelines"),
            *words,
            "--set",
            f"tables.root_path={settings.tables.root_path}",
            *HASTE,
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


DESCRIBE = " describe "
OF_THE_PAGE = {
    DESCRIBE: ["acks=1 ", "sensitive=true", "source=pushed"],
    " --from ": [
        "- client-id orders was not active at 2026-03-01T",
        "acks (added)",
        "+   1",
    ],
    " --client-id billing": ["- client-id orders at ", "acks (changed)", "+   all"],
    " --client-id shop": ["of client-id shop, producer of User:a disagree:", "acks"],
    " history ": ["History of client-id orders, producer of", "2026-03-01T14:00:00Z"],
    " sql ": ["acks", "changed", "row"],
}


def find_command(mark):
    commands = find_block("docs/guide/client-configs.md", "configs").commands
    return shlex.split(next(c for c in commands if mark in c))[1:]


@pytest.mark.long
def test_a_command_of_the_page_prints_what_it_says(settings):
    done = run(settings, *find_command(DESCRIBE))
    assert done.returncode == 0, done.stderr
    assert [part for part in OF_THE_PAGE[DESCRIBE] if part not in done.stdout] == []


@pytest.mark.long
@pytest.mark.parametrize("mark", [one for one in OF_THE_PAGE if one != DESCRIBE])
def test_the_others_do_so_in_this_process(spark, settings, ask, capsys, mark):
    """Each of them would start a Spark of its own."""
    name, *words = find_command(mark)
    if name == "sql":
        print_query(spark, settings, words[0], Printing(output=sys.stdout))
        printed = capsys.readouterr().out
    else:
        printed = ask(shlex.join(words))
    assert [part for part in OF_THE_PAGE[mark] if part not in printed] == []


@pytest.mark.long
def test_describe_aligns_and_leaves_defaults_out(ask):
    printed = ask("describe --client-id orders").splitlines()
    assert printed[0] == (
        "Configs that are not defaults for client-instance-id orders-1 (client-id "
        "orders, producer of User:a, apache-kafka-java 4.3.1, pushed "
        "2026-03-01T14:00:00Z, expired) are:"
    )
    assert [line.split()[0] for line in printed[1:]] == [
        "acks=1",
        "ssl.key.password=null",
    ]
    assert len({line.index("sensitive=") for line in printed[1:]}) == 1
    assert "linger.ms=5 " in ask("describe --client-instance-id orders-1 --all")
    assert "linger" not in ask("describe --principal User:a --all --key acks")


@pytest.mark.long
def test_a_value_cannot_move_the_cursor(ask):
    assert "\x1b" not in ask("describe --client-id billing")


@pytest.mark.long
def test_describe_at_a_moment(ask):
    printed = ask(
        f"describe --client-id orders {' '.join(PRODUCER)} --at 2026-03-01T13"
    )
    assert "acks=all " in printed
    assert "default=false instances=1" in printed
    assert "none" in ask("describe --client-id orders --at 2020-01-01")


@pytest.mark.long
def test_describe_instances_at_a_moment(ask):
    """Each as it was itself, not as others of the same logical client were."""
    text = "describe --all --at 2026-03-01T14 --client-instance-id shop-1"
    printed = ask(text)
    assert "client-id shop, producer of User:a at" in printed
    assert ["acks=all" in printed, "acks=1" in printed] == [True, False]
    assert "ssl.key.password=null sensitive=true" in printed
    assert "acks=1" in ask(f"{text} --client-instance-id shop-2")
    assert "acks=1" in ask(f"{text} --client-id shop")


@pytest.mark.long
def test_json_is_whole(ask):
    found = json.loads(ask("describe --client-id orders --all --json"))
    values = {one["config_key"]: one["value_long"] for one in found}
    assert values.pop("linger.ms") == 5
    assert values == dict.fromkeys(["acks", "retries", "ssl.key.password"])
    found = json.loads(ask("history --client-id orders --key acks --json"))
    assert [one["valid_to"] for one in found] == ["2026-03-01T14:00:00Z", None]
    text = f"diff --client-id orders --client-id billing --json {' '.join(PRODUCER)}"
    assert [one["config_key"] for one in json.loads(ask(text))] == ["acks"]
    found = json.loads(ask("diff --client-id shop --json"))
    assert [one["client_instance_ids"] for one in found] == [["shop-2"], ["shop-1"]]


@pytest.mark.long
def test_an_instance_is_compared_by_its_pushes(ask):
    text = "diff --client-instance-id orders-1 --from 2026-03-01T13 --to 2026-03-01T15"
    assert ask(text).splitlines()[2:] == ["  acks (changed)", "-   all", "+   1"]
    assert "no difference" in ask(text.replace("15", "13:30"))


def test_diff_of_clients_that_ended_names_when_each_was_last_seen(ask):
    pair = "diff --client-id ended-1 --client-id ended-2 --principal User:a"
    with pytest.raises(UnknownClient) as refused:
        ask(pair)
    assert refused.value.exit_code == 1
    told = str(refused.value)
    assert told.startswith("no client to compare was active: client-id ended-1 was not")
    assert told.endswith("last seen 2026-03-01T13:00:00Z")
    assert "client-id ended-2" in told
    # While both were there, they differ; their names are no difference.
    lines = ask(f"{pair} --at 2026-03-01T12:30").splitlines()[2:]
    assert lines == ["  acks (changed)", "-   all", "+   1"]
    one = ask(f"diff --client-id orders --client-id ended-1 {TYPE}")
    assert "client-id ended-1 was not active at " in one.splitlines()[1]


@pytest.mark.long
def test_instances_that_agree_are_told(ask):
    printed = ask("diff --client-id shop --key acks").splitlines()
    assert printed == [
        "Active instances of client-id shop, producer of User:a disagree:",
        "  acks",
        "    1   instances=1 shop-2",
        "    all instances=1 shop-1",
    ]
    text = "active instance{} of client-id {}, producer of User:a: no difference"
    agreeing = ask("diff --client-id shop --key retries")
    assert agreeing == f"2 {text.format('s', 'shop')}"
    assert ask("diff --client-id billing") == f"1 {text.format('', 'billing')}"
    with pytest.raises(UnknownClient, match="there is shop"):
        ask("diff --client-id shap --json")


@pytest.mark.long
def test_history_of_a_time(ask):
    printed = ask("history --client-id orders --key acks --from 2026-03-01T15")
    assert "all" not in printed
    assert "now" in printed
    assert "no value" in ask("history --client-id orders --to 2020-01-01")


@pytest.mark.long
def test_unknown_and_ambiguous_clients_are_told(ask):
    with pytest.raises(UnknownClient, match=r"client-id order: .*; there is orders"):
        ask("describe --client-id order")
    with pytest.raises(UnknownClient, match="client-id orders, principal User:b"):
        ask("history --client-id orders --principal User:b")
    with pytest.raises(
        AmbiguousClient, match="consumer of User:a; client-id orders, p"
    ):
        ask("diff --client-id orders --from 2026-03-01")


def test_without_tables_the_job_is_named(spark, tmp_path):
    nowhere = load_settings("local", [f"tables.root_path={tmp_path}"])
    with pytest.raises(MissingTable, match="client_configs_to_delta makes them"):
        ConfigCommand(spark, nowhere, datetime.now(tz=UTC), print)


@pytest.mark.long
def test_the_notebook_shows_tables_and_a_picture(settings, tmp_path):
    block = find_block("docs/guide/client-configs.md", "configs")
    commands = [c for c in block.commands if "client_configuration" in c]
    words = shlex.split(commands[0])[1:]
    page = tmp_path / "page.html"
    done = run(settings, *words, "--output", str(page), "--widget", "since=2000-01-01")
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert text.count("<table") == 5
    assert text.count('src="data:image/png;base64,') == 2
    assert "Clients by their acks" in text
