"""Settings that commands, notebooks and pages use if --env is not given."""

import shlex

import pytest

from pipelines.commands import parse_words
from pipelines.commands.call import Call
from pipelines.commands.report import name_settings
from pipelines.commands.status import _repeat_options
from pipelines.settings import load_settings


@pytest.mark.parametrize(
    ("words", "repeated"),
    [
        ([], "--env local"),
        (["--env", "base"], "--env base"),
        (["--env", "local"], "--env local"),
        (["--config", "mine.toml"], "--config mine.toml"),
        (["--config", "mine.toml", "--env", "local"], "--env local --config mine.toml"),
    ],
)
def test_status_repeats_options_that_give_same_settings(words, repeated):
    call = Call(arguments=parse_words(["status", *words]), environ={})
    assert _repeat_options(call) == repeated
    again = parse_words(["status", *shlex.split(repeated)])
    assert (again.env, again.config) == (call.arguments.env, call.arguments.config)


def test_load_settings_without_env_starts_from_base_only_with_own_file(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text("[bridge]\nlisten_port = 0\n")
    found = load_settings("", own_file=str(mine))
    assert found.subscriptions == load_settings("base").subscriptions
    assert load_settings("") == load_settings("local")


def test_report_title_without_env_is_stem_of_settings_file():
    assert name_settings("base", "/srv/mine.toml") == "mine"
    assert name_settings("local", "/srv/mine.toml") == "local"
    assert name_settings("base", None) == "base"
