"""Every rule of conf/findings.toml: whom it finds, whom not, and whom it cannot judge."""

import pytest

from pipelines.delta_tables.session_settings import session_settings
from pipelines.findings import client_rows
from pipelines.findings.evaluating import FORGIVING, ask_rules
from pipelines.reading.rule_coverage import SOFTWARE
from pipelines.tables.cluster import BROKER_REGISTRATIONS
from tests.support.spark import finding_cases_b, finding_cases_c, finding_cases_d
from tests.support.spark.finding_cases_a import CASES as CASES_A
from tests.support.spark.finding_cases_a import MORE as MORE_A
from tests.support.spark.finding_fleet import (
    CLUSTER,
    HIT,
    NOW,
    UNKNOWN,
    Fleet,
)

CASES = (
    *CASES_A,
    *finding_cases_b.CASES,
    *finding_cases_c.CASES,
    *finding_cases_d.CASES,
)
MORE = (
    *finding_cases_b.MORE,
    *finding_cases_c.MORE,
    *finding_cases_d.MORE,
    *MORE_A,
    (
        BROKER_REGISTRATIONS,
        {
            "cluster_id": "old brokers",
            "broker_id": 1,
            "incarnation_id": "i1",
            "is_current": True,
            "features": [("metadata.version", 1, 21)],
        },
        {
            "cluster_id": CLUSTER,
            "broker_id": 1,
            "incarnation_id": "i1",
            "is_current": True,
            "features": [("metadata.version", 1, 27)],
        },
    ),
)


@pytest.fixture(scope="module")
def answers(spark, tmp_path_factory):
    """Evaluate every rule for all cases at once."""
    fleet = Fleet(spark, tmp_path_factory.mktemp("fleet"), CASES, MORE)
    rules = fleet.read_rules().rules
    window = client_rows.window_of(fleet.settings.findings, NOW)
    session = spark.newSession()
    with session_settings(session, FORGIVING):
        client_rows.register_sources(session, fleet.settings, rules)
        clients = client_rows.open_clients(session, rules, window)
        evaluation = ask_rules(session, clients, rules, client_rows.times_of(window))
        found = evaluation.findings.collect()
        states = evaluation.judged.selectExpr("client_id", "inline(states)").collect()
    asked = {}
    for row in states:
        if row["lacks"] == SOFTWARE:
            continue
        asked.setdefault((rules[row["place"]].name, row["client_id"]), set()).add(
            row["lacks"]
        )
    told = {}
    for row in found:
        for subject in (row["client_id"], row["logical_client"]):
            told[row["rule"], subject] = row
    return fleet, rules, told, asked


def test_each_case_is_found_or_not_or_not_to_be_judged(answers):
    fleet, _, told, asked = answers
    wrong = []
    for case, subject in fleet.subjects.items():
        row, lacks = told.get((case.rule, subject)), asked.get((case.rule, subject))
        if (row is not None) != (case.expects == HIT):
            wrong.append((case.rule, subject, case.expects, row))
        if row is not None and case.severity not in {"", row["severity"]}:
            wrong.append((case.rule, subject, case.severity, row["severity"]))
        if case.expects == UNKNOWN and not (lacks and "" not in lacks):
            wrong.append((case.rule, subject, "was judged", lacks))
        if case.expects != UNKNOWN and lacks and "" not in lacks:
            wrong.append((case.rule, subject, "was not judged", lacks))
    assert wrong == []


def test_each_rule_has_a_hit_and_a_near_miss(answers):
    _, rules, _, _ = answers
    for rule in rules:
        expected = {case.expects for case in CASES if case.rule == rule.name}
        assert expected >= {"hit", "miss"}, rule.name
        if rule.needs_config or rule.needs_metrics:
            assert UNKNOWN in expected, rule.name


def test_findings_name_the_cause_and_count_right(answers):
    _, _, told, _ = answers
    polls = told["consumer-poll-interval-at-risk", "short interval"]
    assert polls["setting"] == "max.poll.interval.ms"
    assert (polls["current_value"], polls["suggested_value"]) == ("6000", "300000")
    failing = told["producer-records-failing", "never sent"]
    assert "gave up on 50 records, and sent none in 30 minutes" in failing["sentence"]
    login = told["authentication-failing", "restarted counter"]
    assert login["evidence"]["failed"] == "3"


def test_findings_are_told_in_whole_sentences(answers):
    _, _, told, _ = answers
    for row in told.values():
        said = row["sentence"].replace("(unknown unknown)", "")
        assert said
        assert "unknown" not in said, row
        for text in (said, row["why"], row["setting"] or "", row["source"]):
            assert "{" not in text
        assert not any(name.startswith("_") for name in row["evidence"])
