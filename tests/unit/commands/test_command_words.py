"""What commands refuse before anything starts, and in which words."""

import subprocess
import sys

import pytest

from pipelines import __version__
from pipelines.__main__ import main
from pipelines.commands import COMMANDS, COMMANDS_BY_NAME, GROUPS, parse_words
from pipelines.commands.call import Call
from pipelines.commands.options import ENV, SET
from pipelines.errors import PipelineError


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["demo", "--duration", "-5"], "--duration: expected a whole number, 0 or more, not '-5'"),
        (["demo", "--clients", "100001"], "--clients: expected a whole number, from 2 to 100000, not '100001'"),
        (["sql", "select 1", "--limit", "-1"], "--limit: expected a whole number, 0 or more, not '-1'"),
        (["sql", "select 1", "--limit", "x"], "--limit: expected a whole number, 0 or more, not 'x'"),
        (["kafka", "--brokers", "0"], "--brokers: expected a whole number, 1 or more, not '0'"),
        (["kafka", "--port", "65536"], "--port: expected a whole number, from 0 to 65535, not '65536'"),
    ],
)  # fmt: skip
def test_a_number_that_makes_no_sense_is_refused_with_usage(words, reason, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_words(words)
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"usage: ./spark-submit.sh {words[0]}")
    assert said.endswith(f"argument {reason}\n")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "--out says where the page goes; --serve serves it"),
        (["--serve", "--out", "x"], "--serve writes no file: --out and --folder are for others"),
        (["--out", "x", "--since", "2999-01-01"], "--since is not in the past"),
        (["--out", "x", "--since", "0h"], "argument --since: '0h' is no time span, such as 24h, 30m or 7d, and no date or time"),
        (["--out", "x", "--since", "1w"], "argument --since: '1w' is no time span, such as 24h, 30m or 7d, and no date or time"),
    ],
)  # fmt: skip
def test_a_report_that_makes_no_sense_is_refused_with_usage(words, reason, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["report", *words])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith("usage: ./spark-submit.sh report ")
    assert said.endswith(f"error: {reason}\n")


@pytest.mark.parametrize("words", [[], ["help"], ["--help"]], ids=str)
def test_a_bare_call_and_help_show_the_commands_in_groups(words, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_words(words)
    said = capsys.readouterr().out
    assert ended.value.code == 0
    for title, group in GROUPS.items():
        begin = said.index(f"\n{title}:\n")
        for one in group:
            assert f"\n  {one.COMMAND.name} " in said[begin:]
    assert "./spark-submit.sh demo\n" in said


def test_help_on_one_command_is_its_own(capsys):
    with pytest.raises(SystemExit):
        parse_words(["help", "sql"])
    assert capsys.readouterr().out.startswith("usage: ./spark-submit.sh sql ")


def test_every_file_of_a_command_is_listed_under_its_name():
    for group in GROUPS.values():
        for one in group:
            assert one.__name__.rpartition(".")[2] == one.COMMAND.name.replace("-", "_")


@pytest.mark.parametrize(
    ("words", "env", "interval_ms"),
    [
        ([], "local", 5_000),
        (["--config", "{mine}"], "base", 300_000),
        (["--config", "{mine}", "--env", "local"], "local", 5_000),
        (["--config", "{mine}", "--env", "cluster"], "cluster", 300_000),
    ],
    ids=str,
)
def test_config_without_env_starts_from_base(words, env, interval_ms, tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text("[bridge]\nlisten_port = 0\n")
    arguments = parse_words(["bridge", *(one.format(mine=mine) for one in words)])
    assert arguments.env == env
    settings = Call(arguments=arguments, environ={}).read_settings()
    assert [one.interval_ms for one in settings.subscriptions] == [interval_ms]
    # A driver gets the environment that its parent chose.
    again = COMMANDS_BY_NAME["bridge"].words_of(arguments)
    assert parse_words(["bridge", *again]).env == env


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"kafka-clientele {__version__}\n"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["quota"], "unknown command 'quota'; did you mean quotas?"),
        (["zzz"], "unknown command 'zzz'; './spark-submit.sh help' lists the commands"),
        (["quotas", "explian"], "unknown action 'explian'; did you mean explain?"),
        (["quotas", "--env", "cluster", "explain", "--client-id", "a"], "put the action first: quotas explain --env …"),
        (["findings", "chek"], "unknown action 'chek'; did you mean check?"),
        (["findings", "--closd"], "unrecognized arguments: --closd; did you mean --closed?"),
        (["sql", "select 1", "--formt", "csv"], "--formt csv; did you mean --format?"),
        (["clients", "stale", "--to", "4.4"], "--to 4.4; it belongs to clients upgrade"),
        (["kafka"] * 2, "unrecognized arguments: kafka"),
    ],
)  # fmt: skip
def test_wrong_word_prints_one_usage_line_and_suggests_nearest(words, hint, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_words(words)
    assert ended.value.code == 2
    usage, sentence = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: ./spark-submit.sh ")
    assert sentence.endswith(hint)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("report --out /proc/x.html", "--out: cannot write to /proc: "),
        ("report --folder --out /proc", "--out: cannot write to /proc: "),
        ("quotas plan --file {bad}", "bad.yaml is no YAML in line 1"),
        ("quotas plan --file {none}", "none.yaml: No such file or directory"),
    ],
)
def test_unusable_file_is_refused_before_spark_starts(words, reason, tmp_path):
    (tmp_path / "bad.yaml").write_text("- [")
    files = {name: tmp_path / f"{name}.yaml" for name in ("bad", "none")}
    call = NoSpark(arguments=parse_words(words.format(**files).split()), environ={})
    with pytest.raises(PipelineError, match=reason) as refused:
        COMMANDS_BY_NAME[call.arguments.command].run(call)
    assert refused.value.exit_code == 2


class NoSpark(Call):
    """A call that fails if it starts Spark."""

    def session(self, name, *, more=()):
        raise AssertionError((name, more))


ACTIONS = [(c, a) for c in COMMANDS_BY_NAME.values() for a in c.actions]


def test_options_of_actions_have_one_meaning_each():
    assert {command.name for command, _ in ACTIONS} == {
        *("brokers", "clients", "configs", "findings", "quotas")
    }
    prefixes = tuple(f"{action.name}:" for _, action in ACTIONS)
    for _, action in ACTIONS:
        for one in action.options:
            assert one.name != "--set" or one is SET
            assert not one.arguments["help"].startswith(prefixes)


KAFKA_TOOLS = {"kafka-configs", "kafka-client-metrics"}
SOFTWARE_NAME = "client_software_name of"
"""A name of a column keeps its lower case."""


@pytest.mark.parametrize("name", sorted(COMMANDS_BY_NAME.keys() - KAFKA_TOOLS))
def test_help_texts_begin_with_a_capital_and_have_at_most_80_characters(name):
    command = COMMANDS_BY_NAME[name]
    texts = [one.arguments["help"] for one in command.all_options if one is not ENV]
    texts += [command.help, *(action.help for action in command.actions)]
    for text in (one.removeprefix("job: ") for one in texts):
        assert not text[0].islower() or text.startswith(SOFTWARE_NAME)
        assert len(text) <= 80
        assert not text.endswith(".")


def test_findings_without_action_lists_and_keeps_options_before_it():
    arguments = parse_words(["findings", "--severity", "error"])
    assert (arguments.action, arguments.severity) == ("list", "error")
    assert parse_words(["findings"]).action == "list"


def test_a_shell_completes_options_of_actions(capsys, tmp_path):
    assert complete(capsys, tmp_path, "quotas", "what-if", "--al") == ["--alter"]
    assert complete(capsys, tmp_path, "quotas", "top", "--al") == []


def test_a_shell_completes_commands_and_options(capsys, tmp_path):
    assert complete(capsys, tmp_path, "sql", "--for") == ["--format"]


def complete(capsys, tmp_path, *words):
    """Return what a shell offers for words."""
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion"
    script.write_text(capsys.readouterr().out)
    asked = """
        source "$1"
        COMP_WORDS=(./spark-submit.sh "${@:2}") COMP_CWORD=$(($# - 1))
        $(complete -p ./spark-submit.sh | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", asked, "bash", script, *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_the_list_of_commands_is_light():
    """A bridge needs no Spark, and --help none of what a command does."""
    told = "import sys, pipelines.__main__; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"pyspark", "numpy", "pyarrow", "confluent_kafka", "asyncio", "kio"}
    assert not heavy & set(modules)
    assert len(COMMANDS) > 15
