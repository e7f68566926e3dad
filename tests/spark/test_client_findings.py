"""client_findings: what opens, what closes, and what a site says of rules."""

import dataclasses
import json
from datetime import timedelta

import pytest
from delta import DeltaTable

from pipelines.commands import parse_words
from pipelines.commands.call import Call
from pipelines.commands.findings import answers
from pipelines.errors import InvalidSetting, MissingTable
from pipelines.findings import client_rows
from pipelines.findings.evaluating import check_rules
from pipelines.jobs.findings import job, steps
from pipelines.settings import load_settings
from pipelines.settings.rules import read_finding_rules
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.findings import CLIENT_FINDINGS, FINDING_RUNS
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.spark.captured_clients import captured_rows
from tests.support.spark.config_rows import held
from tests.support.spark.finding_fleet import (
    CLUSTER,
    INTERVAL_MS,
    NOW,
    Fleet,
    client,
)
from tests.support.spark.table_rows import append_rows

PAGE = "docs/guide/findings.md"
ACKS, OWN = "producer-acks-not-all", "our-linger"
IDEMPOTENCE = "producer-idempotence-silently-off"
SITE = """
[[rules]]
name = "our-linger"
severity = "advice"
needs_config = ["linger.ms"]
limits = { least_ms = 5 }
where = "k['linger.ms'].num < $least_ms"
evidence = { linger_ms = "k['linger.ms'].num", _half = "1 / 2" }
sentence = "`{client_id}` waits {linger_ms} ms on {instances} instances ({_half})."
setting = "linger.ms"
suggested = "5"
why = "Our house rule."
source = "us"

[[silences]]
rule = "*"
client_id = "logs_*"
reason = "by choice"
until = 2126-05-01

[[silences]]
rule = "producer-acks-not-all"
client_id = "logs-*"
reason = "over"
until = 2026-02-01
"""


def minutes(number):
    return NOW + timedelta(minutes=number)


def row(**known):
    """Return a finding as evaluated; what it does not name is a filler."""
    blank = {one.name: None for one in CLIENT_FINDINGS.columns}
    fill = {"cluster_id": "", "logical_client": "a", "rule": "r", "severity": "error"}
    fill |= {"client_instance_ids": [], "instances": 1, "evidence": {}}
    fill |= {"sentence": "s", "why": "w", "source": "x"}
    return blank | fill | known


@pytest.fixture(scope="module")
def evaluate(spark):
    """Step from one evaluation to the next, without the rules."""
    kinds = {c.name: c.sql_type for c in CLIENT_FINDINGS.columns}
    whole = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    times = ("since", "until", "last_seen")
    held_now = ", ".join(f"{n} {k}" for n, k in kinds.items() if n not in times)

    def step(table, names, at, before, unjudged=()):
        new = [
            {k: v for k, v in row(logical_client=n).items() if k not in times}
            for n in names
        ]
        old = [tuple(one[n] for n in kinds) for one in table.values()]
        frame = spark.createDataFrame(old, whole).selectExpr("*", "1L AS position")
        changed = steps.select_changed(
            spark.createDataFrame([tuple(one.values()) for one in new], held_now),
            frame,
            spark.createDataFrame(
                [("", one, "r") for one in unjudged],
                "cluster_id STRING, logical_client STRING, rule STRING",
            ),
            now=at,
            before=before,
        )
        after = dict(table)
        for one in changed.drop("position").collect():
            told = one.asDict()
            for name in times:
                if told[name] is not None:
                    told[name] = told[name].astimezone(NOW.tzinfo)
            after[one["logical_client"]] = told
        return after

    return step


@pytest.mark.long
def test_a_finding_opens_after_two_evaluations_and_closes_after_two(evaluate):
    said = {
        # Held in the evaluations of these minutes.
        "once": {0},
        "twice": {0, 5},
        "flaps": {0, 10, 20},
        "mended": {0, 5},
        "comes again": {0, 5, 25, 30},
        "not known": {0, 5},
    }
    table, before = {}, None
    for minute in range(0, 35, 5):
        names = [name for name, when in said.items() if minute in when]
        unjudged = ["not known"] if minute > 5 else []
        table = evaluate(table, names, minutes(minute), before, unjudged)
        before = minutes(minute)
    told = {
        n: (one["since"], one["until"], one["last_seen"]) for n, one in table.items()
    }
    # What held once ends where it began, and is no finding.
    assert told["once"] == (minutes(0), minutes(0), minutes(0))
    assert told["flaps"] == (minutes(20), minutes(20), minutes(20))
    assert told["twice"] == told["mended"] == (minutes(0), minutes(10), minutes(5))
    # One row, open again since it held again.
    assert told["comes again"] == (minutes(25), None, minutes(30))
    # What could not be asked neither holds nor fails.
    assert told["not known"] == (minutes(0), None, minutes(5))


def read_few_rules(settings):
    """Return the rules that hold here; test_finding_rules.py asks all of them."""
    rules = read_finding_rules(settings)
    few = [one for one in rules.rules if one.name in (ACKS, IDEMPOTENCE, OWN)]
    return dataclasses.replace(rules, rules=tuple(few))


@pytest.fixture(scope="module")
def site(spark, tmp_path_factory):
    """A site of its own rules, after three evaluations, the second fault mended."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "rules.toml").write_text(SITE)
    fleet = Fleet(spark, folder)
    for one in (
        client("shop", config={"acks": "1", "linger.ms": "0"}),
        client("shop", config={"acks": "1", "linger.ms": "0"}),
        client("logs_1", config={"acks": "1"}),
        client("logs-1", config={"acks": "1"}),
        client("right", config={"acks": "all", "linger.ms": "9"}),
        client("silent"),
    ):
        fleet.add(one, "")
    fleet.write()
    words = [
        f"tables.root_path={folder}/tables",
        f"findings.rules_location={folder}/rules.toml",
    ]
    settings = load_settings("local", words)
    rules = read_few_rules(settings)
    done = [job.evaluate(spark, settings, rules, minutes(0))]
    done.append(job.evaluate(spark, settings, rules, minutes(1)))
    return settings, words, done


def asked(settings_words, *words, capsys):
    given = [pair for one in settings_words for pair in ("--set", one)]
    call = Call(arguments=parse_words(["findings", *words, *given]), environ={})
    code = answers.answer(call, print)
    return code, capsys.readouterr().out


def test_the_second_evaluation_opens_what_the_first_one_saw(site):
    _, _, (first, second) = site
    assert first.is_first
    assert (first.holding, first.opened, first.open) == (7, 0, 0)
    assert (second.opened, second.open, second.closed) == (7, 7, 0)


def test_findings_are_read_without_spark(site, capsys):
    _, words, _ = site
    code, told = asked(words, "--json", capsys=capsys)
    found = json.loads(told)
    shown = [(one["rule"], one["client_id"]) for one in found["findings"]]
    assert code == 0
    # The silenced one is kept, and not shown; a silence that is over does nothing.
    assert shown == [
        *((ACKS, "shop"), (IDEMPOTENCE, "shop")),
        *((ACKS, "logs-1"), (IDEMPOTENCE, "logs-1")),
        (OWN, "shop"),
    ]
    own = found["findings"][4]
    assert own["instances"] == 2
    assert own["evidence"] == {"linger_ms": "0"}
    assert own["sentence"] == "`shop` waits 0 ms on 2 instances (0.5)."
    assert (own["setting"], own["current_value"]) == ("linger.ms", "0")
    assert own["since"] == "2026-03-01T12:00:00Z"
    run = {one["rule"]: one for one in found["rules"]}[OWN]
    assert (run["clients"], run["not_evaluated"]) == (6, 1)
    assert run["missing"] == {"linger.ms": 1}


@pytest.mark.long
def test_findings_are_paragraphs_for_people(site, capsys):
    _, words, _ = site
    _, told = asked(words, "--rule", OWN, "--client-id", "shop", capsys=capsys)
    assert told.startswith(
        "advice: our-linger, `shop` of User:alice (2 instances), since 2026-03-01 12:00"
    )
    assert "Set linger.ms (now 0) to 5. Our house rule." in " ".join(told.split())
    _, told = asked(words, "--silenced", "--client-id", "logs_1", capsys=capsys)
    assert "silenced until 2126-05-01: by choice" in told
    _, told = asked(words, "--severity", "error", capsys=capsys)
    assert told.startswith("nothing was found")
    _, told = asked(words, "--rules", "--rule", OWN, capsys=capsys)
    assert "missing: linger.ms of 1 client" in told


@pytest.mark.long
def test_the_commands_of_the_guide_run_as_they_stand_there(
    spark, site, tmp_path, monkeypatch, capsys
):
    _, words, _ = site
    (check,) = find_block(PAGE, "findings-check").commands
    (tmp_path / "client.properties").write_text(
        find_block(PAGE, "client.properties").text
    )
    monkeypatch.chdir(tmp_path)
    run_line(spark, check, *words)
    told = " ".join(capsys.readouterr().out.split())
    for rule in (ACKS, "producer-reorders-on-retry", "producer-gives-up-early"):
        assert f"warning: {rule}" in told
    assert "Set acks (now 1) to all." in told
    some, sql = find_block(PAGE, "findings-some"), find_block(PAGE, "findings-sql")
    for command in (*some.commands, *sql.commands):
        run_line(spark, command, *words)
    assert find_block(PAGE, "findings").commands == [
        f"./spark-submit.sh {one}" for one in ("client_findings", "findings")
    ]


@pytest.mark.long
def test_a_fix_closes_its_finding_with_the_time(spark, site, capsys):
    settings, words, _ = site
    rules = read_few_rules(settings)
    path = f"{settings.tables.root_path}/{CLIENT_CONFIGS.name}"
    table = DeltaTable.forPath(spark, path)
    (kept,) = table.toDF().where("client_id = 'logs-1'").collect()
    table.delete("client_id = 'logs-1'")
    mended = kept.asDict() | {"configs": {"acks": held("all")}}
    append_rows(settings.tables, CLIENT_CONFIGS, mended)
    job.evaluate(spark, settings, rules, minutes(2))
    done = job.evaluate(spark, settings, rules, minutes(3))
    assert (done.closed, done.open) == (2, 5)
    _, told = asked(words, "--closed", "--client-id", "logs-1", capsys=capsys)
    assert "until 2026-03-01 12:02" in told


THROTTLED, UNSTABLE = "client-throttled-by-quota", "consumer-group-unstable"
REBALANCES = "consumer.coordinator.rebalance.total"
CAPTURED = {
    "go": ("kgo", "v1.22.3", "franz-go-1.22.3"),
    "java": ("apache-kafka-java", "4.3.1", "java-4.3.1"),
}
"""Client ID to software and folder of captures: four pushes of a producer that a quota
holds back, and four after that."""


def add_captured(fleet, client_id, software, version, folder):
    numbers = [1, 2, 3, 4, 5, *(number for _ in range(3) for number in (6, 7, 8))]
    known = {
        "client_instance_id": f"{client_id} instance",
        "client_id": client_id,
        "principal": "User:alice",
        "client_type": "producer",
        "client_software_name": software,
        "client_software_version": version,
        "cluster_id": CLUSTER,
        "push_interval_ms": INTERVAL_MS,
        "first_seen": minutes(-120),
    }
    pushes = [
        (minutes(5 * place - 65), f"{folder}/held_producer_{number}")
        for place, number in enumerate(numbers)
    ]
    later = []
    for contract, rows in captured_rows(known, pushes):
        for one in rows:
            if one.get("received_at", minutes(-60)) <= minutes(-50):
                fleet.put(contract, one)
            else:
                later.append((contract, one))
    return later


def test_findings_close_when_nothing_happens_and_stay_when_nobody_asks(spark, tmp_path):
    fleet = Fleet(spark, tmp_path)
    later = []
    for client_id, words in CAPTURED.items():
        later += add_captured(fleet, client_id, *words)
    for name, rebalances in (
        ("calm", [9] * 4 + [0] * 10),
        # The subscription no longer asks for the metric.
        ("untold", [9] * 4 + [None] * 10),
    ):
        metrics = {REBALANCES: rebalances, "consumer.poll.idle.ratio.avg": 0.9}
        member = client(name, "consumer", group_id=name, metrics=metrics, pushes=14)
        fleet.add(member, "")
    fleet.write()
    rules = fleet.read_rules()
    few = [one for one in rules.rules if one.name in (THROTTLED, UNSTABLE)]
    rules = dataclasses.replace(rules, rules=tuple(few))

    def find_open(*moments):
        for minute in moments:
            job.evaluate(spark, fleet.settings, rules, minutes(minute))
        path = f"{fleet.settings.tables.root_path}/{CLIENT_FINDINGS.name}"
        found = DeltaTable.forPath(spark, path).toDF().where("until IS NULL")
        return sorted(
            (row["rule"], row["client_id"] or row["group_id"])
            for row in found.collect()
        )

    throttled = [(THROTTLED, "go"), (THROTTLED, "java")]
    unstable = [(UNSTABLE, "calm"), (UNSTABLE, "untold")]
    assert find_open(-49, -48) == sorted(throttled + unstable)
    for contract, one in later:
        fleet.put(contract, one)
    fleet.write()
    assert find_open(0, 1) == [(UNSTABLE, "untold")]


@pytest.mark.long
def test_a_wrong_rule_is_told_by_file_and_name(spark, tmp_path):
    settings = load_settings("local")
    columns = "k STRUCT<`acks`: STRUCT<text: STRING, num: DOUBLE>>, client_id STRING"
    blank = spark.createDataFrame([], columns)
    words = 'severity="advice"\nsentence="s"\nwhy="w"\nsource="x"\n'
    for said, reason in (
        ("where = \"k['acks'].txt = 1\"", "where: .*FIELD_NOT_FOUND"),
        ("where = \"k['linger.ms'].num = 1\"", "where: .*FIELD_NOT_FOUND"),
        ('where = "no_such = 1"', "where: .*UNRESOLVED_COLUMN"),
        ('where = "this is not SQL"', "where: .*PARSE_SYNTAX_ERROR"),
        ('where = "count(*) > 1"', "where: "),
        ('where = "client_id"', "where: is neither true nor false"),
        ('where = "true"\nevidence = { a = "no_such" }', "evidence.a: "),
        ('query = "DROP TABLE client_configs"', "query: .*PARSE_SYNTAX_ERROR"),
        ('query = "SELECT 1 AS one"', "query: returns neither client_instance_id"),
        ('query = "SELECT * FROM no_such"', "query: .*TABLE_OR_VIEW_NOT_FOUND"),
    ):
        path = tmp_path / "wrong.toml"
        path.write_text(f'[[rules]]\nname = "wrong-one"\n{said}\n{words}')
        rules = read_finding_rules(
            load_settings("local", [f"findings.rules_location={path}"])
        ).rules[-1:]
        window = client_rows.window_of(settings.findings, NOW)
        with pytest.raises(
            InvalidSetting, match=rf"wrong.toml: rule wrong-one: {reason}"
        ):
            check_rules(spark, rules, blank, client_rows.times_of(window))


@pytest.mark.long
def test_without_tables_of_clients_there_is_nothing_to_ask(spark, tmp_path, capsys):
    words = [f"tables.root_path={tmp_path}/tables"]
    settings = load_settings("local", words)
    with pytest.raises(MissingTable, match="client_instances"):
        job.evaluate(spark, settings, read_finding_rules(settings), NOW)
    with pytest.raises(MissingTable, match="client_findings makes it"):
        asked(words, capsys=capsys)
    assert FINDING_RUNS.name == "finding_runs"
