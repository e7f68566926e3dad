"""What `quotas` takes, and what it refuses in Kafka's words or its own."""

import pytest

from pipelines.commands import parse_words
from pipelines.commands.quotas.plan_files import InvalidPlan, read_plan
from pipelines.commands.quotas.questions import read_question
from udfs.quotas import QUOTA_KEYS

ENTITY = "users/alice/clients/<default>"


def ask(*words):
    arguments = parse_words(["quotas", *words])
    return read_question(arguments), arguments


def test_a_client_is_named_with_its_type_or_without():
    for name in ("alice", "User:alice"):
        asked, _ = ask("explain", "--user", name, "--client-id", "c1")
        assert (asked.user, asked.client_id, asked.address) == ("alice", "c1", None)
        assert asked.keys == QUOTA_KEYS
    asked, _ = ask("explain", "--ip", "10.0.0.7")
    assert asked.keys == QUOTA_KEYS[-1:]


def test_what_if_alter_changes_quotas_and_set_changes_settings():
    asked, arguments = ask(
        *("what-if", "--set", "tables.root_path=/tmp/a/b"),
        *("--alter", f"{ENTITY}:producer_byte_rate=524288"),
        *("--remove", "users/<default>:request_percentage"),
    )
    assert arguments.set == ["tables.root_path=/tmp/a/b"]
    first, second = asked.alterations
    assert (first.entity.path, first.quota_key, first.quota_value) == (
        *(ENTITY, "producer_byte_rate"),
        524288.0,
    )
    assert (second.entity.path, second.quota_value) == ("users/<default>", None)


def test_names_may_hold_what_parts_others():
    asked, _ = ask("what-if", "--alter", "clients/a:b=c:producer_byte_rate=1")
    assert asked.alterations[0].entity.parts == (("client-id", "a:b=c"),)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["explain"], "say which client"),
        (["explain", "--client-id", "c"], "say which client"),
        (["explain", "--ip", "::1", "--client-id", "c"], "a client id alone"),
        (["explain", "--user", "a", "--key", "bad"], "there is no key bad"),
        (
            ["explain", "--user", "a", "--entity", "users/a"],
            "it belongs to quotas history",
        ),
        (["explain", "--user", "a", "--alter", "a=1"], "it belongs to quotas what-if"),
        (["apply", "--file", "a", "--json"], "unrecognized arguments: --json"),
        (["history", "--from", "2026-03-02", "--to", "2026-03-01"], "--to must be"),
        (["history", "--entity", "nobody"], "is no quota entity"),
        (["what-if"], "say what would change"),
        (["what-if", "--alter", "users/a:producer_byte_rate"], "is no change"),
        (["what-if", "--alter", "users/a:producer_byte_rate=nan"], "is no change"),
        (["what-if", "--alter", "users/a=3"], "names no key"),
        (["what-if", "--remove", "users/a"], "names no key"),
        (["what-if", "--alter", "users/a:bad=1"], "Invalid configuration key bad"),
        (
            ["what-if", "--alter", "users/a:producer_byte_rate=0"],
            "Quota producer_byte_rate must be greater than 0",
        ),
        (
            ["what-if", "--alter", "ips/10.0.0.1/users/a:connection_creation_rate=1"],
            "Invalid quota entity combination",
        ),
        (
            [
                *("what-if", "--alter", "users/a:producer_byte_rate=1"),
                *("--remove", "users/a:producer_byte_rate"),
            ],
            "is changed twice",
        ),
        (["plan"], "arguments are required: --file"),
    ],
)
def test_a_misuse_ends_with_its_reason(words, text, capsys):
    with pytest.raises(SystemExit) as ended:
        ask(*words)
    assert ended.value.code == 2
    assert text in " ".join(capsys.readouterr().err.split())


def plan(tmp_path, text):
    path = tmp_path / "quotas.yaml"
    path.write_text(text)
    return read_plan(str(path))


def test_a_plan_is_a_list_of_entities(tmp_path):
    found = plan(
        tmp_path,
        """
- entity_path: users/alice
  quotas: {producer_byte_rate: 1048576, request_percentage: 12.5}
- entity_path: clients/<default>
  quotas: {}
""",
    )
    assert [(one.entity.path, one.quota_key, one.quota_value) for one in found] == [
        ("users/alice", "producer_byte_rate", 1048576.0),
        ("users/alice", "request_percentage", 12.5),
    ]
    assert plan(tmp_path, "") == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: 1", "it is no list of entities"),
        ("- [", "is no YAML in line 1"),
        ("- entity_path: users/a", "has not entity_path and quotas alone"),
        ("- {entity_path: users/a, quotas: 1}", "quotas are no mapping"),
        ("- {entity_path: users/a, quotas: {producer_byte_rate: x}}", "is no number"),
        ("- {entity_path: users/a, quotas: {producer_byte_rate: yes}}", "is no number"),
        ("- {entity_path: users/a, quotas: {producer_byte_rate: .nan}}", "no number"),
        ("- {entity_path: a, quotas: {}}", "is no quota entity"),
        ("- {entity_path: users/a, quotas: {x: 1}}", "Invalid configuration key x"),
        (
            "- &a {entity_path: users/a, quotas: {producer_byte_rate: 1}}\n- *a",
            "is changed twice",
        ),
        ("- !!python/object/apply:os.getcwd []", "is no YAML"),
    ],
)
def test_a_plan_that_cannot_be_meant_is_refused(tmp_path, text, reason):
    with pytest.raises(InvalidPlan, match=reason) as refused:
        plan(tmp_path, text)
    assert refused.value.exit_code == 2


def test_a_plan_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InvalidPlan, match="No such file"):
        read_plan(str(tmp_path / "none.yaml"))
