"""The rest of the rules stands in tests/golden/admin, as Kafka's command has them."""

import pytest

from pipelines import __version__
from pipelines.commands import parse_words
from pipelines.commands.kafka_configs import answers
from pipelines.commands.kafka_configs.changes import QUOTA_KEYS as NAMED_QUOTA_KEYS
from pipelines.commands.kafka_configs.options import Misuse, check
from udfs.quotas import QUOTA_KEYS


def call(*words):
    servers = ("--bootstrap-server", "a:1")
    return check(parse_words(["kafka-configs", *servers, *words]))


def test_names_and_defaults_count_in_the_order_in_which_they_stand():
    made = call(
        "--describe", "--entity-default", "--entity-type", "users",
        "--entity-type", "clients", "--entity-name", "c1",
    )  # fmt: skip
    assert (made.entity_types, made.entity_names) == (("users", "clients"), ("", "c1"))


def test_short_forms_are_in_the_order_of_kafkas_tool():
    made = call("--describe", "--user", "alice", "--client", "c1")
    assert made.entity_types == ("clients", "users")
    assert made.entity_names == ("c1", "alice")
    made = call("--describe", "--client-defaults", "--user", "alice")
    assert made.entity_types == ("users", "clients")
    assert made.entity_names == ("alice", "")


@pytest.mark.parametrize(
    ("words", "what"),
    [(["--topic", "t"], "topics"), (["--entity-type", "topics"], "topics"),
     (["--broker", "1"], "brokers"), (["--broker-defaults"], "brokers"),
     (["--broker-logger", "1"], "broker-loggers"), (["--group", "g"], "groups")],
)  # fmt: skip
def test_what_only_kafkas_own_tool_does_is_one_line_that_names_it(words, what):
    with pytest.raises(Misuse) as caught:
        call("--describe", *words)
    assert str(caught.value) == (
        f"Configs of {what} are shown and altered by Kafka's own tool, kafka-configs.sh"
    )
    assert not caught.value.shows_usage


def test_controllers_are_asked_by_kafkas_own_tool():
    words = ["--bootstrap-controller", "a:1", "--describe", "--user", "alice"]
    with pytest.raises(Misuse, match=r"Controllers .* kafka-configs\.sh"):
        check(parse_words(["kafka-configs", *words]))


def test_a_call_without_options_says_what_the_tool_is_for():
    with pytest.raises(Misuse, match="This tool helps") as caught:
        check(parse_words(["kafka-configs"]))
    assert caught.value.shows_usage


def test_a_name_that_can_be_no_host_is_no_address():
    with pytest.raises(Misuse, match=r"valid IP or resolvable host, but it is: a\.\.b"):
        call("--describe", "--ip", "a..b")


def test_a_blank_in_a_list_of_configs_loses_none_and_shows_none(capsys):
    words = ["--alter", "--user", "a", "--add-config", "x=1,", "password=hunter2"]
    with pytest.raises(SystemExit) as caught:
        call(*words)
    told = capsys.readouterr().err
    assert caught.value.code == 2
    assert "unrecognized arguments: 1" in told
    assert "hunter2" not in told


def test_quota_keys_are_those_of_the_kernel():
    assert {*QUOTA_KEYS} == NAMED_QUOTA_KEYS


def test_version_is_printed_as_kafkas_tool_prints_its_own():
    said = []
    arguments = parse_words(["kafka-configs", "--version"])
    assert answers.run(arguments, say=said.append, complain=said.append) == 0
    assert said == [f"{__version__} (Commit:unknown)"]
