"""kafka-configs prints what Apache Kafka's own command printed, keys in order."""

import json
import re
import shlex
import threading
import uuid
from functools import partial

import pytest

from pipelines.embedded import EmbeddedKafka
from pipelines.settings import CONF_PATH
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.documents import find_block
from tests.support.jobs.called_main import call_main
from tests.support.kafka.kafka_commands import ask_configs

GOLDEN = CONF_PATH.parent / "tests" / "golden" / "admin" / "configs_command.jsonl"
COMMAND = "kafka-configs"
FILES = {
    "limits.properties": "producer_byte_rate=7\nrequest_percentage = 3.5\n",
    "bad.properties": "pro\\ ducer=7\n",
}
LISTED = re.compile(r"(?<= are )\S+=.*")
MISUSED = 2
DYNAMIC = "docs/guide/dynamic-configs.md"
LOCAL_KAFKA = "127.0.0.1:9092"
LOOKS, PAUSE_S = 200, 0.05


@pytest.fixture
def run(capsys):
    """Run the command; returns exit code, standard output and standard error."""
    return partial(call_main, capsys, COMMAND)


@pytest.fixture(scope="module")
def fresh(java):
    """A cluster in which nothing is set."""
    with EmbeddedKafka(java=java) as cluster:
        yield cluster.bootstrap_servers


def settle(look, wanted):
    """Look until it is so: a broker hears later than its controller of an alteration."""
    for _ in range(LOOKS):
        seen = look()
        if seen == wanted:
            break
        threading.Event().wait(PAUSE_S)
    assert seen == wanted


def put_in_order(printed):
    """Return lines without the order that is by hash with Kafka's command."""

    def sort(found):
        return ", ".join(sorted(found[0].split(", ")))

    lines = [LISTED.sub(sort, line) for line in printed.splitlines()]
    return sorted(lines) if "\n  " not in printed else lines


def sort_names(complaint):
    """Return a complaint whose last words, names of keys, are in alphabetical order."""
    head, found, names = complaint.partition("Unexpected config names: ")
    if not found or "(" in names:
        return complaint
    return head + found + ",".join(sorted(names.split(",")))


def test_calls_print_what_kafkas_command_printed(run, fresh, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)

    def look(words):
        code, out, err = run(*words)
        return {
            "exit_code": code,
            "stdout": put_in_order(out),
            "complaint": sort_names(err.splitlines()[0] if err else ""),
            "shows_usage": "usage: " in err,
        }

    calls = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
    assert len(calls) > 120
    for one in calls:
        words = [fresh if word == "SERVERS" else word for word in one["words"]]
        wanted = {
            **one,
            # Kafka's own tools have one exit code for all that goes wrong.
            "exit_code": MISUSED if one["shows_usage"] else one["exit_code"],
            "stdout": put_in_order(one["stdout"]),
            "complaint": sort_names(one["complaint"]),
        }
        settle(lambda: {"words": one["words"], **look(words)}, wanted)  # noqa: B023


def test_both_commands_show_what_either_has_set(run, java, kafka):
    """Kafka's own of the jars, on a broker that other tests use, too."""
    servers = kafka.bootstrap_servers
    ours = ("--bootstrap-server", servers)
    both = ("--user", "pair-user", "--client", "pair-client")
    limits = "producer_byte_rate=12345678,request_percentage=0.0005"
    code, out, _ = run(*ours, "--alter", *both, "--add-config", limits)
    assert (code, out) == (0, "Completed updating config for client pair-client.\n")
    shown = (
        "Quota configs for user-principal 'pair-user', client-id 'pair-client' are "
        "producer_byte_rate=1.2345678E7, request_percentage=5.0E-4\n"
    )

    def by_kafkas():
        code, told = ask_configs(java, servers, "--describe", *both)
        return code, put_in_order(told)

    settle(by_kafkas, (0, [shown.rstrip()]))
    assert run(*ours, "--describe", *both) == (0, shown, "")
    keys = "producer_byte_rate,request_percentage"
    code, told = ask_configs(java, servers, "--alter", *both, "--delete-config", keys)
    assert (code, told) == (0, out)
    settle(lambda: run(*ours, "--describe", *both), (0, "", ""))


def test_scram_credentials_are_shown_and_left_to_kafkas_own_command(run, java, kafka):
    servers = kafka.bootstrap_servers
    secret = "SCRAM-SHA-512=[iterations=8192,password=hunter2]"
    words = ("--user", "scram-user")
    ours = ("--bootstrap-server", servers, *words)
    code, out, err = run(*ours, "--alter", "--add-config", secret)
    assert (code, out) == (1, "")
    assert "kafka-configs.sh" in err
    assert "hunter2" not in err
    assert ask_configs(java, servers, "--alter", *words, "--add-config", secret)[0] == 0
    told = (
        "SCRAM credential configs for user-principal 'scram-user' are "
        "SCRAM-SHA-512=iterations=8192\n"
    )
    settle(lambda: ask_configs(java, servers, "--describe", *words), (0, told))
    settle(lambda: run(*ours, "--describe"), (0, told, ""))


def test_a_bridge_is_asked_as_a_broker_is(run, java, kafka):
    words = ("--user", "by-bridge", "--client-defaults")
    settings = make_settings(kafka, "bridge.admin_principals=['User:ANONYMOUS']")
    with running_bridge(settings) as (_, endpoint):
        ours = ("--bootstrap-server", endpoint, *words)
        assert run(*ours, "--alter", "--add-config", "consumer_byte_rate=5")[0] == 0
        line = (
            "Quota configs for user-principal 'by-bridge', the default client-id are "
            "consumer_byte_rate=5.0\n"
        )
        settle(lambda: run(*ours, "--describe"), (0, line, ""))
        assert ask_configs(java, kafka.bootstrap_servers, "--describe", *words) == (
            0,
            line,
        )
        assert run(*ours, "--alter", "--add-config", "acks=1") == (
            1,
            "",
            "This cluster does not serve dynamic client configs\n",
        )
        assert run(*ours, "--alter", "--delete-config", "consumer_byte_rate")[0] == 0


def test_who_is_no_admin_of_a_bridge_is_refused_in_kafkas_words(run, kafka):
    with running_bridge(make_settings(kafka)) as (_, endpoint):
        for words in (
            ("--describe", "--user", "a"),
            ("--describe", "--client-metrics", "a"),
            ("--alter", "--user", "a", "--add-config", "producer_byte_rate=5"),
        ):
            assert run("--bootstrap-server", endpoint, *words) == (
                1,
                "",
                "Error while executing config command: Cluster authorization failed.\n",
            )


def test_the_commands_of_the_page_do_what_it_says(run, kafka):
    block = find_block("docs/guide/quotas.md", "kafka-configs")
    done = "Completed updating config for user alice.\n"
    shown = (
        "Quota configs for user-principal 'alice', the default client-id are "
        "producer_byte_rate=10000.0, request_percentage=25.0\n"
    )
    for line, told in zip(block.commands, (done, done, shown, done), strict=True):
        words = shlex.split(line)[2:]
        assert LOCAL_KAFKA in words
        place = {LOCAL_KAFKA: kafka.bootstrap_servers}
        here = [place.get(word, word) for word in words]
        settle(lambda: run(*here), (0, told, ""))  # noqa: B023
    keys = "producer_byte_rate,request_percentage"
    rest = f"--user alice --client-defaults --delete-config {keys}"
    servers = ("--bootstrap-server", kafka.bootstrap_servers)
    assert run(*servers, "--alter", *shlex.split(rest))[0] == 0


@pytest.fixture(scope="module")
def bridges(kafka):
    """Two bridges of one cluster that keep dynamic client configs."""
    topic = f"client-configs-{uuid.uuid4()}"
    one, other = (
        make_settings(
            kafka,
            "bridge.admin_principals=['User:ANONYMOUS']",
            "dynamic_configs.enabled=true",
            f"topics.client_configs={topic}",
            f"topics.client_registrations={topic}-registrations",
            f"bridge.bridge_id={bridge_id}",
        )
        for bridge_id in ("one", "other")
    )
    with running_bridge(one) as (_, first), running_bridge(other) as (_, second):
        yield first, second


def test_the_commands_of_the_page_on_dynamic_configs_at_one_bridge_or_another(
    run, java, kafka, bridges
):
    told = find_block(DYNAMIC, "kafka-configs-output").text.splitlines(keepends=True)
    outputs = (told[0], told[1], "".join(told[2:4]), "".join(told[4:]))
    commands = [
        shlex.split(c)[2:] for c in find_block(DYNAMIC, "kafka-configs").commands
    ]
    for place in (bridges, bridges[::-1]):
        for number, (words, output) in enumerate(zip(commands, outputs, strict=True)):
            server, endpoint = words[1], place[number % 2]
            here = [endpoint if word == server else word for word in words]
            settle(lambda: run(*here), (0, output, ""))  # noqa: B023
    # Neither a broker nor Kafka's own command knows of anything but quotas.
    alice = ("--entity-type", "users", "--entity-name", "alice")
    own = ("--entity-type", "clients", "--entity-name", "clientid-override")
    at_the_broker = ("--bootstrap-server", kafka.bootstrap_servers)
    assert run(*at_the_broker, "--describe", *alice) == (0, told[2], "")
    shown = ask_configs(java, bridges[0], "--describe", *alice, *own)
    assert shown == (0, told[4])
    one, other = (("--bootstrap-server", place) for place in bridges)
    for words, keys in (
        (alice, "acks,session.timeout.ms,producer_byte_rate,linger.ms"),
        ((*alice, *own), "acks,heartbeat.interval.ms,producer_byte_rate"),
    ):
        done = (0, told[0], "")
        assert run(*other, "--alter", *words, "--delete-config", keys) == done
    both = (*alice, "--entity-type", "clients")
    settle(lambda: run(*one, "--describe", *both), (0, "", ""))


def test_a_bridge_refuses_a_config_and_quotas_are_named_as_done(run, bridges):
    words = ("--bootstrap-server", bridges[0], "--user", "refused", "--client", "c")
    configs = "acks=2,request_percentage=5"
    code, out, err = run(*words, "--alter", "--add-config", configs)
    assert (code, out) == (
        1,
        (
            "Completed updating quota configs for client c; its dynamic configs are not "
            "updated.\n"
        ),
    )
    assert err.startswith("Error while executing config command: acks: expects ")
    shown = "Quota configs for user-principal 'refused', client-id 'c' are"
    settle(
        lambda: run(*words, "--describe"), (0, f"{shown} request_percentage=5.0\n", "")
    )
    keys = "request_percentage"
    assert run(*words, "--alter", "--delete-config", keys)[0] == 0
