"""kafka-client-metrics prints what Apache Kafka's own command printed."""

import json
import re
import shlex
from functools import partial

import pytest

from pipelines.embedded import EmbeddedKafka
from pipelines.settings import CONF_PATH
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.documents import find_block
from tests.support.jobs.called_main import call_main
from tests.support.kafka.topics import wait_for

ROOT = CONF_PATH.parent
GOLDEN = ROOT / "tests" / "golden" / "admin" / "client_metrics_command.jsonl"
COMMAND = "kafka-client-metrics"
LOCAL_KAFKA = "127.0.0.1:9092"
GENERATED = re.compile(r"(?<=for )[\w-]{22}(?=\.)|^[\w-]{22}$", re.MULTILINE)


@pytest.fixture
def run(capsys):
    """Run the command; returns exit code, standard output and standard error."""
    return partial(call_main, capsys, COMMAND)


@pytest.fixture(scope="module")
def fresh(java):
    """A cluster without subscriptions."""
    with EmbeddedKafka(java=java) as cluster:
        yield cluster.bootstrap_servers


def test_calls_print_what_kafkas_command_printed(run, fresh):
    calls = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
    assert len(calls) > 40
    for one in calls:
        words = [fresh if word == "SERVERS" else word for word in one["words"]]

        def look(words=words, one=one):
            code, out, err = run(*words)
            return {
                "words": one["words"],
                "exit_code": code,
                "stdout": GENERATED.sub("GENERATED", out),
                "complaint": err.splitlines()[0] if err else "",
            }

        if {"--list", "--describe"}.isdisjoint(words):
            assert look() == one
        else:
            # A broker hears later than its controller of an alteration.
            wait_for(look, lambda seen, one=one: seen == one)


def list_commands():
    block = find_block("docs/guide/subscriptions.md", "kafka-client-metrics")
    return [shlex.split(line)[2:] for line in block.commands]


def test_the_commands_of_the_page_do_what_it_says(run, fresh):
    commands = list_commands()
    actions = [
        word.removeprefix("--")
        for words in commands
        for word in words
        if word in {"--alter", "--describe", "--list", "--delete"}
    ]
    assert actions == ["alter", "describe", "list", "delete"]
    shown = ("team-a", "interval.ms=60000", "", "")
    for words, text in zip(commands, shown, strict=True):
        assert LOCAL_KAFKA in words
        given = [fresh if one == LOCAL_KAFKA else one for one in words]
        code, out, _ = run(*given)
        assert code == 0
        if "--describe" in words:
            out = wait_for(
                partial(run, *given), lambda said, text=text: text in said[1]
            )[1]
        assert text in out


def test_bridge_is_asked_as_a_broker_is(run, kafka):
    settings = make_settings(kafka, "bridge.admin_principals=['User:ANONYMOUS']")
    with running_bridge(settings) as (_, endpoint):
        words = ("--bootstrap-server", endpoint, "--name", "by-bridge")
        assert run(*words, "--alter", "--metrics", "a.")[0] == 0
        wait_for(
            lambda: run(*words, "--describe")[1], lambda out: "  metrics=a.\n" in out
        )
        assert run(*words, "--delete")[0] == 0


def test_others_are_refused_with_kafkas_words(run, kafka):
    with running_bridge(make_settings(kafka)) as (_, endpoint):
        for words in (["--list"], ["--describe"], ["--alter", "--name", "s"]):
            code, out, _ = run("--bootstrap-server", endpoint, *words)
            assert code == 1
            assert out == (
                "Error while executing client metrics command : "
                "Cluster authorization failed.\n"
            )


def test_secured_cluster_is_reached_by_the_properties_of_a_java_client(
    run, java, tmp_path
):
    password = 'hunter2, the [quoted] "secret" \\ slash'
    with EmbeddedKafka(
        java=java, security_protocol="SASL_SSL", users={"admin": password}
    ) as secured:
        quoted = password.replace("\\", "\\\\").replace('"', '\\"')
        config = tmp_path / "admin.properties"

        def list_with(secret):
            jaas = (
                "org.apache.kafka.common.security.scram.ScramLoginModule required "
                f'username="admin" password="{secret}";'
            ).replace("\\", "\\\\")
            config.write_text(
                "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
                f"sasl.jaas.config={jaas}\nssl.truststore.type=PEM\n"
                f"ssl.truststore.location={secured.ca_path}\n"
            )
            servers = secured.bootstrap_servers
            return run(
                "--bootstrap-server", servers, "--command-config", str(config), "--list"
            )

        assert list_with(quoted)[:2] == (0, "\n")
        code, out, err = list_with("wrong-one")
        assert code == 1
        assert "sasl_authentication_failed" in out
        assert "wrong-one" not in out + err
