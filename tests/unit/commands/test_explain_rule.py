"""The command that explains a decision of the rules."""

import shlex
import subprocess
import sys

import pytest

from pipelines.settings import CONF_PATH
from tests.support.documents import find_block

ROOT = CONF_PATH.parent
COMMAND = (sys.executable, "-m", "pipelines", "explain-rule")
SECRET = "password=hunter2"


def run(*words, stdin=""):
    return subprocess.run(
        [*COMMAND, *words],
        cwd=ROOT,
        input=stdin.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
    )


def explain(*words, stdin=""):
    done = run(*words, stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert b"hunter2" not in done.stdout + done.stderr
    return dict(
        line.split(maxsplit=1) for line in done.stdout.decode().splitlines() if line
    )


def test_a_key_is_explained_by_its_rule_and_the_condition_that_held():
    said = explain("--key", " SSL_keystore.password", "--type", "string")
    assert said["key"] == "(no name)"
    assert said["rule"] == "security-key"
    assert said["because"] == "key_prefixes has 'ssl.', in plain form"
    assert said["action"] == (
        "redact: neither is written, for the key does not look like one"
    )
    said = explain("--key", "SSL_keystore.password", "--type", "string")
    assert said["action"] == "redact: the key is written, its value is not"


def test_the_catalog_speaks_as_well_as_the_client():
    said = explain("--key", "key.serializer")
    assert said["catalog"] == "CLASS for apache-kafka-java"
    assert (said["rule"], said["because"]) == ("class-type", "config_types has CLASS")
    said = explain("--key", "key.serializer", "--software", "franz-go")
    assert said["catalog"] == "CLASS for franz-go"
    assert said["rule"] == "class-type"
    said = explain("--key", "my.key", "--software", "franz-go")
    assert said["catalog"] == "custom: no catalog for franz-go has the key"
    assert (said["rule"], "unless" in said) == ("custom-key", False)


def test_explain_rule_tells_on_which_value_a_key_depends():
    words = ("--key", "my.limit", "--type", "INT", "--software", "sarama")
    said = explain(*words)
    assert said["rule"] == "custom-key"
    assert said["unless"] == (
        "typed-value: allow, if the value is of its declared type, which value_types has"
    )
    said = explain(*words, "--value", "-", stdin="5")
    assert said["rule"] == "typed-value"
    assert said["action"] == "allow: written as it is"
    assert said["because"].endswith(
        "the value is of its declared type, which value_types has"
    )
    said = explain(*words, "--value", "-", stdin="hunter2")
    assert (said["rule"], "unless" in said) == ("custom-key", False)
    said = explain("--key", "metric.reporters", "--type", "LIST")
    assert said["rule"] == "class-list"
    assert said["unless"].startswith("known-class-list: allow, if value_items has")


@pytest.mark.parametrize(
    ("key", "action", "static"),
    [
        ("log.dirs", "allow", "no_validator: stored from a broker's registration"),
        ("log.segment.bytes", "allow", "reported: stored"),
        ("ssl.keystore.password", "redact", "password: never stored"),
        ("controller.quorum.voters", "redact", "never: never stored"),
        ("my.own", "redact", "unknown_key: stored from a broker's registration"),
    ],
)
def test_explain_rule_agrees_with_the_filter_of_static_configs(key, action, static):
    said = explain("--key", key, "--software", "apache-kafka-broker")
    assert said["action"].startswith(action)
    assert said["static"].startswith(static)


@pytest.mark.parametrize(
    ("stdin", "rule", "action"),
    [(SECRET, "named-secret-value", "redact"), ("acks of all\n", "none", "allow"),
     ("\udcff" + SECRET, "named-secret-value", "redact"), ("", "none", "allow"),
     ("password%3Dhunter2", "named-secret-value", "redact")],
)  # fmt: skip
def test_a_value_is_judged_and_never_printed(stdin, rule, action):
    said = explain("--key", "client.id", "--value", "-", stdin=stdin)
    assert said["rule"].split()[0] == rule
    assert said["action"].startswith(action)
    assert said["value"] == f"{len(stdin.rstrip())} characters"


@pytest.mark.parametrize(
    ("value", "reason"),
    [(SECRET, "in the value"), ("\uff50assword=hunter2", "in the value's plain form")],
)
def test_the_form_in_which_a_secret_was_found_is_told(value, reason):
    said = explain("--key", "client.id", "--value", "-", stdin=value)
    assert said["because"] == f"its patterns are found {reason}"


def test_without_a_value_only_the_key_is_judged():
    said = explain("--key", "acks", stdin=SECRET)
    assert said["value"] == "not looked at; --value - reads one"
    assert (said["rule"], said["because"]) == ("none matches", "-")
    assert said["action"] == (
        "allow: written, unless a rule for values finds something in its value"
    )


def test_a_key_that_is_a_secret_is_explained_and_not_repeated():
    ours = 'sensitive_keys.rules=[{name="ours",action="allow",key_prefixes=["a."]},'
    hide = '{name="hide",action="redact",value_patterns=["hunter2"]}]'
    said = explain("--key", "a.hunter2", "--set", ours + hide)
    assert (said["key"], said["rule"]) == ("(no name)", "hide")
    assert said["because"] == "its patterns are found in the key"


def test_the_rules_of_the_command_line_are_those_in_force():
    rule = 'sensitive_keys.rules=[{name="ours",action="drop",key_patterns=["a.*"]}]'
    said = explain("--key", "acks", "--set", rule)
    assert (said["rule"], said["because"]) == ("ours", "key_patterns has 'a.*'")
    assert said["action"] == "drop: neither key nor value is written"


@pytest.mark.parametrize(
    "words", [(), ("--key", "a", "--value", "x"), ("--key", "a", "--type", "TEXT")]
)
def test_a_wrong_option_is_refused(words):
    done = run(*words)
    assert done.returncode == 2
    assert b"usage:" in done.stderr


@pytest.mark.parametrize(
    "words",
    [("--value", "hunter2"), ("--value=hunter2",), ("--value", "-", "hunter2"),
     ("--type", "hunter2"), ("--valeu", "hunter2"), ("hunter2",)],
)  # fmt: skip
def test_a_value_in_the_wrong_place_is_refused_and_not_repeated(words):
    done = run("--key", "a", *words)
    assert done.returncode == 2
    assert b"explain-rule: error: " in done.stderr
    assert b"hunter2" not in (done.stdout + done.stderr).lower()


def test_the_commands_of_the_page_are_right():
    commands = find_block("docs/guide/client-configs.md", "explain-rule").commands
    assert len(commands) == 2
    for command in commands:
        words = shlex.split(command.partition("<")[0])[2:]
        assert run(*words, stdin=SECRET).returncode == 0
