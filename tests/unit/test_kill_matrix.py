"""What a matrix of kills plans, and how it knows the commits and pushes of others."""

import json
import random
from collections import Counter

import pytest

from tests.long.kill_matrix import VICTIMS, plan_kills
from tests.support.clients.counted_pushes import (
    PUSHES_PER_CLIENT,
    make_counted,
    number_of,
    read_number,
)
from tests.support.jobs.command_process import find_command
from tests.support.jobs.commits import Commit, CommitWatch


def make_chance():
    return random.Random(7)  # noqa: S311 - to be repeatable


def test_every_point_of_every_victim_comes_where_there_is_room():
    kills = plan_kills(300, make_chance())
    assert len(kills) == 300
    assert {(kill.victim, kill.point) for kill in kills} == {
        (victim, point) for victim, points in VICTIMS.items() for point in points
    }


def test_with_few_kills_each_victim_comes():
    kills = plan_kills(20, make_chance())
    assert len(kills) == 20
    assert Counter(kill.victim for kill in kills).keys() == VICTIMS.keys()


def test_only_those_die_who_are_named():
    kills = plan_kills(40, make_chance(), ["bridge", "broker"])
    assert {kill.victim for kill in kills} == {"bridge", "broker"}


def write_commit(root, table, version, operation):
    log = root / table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    lines = [{"commitInfo": {"operation": operation}}, {"add": {"path": "a"}}]
    text = "\n".join(map(json.dumps, lines))
    (log / f"{version:020}.json").write_text(text)


def test_commits_are_told_once_and_only_new_ones(tmp_path):
    write_commit(tmp_path, "a", 0, "WRITE")
    watch = CommitWatch(tmp_path)
    assert watch.read_new() == []
    write_commit(tmp_path, "a", 1, "OPTIMIZE")
    write_commit(tmp_path, "b", 0, "WRITE")
    assert watch.read_new() == [Commit("b", 0, "WRITE"), Commit("a", 1, "OPTIMIZE")]
    assert watch.read_new() == []


def test_a_commit_is_waited_for_until_its_writer_has_ended(tmp_path):
    watch = CommitWatch(tmp_path)
    write_commit(tmp_path, "a", 0, "WRITE")
    assert watch.wait_for(lambda one: one.operation == "X", lambda: True) is None
    write_commit(tmp_path, "a", 1, "X")
    found = watch.wait_for(lambda one: one.operation == "X", lambda: True)
    assert found == Commit("a", 1, "X")


@pytest.mark.parametrize("key", [(1, 0, 1), (1, 3, 17), (1, 9, PUSHES_PER_CLIENT - 1)])
def test_a_push_says_which_it_is(key):
    assert read_number(make_counted(key)) == number_of(key)


def test_a_command_that_is_not_there_is_named():
    with pytest.raises(LookupError, match="the command mend_tables is not there"):
        find_command("mend_tables")
