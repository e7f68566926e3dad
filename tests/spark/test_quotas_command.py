"""What `quotas` and quota_of answer, from tables that hold a small cluster."""

import json
import shlex
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.errors import PythonException

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.quotas.answers import UnclearCluster
from pipelines.errors import MissingTable, NothingToDo
from pipelines.reading import views
from pipelines.settings import CONF_PATH
from pipelines.tables.cluster import CLIENT_QUOTAS
from pipelines.tables.telemetry import CLIENT_INSTANCES
from tests.support.documents import find_block
from tests.support.jobs.given_calls import SharedCall, run_line
from tests.support.spark.quota_tables import CONTRACTS, PRODUCER, QuotaTables

ROOT = CONF_PATH.parent
GUIDE = "docs/guide/quotas.md"
QUOTAS = COMMANDS_BY_NAME["quotas"]
PRODUCE = "producer_byte_rate"
START = datetime.now(tz=UTC).replace(microsecond=0)


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    made = QuotaTables(spark, tmp_path_factory.mktemp("quotas"), now=START)
    day = timedelta(days=1)
    made.end_quota(
        *("users/alice", PRODUCE, START - day),
        value=2097152,
        valid_from=START - 3 * day,
        not_before=START - 3 * day - timedelta(seconds=2),
    )
    made.set_quotas(("users/alice", 1048576), ("users/<default>", 2097152))
    made.set_quotas(("ips/10.0.0.1", {"connection_creation_rate": 7}))
    made.end_quota(
        *("clients/gone", PRODUCE, START - day), value=5, valid_from=START - 2 * day
    )
    made.register_brokers(False, False, False)
    values = {
        f"{PRODUCER}produce.throttle.time.avg": 12.5,
        f"{PRODUCER}produce.throttle.time.max": 80.0,
        f"{PRODUCER}outgoing.byte.rate": 1031200.0,
    }
    at = START - timedelta(seconds=1)
    made.push("User:alice", "c1", values=values, at=at, push_interval_ms=3_600_000)
    made.push("User:alice", "c2", at=at, push_interval_ms=3_600_000)
    made.push("User:alice", "c2", at=at, push_interval_ms=3_600_000)
    made.push("User:bob", "c1", at=at, push_interval_ms=3_600_000)
    return made


@pytest.fixture
def ask(tables, capsys):
    def run(line, code=0):
        call = SharedCall(
            arguments=parse_words(["quotas", *shlex.split(line)]),
            environ={},
            spark=tables.spark,
            settings=(tables.root,),
        )
        assert QUOTAS.run(call) == code
        return capsys.readouterr().out

    return run


def show(moment):
    return moment.isoformat().replace("+00:00", "Z")


@pytest.mark.long
def test_explain_shows_every_level_of_a_client(ask):
    printed = ask("explain --user alice --client-id c1")
    first = printed.partition("consumer_byte_rate")[0]
    assert first == (
        "producer_byte_rate is 1048576.0, by level 3: users/alice\n"
        "  1  users/alice/clients/c1              not set\n"
        "  2  users/alice/clients/<default>       not set\n"
        "  3  users/alice                         1048576.0  applies\n"
        "  4  users/<default>/clients/c1          not set\n"
        "  5  users/<default>/clients/<default>   not set\n"
        "  6  users/<default>                     2097152.0\n"
        "  7  clients/c1                          not set\n"
        "  8  clients/<default>                   not set\n"
        "  quota-id alice:, shared by 3 active instances; 3 brokers, so at most 3145728.0 "
        "in the cluster\n"
        "  c1 reports: throttled 12.5 ms on average, 80.0 at most; 1031200.0 bytes/s\n"
    )
    assert "consumer_byte_rate is unlimited: nothing is set\n" in printed
    assert printed.endswith(
        "connection_creation_rate is 7.0, by level 1: ips/10.0.0.1\n"
        "  1  ips/10.0.0.1    7.0  applies\n"
        "  2  ips/<default>   not set\n"
        "  by address, shared by 4 active instances; 3 brokers, so at most 21.0 in the "
        "cluster\n"
    )


@pytest.mark.long
def test_explain_knows_clients_that_nobody_saw_and_moments(ask):
    printed = ask(f"explain --user carol --client-id x --key {PRODUCE}")
    assert printed.startswith("producer_byte_rate is 2097152.0, by level 6: users/<def")
    assert "shared by 0 active instances" in printed
    at = show(START - timedelta(days=2))
    printed = ask(f"explain --user alice --key {PRODUCE} --at {at}")
    assert printed.startswith("producer_byte_rate is 2097152.0, by level 3: users/al")
    assert ask("explain --ip 10.9.9.9") == (
        "connection_creation_rate is unlimited: nothing is set\n"
    )


@pytest.mark.long
def test_explain_is_told_as_json(ask):
    (row,) = json.loads(
        ask(f"explain --user alice --client-id c1 --key {PRODUCE} --json")
    )
    assert (row["limit"], row["level"], row["shared_by"]) == (1048576.0, 3, 3)
    assert row["reported_rate"] == 1031200.0


@pytest.mark.long
def test_what_if_names_exactly_who_changes(ask):
    printed = ask(
        f"what-if --alter 'users/alice/clients/<default>:{PRODUCE}=524288' "
        "--remove 'users/<default>:request_percentage'"
    )
    now, then = "1048576.0 (users/alice)", "524288.0 (users/alice/clients/<default>)"
    key = "producer_byte_rate"
    assert printed.splitlines() == [
        "PRINCIPAL   CLIENT-ID  KEY                 NOW                      THEN",
        f"User:alice  c1         {key}  {now}  {then}",
        f"User:alice  c2         {key}  {now}  {then}",
        "2 of 3 observed clients change",
    ]
    # Three brokers allow three times the limit.
    printed = ask(f"what-if --alter 'users/alice/clients/<default>:{PRODUCE}=343000'")
    assert printed.splitlines()[-1] == (
        "2 of 3 observed clients change; c1 reports 1031200.0 bytes/s and would be "
        "throttled"
    )
    printed = ask(f"what-if --remove 'users/<default>:{PRODUCE}'")
    assert printed.splitlines()[1:] == [
        f"User:bob   c1         {key}  2097152.0 (users/<default>)  unlimited",
        "1 of 3 observed clients changes",
    ]
    assert ask(f"what-if --remove clients/c7:{PRODUCE}") == (
        "0 of 3 observed clients change\n"
    )


@pytest.mark.long
def test_history_tells_what_was_set_changed_and_removed(ask):
    days = [show(START - timedelta(days=number)) for number in range(4)]
    since = show(START - timedelta(days=3, seconds=2))
    assert ask("history --entity users/alice").splitlines() == [
        f"{days[3]}  users/alice  {PRODUCE}  not set -> 2097152.0  (after {since})",
        f"{days[1]}  users/alice  {PRODUCE}  2097152.0 -> 1048576.0",
    ]
    assert ask("history --entity clients/gone").splitlines() == [
        f"{days[2]}  clients/gone  {PRODUCE}  not set -> 5.0",
        f"{days[1]}  clients/gone  {PRODUCE}  5.0 -> not set",
    ]
    later = ask(f"history --from {days[1]} --to {days[0]} --key {PRODUCE}")
    assert len(later.splitlines()) == 3
    rows = json.loads(ask("history --entity users/alice --json"))
    assert [(row["before"], row["after"]) for row in rows] == [
        (None, 2097152.0),
        (2097152.0, 1048576.0),
    ]
    with pytest.raises(NothingToDo, match="no quota of clients/none was ever seen"):
        ask("history --entity clients/none")


@pytest.mark.long
def test_a_plan_tells_differences_and_whom_they_concern(ask, tmp_path):
    path = tmp_path / "quotas.yaml"
    path.write_text(
        """
- entity_path: users/alice
  quotas: {producer_byte_rate: 524288}
- entity_path: clients/c7
  quotas: {consumer_byte_rate: 5}
- entity_path: ips/10.0.0.1
  quotas: {connection_creation_rate: 7}
"""
    )
    printed = ask(f"plan --file {path}", code=1)
    assert [" ".join(line.split()) for line in printed.splitlines()] == [
        "ENTITY KEY CHANGE CONCERNS",
        "+ clients/c7 consumer_byte_rate not set -> 5.0 no client",
        "- users/<default> producer_byte_rate 2097152.0 -> not set 1 client: User:bob c1",
        "~ users/alice producer_byte_rate 1048576.0 -> 524288.0 2 clients: User:alice c1, User:alice c2",
        "1 addition, 1 change, 1 removal",
    ]
    rows = json.loads(ask(f"plan --file {path} --json", code=1))
    assert [row["change"] for row in rows] == ["addition", "removal", "change"]
    path.write_text(
        """
- {entity_path: users/alice, quotas: {producer_byte_rate: 1048576}}
- {entity_path: users/<default>, quotas: {producer_byte_rate: 2097152}}
- {entity_path: ips/10.0.0.1, quotas: {connection_creation_rate: 7}}
"""
    )
    assert ask(f"plan --file {path}") == "no difference\n"


@pytest.mark.long
def test_quota_of_is_a_function_of_sql(tables):
    views.register(tables.spark, tables.settings, {"client_quotas", "quota_of"})
    rows = tables.spark.sql(
        """
        SELECT quota_of(user, id, key) AS allowed FROM VALUES
          ('alice', 'c1', 'producer_byte_rate'),
          ('User:alice', null, 'producer_byte_rate'),
          ('bob', 'c1', 'producer_byte_rate'),
          ('bob', 'c1', 'consumer_byte_rate'),
          ('bob', 'c1', 'no key') AS asked(user, id, key)
        """
    ).collect()
    assert [row["allowed"] for row in rows] == [
        *(1048576.0, 1048576.0, 2097152.0, None, None),
    ]


def test_quota_of_with_several_clusters_requires_the_cluster(spark, tmp_path):
    tables = QuotaTables(spark, tmp_path, [CLIENT_QUOTAS])
    tables.set_quotas(("users/alice", 5), cluster_id="one")
    tables.set_quotas(("users/alice", 1000), cluster_id="two")
    views.register(spark, tables.settings, {"quota_of"})
    rows = spark.sql(
        """
        SELECT quota_of('alice', '', 'producer_byte_rate', cluster_id)
        FROM VALUES ('two'), ('one'), (null), ('x') AS asked(cluster_id)
        """
    ).collect()
    assert [row[0] for row in rows] == [1000.0, 5.0, None, None]
    with pytest.raises(PythonException, match="several clusters: one, two"):
        spark.sql("SELECT quota_of('alice', '', 'producer_byte_rate')").collect()


def test_a_query_that_names_quota_of_has_what_it_needs():
    names = views.find_names("select quota_of('a', 'b', 'producer_byte_rate')")
    assert names == {"quota_of", "client_quotas"}


@pytest.mark.long
def test_of_several_clusters_one_is_named(spark, tmp_path, capsys):
    tables = QuotaTables(spark, tmp_path, now=START)
    tables.set_quotas(("users/alice", 1), cluster_id="one")
    tables.set_quotas(("users/alice", 2), cluster_id="two")

    def run(words):
        call = SharedCall(
            arguments=parse_words(["quotas", *shlex.split(words)]),
            environ={},
            spark=spark,
            settings=(tables.root,),
        )
        return QUOTAS.run(call)

    with pytest.raises(UnclearCluster, match="several clusters: one, two") as unclear:
        run("explain --user alice")
    assert unclear.value.exit_code == 2
    with pytest.raises(NothingToDo, match="nothing is known of a cluster three"):
        run("explain --user alice --cluster-id three")
    assert run(f"explain --user alice --key {PRODUCE} --cluster-id two") == 0
    assert "is 2.0, by level 3" in capsys.readouterr().out


def test_without_a_table_the_job_that_makes_it_is_named(spark, tmp_path):
    tables = QuotaTables(spark, tmp_path, [])
    call = SharedCall(
        arguments=parse_words(["quotas", "explain", "--user", "a"]),
        environ={},
        spark=spark,
        settings=(tables.root,),
    )
    with pytest.raises(MissingTable, match="cluster_metadata_to_delta makes it"):
        QUOTAS.run(call)


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("explain --user alice --client-id c1", "is 4.0, by level 3: users/alice"),
        ("what-if --remove users/alice:producer_byte_rate", "0 of 0 observed clients"),
        ("history --entity users/alice", "producer_byte_rate"),
    ],
)
def test_what_is_set_is_told_before_any_client_was_seen(
    spark, tmp_path, capsys, words, said
):
    tables = QuotaTables(spark, tmp_path, [CLIENT_QUOTAS])
    tables.set_quotas(("users/alice", 4))
    run_line(spark, f"./spark-submit.sh quotas {words}", tables.root)
    assert said in capsys.readouterr().out


ASKED = (
    find_block(GUIDE, "quotas-explain"),
    find_block(GUIDE, "quotas-what-if"),
    find_block(GUIDE, "quotas-history"),
)


@pytest.mark.long
@pytest.mark.parametrize("block", ASKED, ids=lambda one: one.title)
def test_the_guide_asks_what_is_answered(tables, block, capsys):
    for command in block.commands:
        run_line(tables.spark, command, tables.root)
        said = capsys.readouterr().out
        assert said or "--from" in command


def test_the_guide_plans_a_file(ask, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quotas.yaml").write_text(find_block(GUIDE, "quotas-file").text)
    (command,) = find_block(GUIDE, "quotas-plan").commands
    printed = ask(command.partition("quotas ")[2], code=1)
    assert printed.endswith("2 additions, 0 changes, 2 removals\n")


@pytest.mark.long
def test_the_guide_refreshes_reads_and_draws(spark, tmp_path, capsys):
    tables = QuotaTables(spark, tmp_path, (*CONTRACTS, CLIENT_INSTANCES), now=START)
    tables.set_quotas(("users/alice", 1000))
    tables.register_brokers(False)
    values = {f"{PRODUCER}outgoing.byte.rate": 250.0}
    row = tables.push("User:alice", "c1", values=values, push_interval_ms=3_600_000)
    names = ("client_instance_id", "principal", "client_id", "push_interval_ms")
    tables.add(CLIENT_INSTANCES, {name: row[name] for name in names})
    *commands, notebook = find_block(GUIDE, "quotas-table").commands
    said = []
    for command in commands:
        run_line(spark, command, tables.root)
        said.append(capsys.readouterr().out)
    refreshed, rows, allowed = said
    assert refreshed == "effective_quotas: 5 rows are new or changed, 0 are gone\n"
    assert "level 3: users/alice" in rows
    assert "1000.0" in allowed
    notebook = notebook.replace("notebooks/", f"{ROOT}/notebooks/")
    mine = tmp_path / "mine.toml"
    mine.write_text(f'[tables]\nroot_path = "{tmp_path}/tables"\n')
    output = tmp_path / "quotas.html"
    run_line(spark, f"{notebook} --output {output} --config {mine}", tables.root)
    page = output.read_text(encoding="utf-8")
    assert page.count("<table") == 3
    assert page.count('src="data:image/png;base64,') == 1
    assert '<p class="note">0 rows' not in page
