"""The screen and the JSON of a site that is known."""

import json
from dataclasses import asdict, replace

import pytest

from pipelines.commands.status.lines import format_json, format_screen
from pipelines.watching.judging import Problem
from pipelines.watching.site import TableLook
from tests.support.sites import (
    AT_MS,
    SITE,
    TABLE,
    ran,
    with_bridge,
    with_stored,
    with_topic,
)

SCREEN = """\
2026-03-01T00:00:00.000Z  Kafka k:9092: answers

bridge  state  pushes/s  refused/s  accepted  refused
------  -----  --------  ---------  --------  -------
b:9193  ready      20.0        0.0    12,345        6

job                        topic                state  records behind  seconds  last commit
-------------------------  -------------------  -----  --------------  -------  -----------
client_telemetry_to_delta  clientele.telemetry  runs                0      0.0  3 s ago

table           rows  files    size  version  last commit
-------------  -----  -----  ------  -------  -----------
client_pushes  1,234      5  6.8 kB        7  3 s ago

quarantine, last hour: nothing
last maintenance: 2 h ago, well
last check: never

all is well
"""


def test_a_site_that_is_well_is_one_screen():
    assert format_screen(SITE, []) == SCREEN


def test_status_head_reports_that_kafka_does_not_answer():
    silent = replace(SITE, kafka_fault="_TRANSPORT")
    head = format_screen(silent, []).splitlines()[0]
    assert head == "2026-03-01T00:00:00.000Z  Kafka k:9092: does not answer"


def test_the_last_lines_say_what_is_not_well():
    problems = [Problem(what="a", do="b"), Problem(what="c\x1b[2J", do="d\ne")]
    lines = format_screen(SITE, problems).splitlines()
    assert lines[-2:] == [
        "not well: a: b",
        "not well: c\N{REPLACEMENT CHARACTER}[2J: d e",
    ]


def test_what_was_not_looked_at_is_not_called_well():
    lines = format_screen(replace(SITE, not_looked_at=("the moon",)), []).splitlines()
    assert "not looked at: the moon" in lines
    assert lines[-1] == "all is well, as far as was looked at"


@pytest.mark.parametrize(
    ("site", "line"),
    [
        (
            with_bridge(
                has_answered=False,
                is_ready=False,
                said="Connection refused",
                **dict.fromkeys(
                    ("accepted", "refused", "accepted_per_s", "refused_per_s")
                ),
            ),
            "b:9193 Connection refused - - - -",
        ),
        (
            with_topic(unread=2_000, waiting_since_ms=AT_MS - 61_500),
            "client_telemetry_to_delta clientele.telemetry runs 2,000 61.5 3 s ago",
        ),
        (
            with_topic(unread=2_000),
            "client_telemetry_to_delta clientele.telemetry runs 2,000 - 3 s ago",
        ),
        (
            with_topic(has_topic=False),
            "client_telemetry_to_delta clientele.telemetry (is missing) runs 0 - 3 s ago",
        ),
        (
            with_stored(tables=(TABLE, TableLook(name="quarantine", is_there=False))),
            "quarantine - - - - is missing",
        ),
        (
            with_stored(tables=(replace(TABLE, rows=None, bytes=2_500_000_000),)),
            "client_pushes - 5 2.5 GB 7 3 s ago",
        ),
        (
            with_stored(quarantined={"corrupt_frame": 1_200, "missing_header": 1}),
            "quarantine, last hour: 1,200 corrupt_frame, 1 missing_header",
        ),
        (
            with_stored(checks=ran(AT_MS - 90_000_000, "a", "b")),
            "last check: 25 h ago, 2 failed",
        ),
        (
            with_stored(is_maintained=True),
            "last maintenance: 2 h ago, well (one is under way)",
        ),
        (
            with_stored(maintenance=replace(ran(AT_MS), completed_ms=None)),
            "last maintenance: 0 s ago, well, not at its end",
        ),
    ],
)
def test_each_thing_has_its_line(site, line):
    lines = [" ".join(one.split()) for one in format_screen(site, []).splitlines()]
    assert line in lines


def test_json_has_all_that_was_seen_and_the_verdict():
    problem = Problem(what="a", do="b")
    told = json.loads(format_json(SITE, [problem]))
    assert told.pop("problems") == [{"what": "a", "do": "b"}]
    assert told.pop("is_well") is False
    assert told == json.loads(json.dumps(asdict(SITE)))
    assert json.loads(format_json(SITE, []))["is_well"] is True
