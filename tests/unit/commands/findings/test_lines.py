"""A finding in words: what was seen, since when, what to set, why."""

import json
from datetime import UTC, date, datetime

import pytest

from pipelines.commands import parse_words
from pipelines.commands.findings.lines import (
    format_finding,
    format_findings,
    format_json,
    format_rules,
)

FINDING = {
    "severity": "warning",
    "rule": "producer-acks-not-all",
    "logical_client": "abc",
    "client_id": "shop",
    "principal": "User:alice",
    "instances": 2,
    "since": datetime(2026, 3, 1, 10, tzinfo=UTC),
    "until": None,
    "silenced_until": None,
    "silenced_reason": None,
    "sentence": "Producer `shop` waits for the leader alone.",
    "setting": "acks",
    "current_value": "1",
    "suggested_value": "all",
    "why": "It may be lost.",
    "source": "KIP-679",
    "evidence": {"acks": "1"},
}
RUN = {
    "run_id": "r",
    "evaluated_at": datetime(2026, 3, 1, 12, tzinfo=UTC),
    "rule": "producer-acks-not-all",
    "clients": 40,
    "not_evaluated": 12,
    "missing": [("acks", 10), ("pushes", 2)],
    "findings": 1,
    "coverage": [
        {"family": "java", "client_type": "producer", "lacks": "", "clients": 28},
        {"family": "java", "client_type": "producer", "lacks": "acks", "clients": 12},
        {
            "family": "librdkafka",
            "client_type": "producer",
            "lacks": "software",
            "clients": 7,
        },
    ],
}


def test_a_finding_is_one_paragraph():
    assert format_finding(FINDING).splitlines() == [
        (
            "warning: producer-acks-not-all, `shop` of User:alice (2 instances), "
            "since 2026-03-01 10:00 UTC"
        ),
        (
            "  Producer `shop` waits for the leader alone. Set acks (now 1) to all. "
            "It may be lost."
        ),
        "  Seen: acks=1. Source: KIP-679.",
    ]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"until": datetime(2026, 3, 1, 11, tzinfo=UTC)}, "until 2026-03-01 11:00 UTC"),
        (
            {"silenced_until": date(2026, 5, 1), "silenced_reason": "by choice"},
            "silenced until 2026-05-01: by choice",
        ),
        (
            {"client_id": None, "logical_client": "group/a", "principal": None},
            "group/a",
        ),
        ({"setting": None}, "Suggested: all."),
        ({"suggested_value": None}, "Look at acks (now 1)."),
        ({"sentence": "evil\x1b[2J\u202e"}, "evil\ufffd[2J\ufffd"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
def test_what_else_a_finding_says(changed, said):
    assert said in format_finding(FINDING | changed)


def test_the_end_counts_and_names_what_could_not_be_asked():
    closed = FINDING | {"until": datetime(2026, 3, 1, 11, tzinfo=UTC)}
    assert format_findings([FINDING, closed], [RUN]).splitlines()[-2:] == [
        "0 errors, 1 warning, 0 advice",
        (
            "1 rule evaluated at 2026-03-01 12:00 UTC; 1 of them not for all clients, for "
            "want of what they need (--rules)"
        ),
    ]
    assert format_findings([], []) == "nothing was found"


def test_rules_are_a_table_with_missing_metrics_below_each_rule():
    long = [(f"org.apache.kafka.consumer.metric.{one}", 1) for one in range(9)]
    told = format_rules([RUN, RUN | {"rule": "z", "missing": long}]).splitlines()
    assert told[2].split() == ["producer-acks-not-all", "40", "12", "1"]
    assert told[3] == "    missing: acks of 10 clients, pushes of 2 clients"
    assert told[4].split() == ["z", "40", "12", "1"]
    assert " ".join(told[5:]).count(" of 1 client") == 9
    assert max(map(len, told)) <= 88


def test_rules_end_with_the_coverage_of_each_kind_of_client():
    told = format_rules([RUN, RUN | {"rule": "z", "coverage": None}]).splitlines()
    assert told[-3:] == [
        "java producer: 1 of 1 rule evaluated for 40 clients",
        (
            "librdkafka producer: 0 of 1 rule evaluated for 7 clients; not for this "
            "software:"
        ),
        "    producer-acks-not-all",
    ]


def test_json_is_one_object_with_moments_in_utc():
    told = json.loads(format_json([FINDING], [RUN]))
    assert told["findings"][0]["since"] == "2026-03-01T10:00:00Z"
    assert told["rules"][0]["missing"] == {"acks": 10, "pushes": 2}


@pytest.mark.parametrize(
    "words",
    [["--severity", "fatal"], ["checks"], ["--since", "yesterday"], ["--no-such"]],
)
def test_a_wrong_word_prints_the_usage(words, capsys):
    with pytest.raises(SystemExit, match="2"):
        parse_words(["findings", *words])
    assert "usage: " in capsys.readouterr().err
