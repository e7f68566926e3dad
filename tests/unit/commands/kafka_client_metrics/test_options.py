"""The rest of the rules stands in tests/golden/admin, as Kafka's command has them."""

import pytest

from pipelines.commands import parse_words
from pipelines.commands.kafka_client_metrics.options import (
    OPTIONS,
    SELECTOR_KEYS,
    Misuse,
    check,
)
from pipelines.commands.options import CommandFault
from udfs.subscriptions.properties import SELECTORS


def given(*words):
    arguments = parse_words(["kafka-client-metrics", *words])
    return {
        name.removeprefix("--"): getattr(arguments, name.strip("-").replace("-", "_"))
        for name, _, _ in OPTIONS
    }


def call(*words):
    return check(given("--bootstrap-server", "a:1", *words))


def test_options_are_what_kafkas_command_has():
    made = call(
        "--alter", "--name", "s", "--metrics", "a.,b.", "--interval", "500",
        "--match", "client_id=a", "--command-config", "file",
    )  # fmt: skip
    assert (made.action, made.name, made.bootstrap_server) == ("alter", "s", "a:1")
    assert made.command_config == "file"
    assert made.values == {
        "interval.ms": "500", "metrics": "a.,b.", "match": "client_id=a",
    }  # fmt: skip


def test_what_is_not_given_is_not_changed():
    assert call("--alter", "--generate-name").values == {}
    assert call("--alter", "--generate-name").name is None


def test_empty_value_is_kept_since_it_deletes_the_key():
    made = call("--alter", "--name", "s", "--interval", "", "--metrics", "")
    assert made.values == {"interval.ms": "", "metrics": ""}


@pytest.mark.parametrize(
    ("values", "joined"),
    [(["a,,b"], "a,b"), (["a", "b,c"], "a,b,c"), ([","], ","), (["a,", ",b"], "a,b")],
)
def test_lists_are_joined_as_kafkas_command_does(values, joined):
    words = [word for value in values for word in ("--metrics", value)]
    assert call("--alter", "--name", "s", *words).values["metrics"] == joined


@pytest.mark.parametrize("option", ["--interval", "--bootstrap-server"])
def test_option_given_twice_is_a_misuse(option):
    with pytest.raises(Misuse, match="multiple arguments"):
        call("--alter", "--name", "s", "--interval", "500", option, "7")


def test_name_given_twice_is_a_fault_of_the_command():
    with pytest.raises(CommandFault, match="multiple arguments for option name"):
        call("--delete", "--name", "a", "--name", "b")


def test_help_names_the_selectors_of_the_bridge():
    assert set(SELECTOR_KEYS) == set(SELECTORS)


@pytest.mark.parametrize(
    ("words", "code"),
    [(["kafka-client-metrics", "--nonsense"], 1), (["settings", "--nonsense"], 2),
     (["settings", "extra"], 2), (["nonsense"], 2), (["help", "nonsense"], 2)],
)  # fmt: skip
def test_only_kafkas_own_tools_end_with_their_exit_code(words, code, capsys):
    with pytest.raises(SystemExit) as caught:
        parse_words(words)
    assert caught.value.code == code
    assert "usage:" in capsys.readouterr().err
