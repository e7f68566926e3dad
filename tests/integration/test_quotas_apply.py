"""`quotas apply`: a cluster's quotas become those of a file."""

import os
import shlex

import pytest

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.call import Call
from pipelines.commands.quotas import applying as applying_quotas
from pipelines.embedded import EmbeddedKafka
from pipelines.errors import InvalidSetting, MissingService
from tests.support.documents import find_block
from tests.support.kafka.kafka_commands import ask_configs
from tests.support.kafka.topics import wait_for

GUIDE = "docs/guide/quotas.md"
PLAN = """
- entity_path: users/alice
  quotas: {producer_byte_rate: 1048576, request_percentage: 50}
- entity_path: users/alice/clients/c1
  quotas: {producer_byte_rate: 60000}
- entity_path: users/<default>/clients/<default>
  quotas: {controller_mutation_rate: 12.5}
- entity_path: users/%3Cdefault%3E
  quotas: {consumer_byte_rate: 7}
- entity_path: clients/<default>
  quotas: {consumer_byte_rate: 2097152}
- entity_path: ips/10.0.0.7
  quotas: {connection_creation_rate: 9}
"""


@pytest.fixture(scope="module")
def cluster(java):
    with EmbeddedKafka(java=java) as brokers:
        yield brokers


class Applying:
    def __init__(self, servers, path, capsys):
        self.servers, self.path, self._capsys = servers, path, capsys

    def run(self, plan, words="", *, code=0, where=None):
        """Apply a plan; return the lines that are printed."""
        self.path.write_text(plan)
        where = f"--bootstrap-server {self.servers}" if where is None else where
        line = f"quotas apply --file {self.path} {where} {words}"
        call = Call(arguments=parse_words(shlex.split(line)), environ=os.environ)
        assert COMMANDS_BY_NAME["quotas"].run(call) == code
        return self._capsys.readouterr().out.splitlines()

    def expect_no_difference(self, plan, words=""):
        """Apply it once more; the broker shows what is set once it has read it."""
        wait_for(lambda: self.run(plan, words), lambda said: said == ["no difference"])


@pytest.fixture
def applying(cluster, tmp_path, capsys):
    made = Applying(cluster.bootstrap_servers, tmp_path / "quotas.yaml", capsys)
    made.run("[]", "--prune")
    made.expect_no_difference("[]", "--prune")
    return made


def squeeze(lines):
    """Return lines without the blanks that make columns of them."""
    return [" ".join(one.split()) for one in lines]


def describe(java, cluster, *words):
    code, printed = ask_configs(
        java, cluster.bootstrap_servers, "--describe", "--entity-type", *words
    )
    assert code == 0, printed
    return printed


def test_every_form_of_entity_is_set_as_kafka_shows_it(applying, java, cluster):
    lines = applying.run(PLAN)
    assert squeeze(lines) == [
        "ENTITY KEY CHANGE",
        "+ clients/<default> consumer_byte_rate not set -> 2097152.0",
        "+ ips/10.0.0.7 connection_creation_rate not set -> 9.0",
        "+ users/%3Cdefault%3E consumer_byte_rate not set -> 7.0",
        "+ users/<default>/clients/<default> controller_mutation_rate not set -> 12.5",
        "+ users/alice producer_byte_rate not set -> 1048576.0",
        "+ users/alice request_percentage not set -> 50.0",
        "+ users/alice/clients/c1 producer_byte_rate not set -> 60000.0",
        "7 additions, 0 changes, 0 removals",
    ]  # fmt: skip
    applying.expect_no_difference(PLAN)
    of_both = describe(java, cluster, "users", "--entity-type", "clients")
    assert (
        "Quota configs for user-principal 'alice', client-id 'c1' are "
        "producer_byte_rate=60000.0" in of_both
    )
    assert (
        "Quota configs for the default user-principal, the default client-id are "
        "controller_mutation_rate=12.5" in of_both
    )
    users = describe(java, cluster, "users")
    assert "for user-principal '<default>' are consumer_byte_rate=7.0" in users


def test_what_the_file_does_not_name_stays_unless_it_is_pruned(applying):
    applying.run(PLAN)
    applying.expect_no_difference(PLAN)
    less = "[{entity_path: users/alice, quotas: {producer_byte_rate: 5}}]"
    *changes, summary = applying.run(less)
    assert squeeze(changes[1:]) == ["~ users/alice producer_byte_rate 1048576.0 -> 5.0"]
    assert summary == (
        "0 additions, 1 change, 0 removals; 6 quotas that the file does not name stay: "
        "--prune removes them"
    )
    wait_for(lambda: "~" in str(applying.run(less)), lambda differs: not differs)
    assert applying.run(less, "--prune")[-1] == "0 additions, 0 changes, 6 removals"
    applying.expect_no_difference(less, "--prune")


def test_of_one_key_no_other_is_touched(applying):
    applying.run(PLAN)
    applying.expect_no_difference(PLAN)
    one_key = "--prune --key request_percentage"
    assert applying.run("[]", one_key)[-1] == "0 additions, 0 changes, 1 removal"
    applying.expect_no_difference("[]", one_key)
    assert applying.run("[]", "--prune")[-1] == "0 additions, 0 changes, 6 removals"


def test_a_dry_run_alters_nothing(applying):
    lines = applying.run(PLAN, "--dry-run", code=1)
    assert lines[-1] == (
        "7 additions, 0 changes, 0 removals; nothing was altered, as --dry-run says"
    )
    assert len(applying.run(PLAN)) == len(lines)
    applying.expect_no_difference(PLAN, "--dry-run")


def test_an_entity_that_is_refused_is_named_and_the_others_are_set(applying):
    plan = """
- {entity_path: users/alice, quotas: {producer_byte_rate: 0.5}}
- {entity_path: users/bob, quotas: {producer_byte_rate: 5}}
- {entity_path: ips/10.0.0.8, quotas: {producer_byte_rate: 5}}
"""
    lines = applying.run(plan, code=1)
    assert lines[4:6] == [
        "ips/10.0.0.8 is refused: Invalid configuration key producer_byte_rate",
        "users/alice is refused: producer_byte_rate cannot be a fractional value.",
    ]
    assert lines[-1] == "1 addition, 0 changes, 0 removals; 2 entities refused"
    bob = "[{entity_path: users/bob, quotas: {producer_byte_rate: 5}}]"
    applying.expect_no_difference(bob)


def test_without_a_server_it_is_the_cluster_of_the_clients(applying):
    where = f"--set kafka.bootstrap_servers={applying.servers}"
    assert applying.run(PLAN, where=where)[-1].startswith("7 additions")


@pytest.mark.parametrize(
    ("plan", "said"), [("{", "is no YAML"), ("[1]", "entity 1 has not entity_path")]
)
def test_a_file_that_is_none_alters_nothing(applying, plan, said):
    with pytest.raises(Exception, match=said) as refused:
        applying.run(plan)
    assert refused.value.exit_code == 2


def test_a_cluster_that_does_not_answer_is_named(applying, monkeypatch):
    monkeypatch.setattr(applying_quotas, "TIMEOUT_S", 1.0)
    with pytest.raises(MissingService, match=r"Kafka at 127\.0\.0\.1:1: "):
        applying.run(PLAN, where="--bootstrap-server 127.0.0.1:1")


def test_a_file_of_properties_that_is_missing_is_named(applying):
    with pytest.raises(InvalidSetting, match="/nowhere: cannot be read"):
        applying.run(PLAN, "--command-config /nowhere")


def apply(words):
    arguments = parse_words(["quotas", "apply", *shlex.split(words)])
    return COMMANDS_BY_NAME["quotas"].run(Call(arguments=arguments, environ=os.environ))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "the following arguments are required: --file"),
        ("--file f --json", "unrecognized arguments: --json"),
        ("--file f --command-config f", "--command-config belongs to --bootstrap"),
        ("--file f --user u", "it belongs to quotas explain"),
        (
            "--file f --cluster-id i",
            "unrecognized arguments: --cluster-id i; it belongs to",
        ),
    ],
)
def test_misuse_is_told(capsys, words, said):
    with pytest.raises(SystemExit) as ended:
        apply(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_the_guide_applies_a_file(applying):
    (command,) = find_block(GUIDE, "quotas-apply").commands
    words = command.partition("--file quotas.yaml")[2]
    plan = find_block(GUIDE, "quotas-file").text
    where = f"--set kafka.bootstrap_servers={applying.servers}"
    assert applying.run(plan, words, where=where)[-1] == (
        "3 additions, 0 changes, 0 removals"
    )
