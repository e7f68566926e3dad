"""What a file of rules may say, and how a wrong one is told."""

import pytest

from pipelines.errors import InvalidSetting
from pipelines.settings import list_environments, load_config_catalogs, load_settings
from pipelines.settings.finding_rules import load_finding_rules, split_template
from pipelines.settings.rules import list_software, make_sensitive_key_rules

WORDS = 'sentence="s"\nwhy="w"\nsource="x"\n'
OWN = f'[[rules]]\nname="own-rule"\nseverity="advice"\nwhere="true"\n{WORDS}'


@pytest.fixture(scope="module")
def sensitive():
    keys = load_settings("base").sensitive_keys
    return make_sensitive_key_rules(keys, load_config_catalogs()), list_software(keys)


@pytest.fixture
def load(tmp_path, sensitive):
    def read(text, *, name="own.toml", location=None):
        (tmp_path / name).write_text(text)
        rules = load_finding_rules(str(location or tmp_path / name), *sensitive)
        return {one.name: one for one in rules.rules}, rules.silences

    return read


def test_the_file_of_rules_is_no_environment():
    assert "findings" not in list_environments()


def test_a_site_adds_and_changes_rules(load):
    change = (
        '[[rules]]\nname="producer-gives-up-early"\nseverity="advice"\n'
        "limits = { least_retries = 2 }\n"
    )
    rules, _ = load(OWN + change)
    assert rules["own-rule"].where == "true"
    changed = rules["producer-gives-up-early"]
    assert changed.severity == "advice"
    assert changed.limits["least_retries"] == 2
    assert changed.limits["election_ms"] == 30_000
    assert "$" not in changed.fill(changed.where, {})
    assert "coalesce(k['retries'].num < 2, false)" in changed.fill(changed.where, {})


def test_files_of_a_folder_are_read_in_order(load, tmp_path):
    (tmp_path / "a.toml").write_text(OWN)
    rules, silences = load(
        '[[silences]]\nrule="own-rule"\nclient_id="logs-*"\nreason="by choice"\n'
        "until=2026-05-01\n",
        name="b.toml",
        location=tmp_path,
    )
    assert "own-rule" in rules
    assert [(one.client_id, one.until.isoformat()) for one in silences] == [
        ("logs-*", "2026-05-01")
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[rules]]\nname='x y'\n", r"own.toml: rules\[0\]: name: expects a letter"),
        (OWN + OWN, "own.toml: rule own-rule: is there twice"),
        (OWN.replace("advice", "fatal"), "rule own-rule: severity: expects one of"),
        (OWN + 'colour="red"\n', "rule own-rule: colour: unknown; known are name"),
        (OWN + 'query="SELECT 1"\n', "rule own-rule: expects either where or query"),
        (OWN.replace('why="w"\n', ""), "rule own-rule: why: is missing"),
        (OWN + "needs_config=['a;b']\n", "'a;b' is no name of a key or a metric"),
        (
            OWN + "needs_config=['ssl.keystore.password']\n",
            "ssl.keystore.password: is hidden by the rule for secrets",
        ),
        (
            OWN + "uses_config=['sasl.jaas.config']\n",
            "sasl.jaas.config: is hidden by the rule for secrets",
        ),
        (
            OWN + "uses_config=['a.key.of.ours']\n",
            "a.key.of.ours: is hidden by the rule for secrets",
        ),
        (
            OWN + "unless_found=['no-rule']\n",
            "rule own-rule: unless_found: there is no rule no-rule",
        ),
        (OWN + "decides=['acks']\n", "decides: acks: stands in neither"),
        (
            OWN.replace('where="true"', 'where="1 < $most"'),
            "where: [$]most is neither a limit nor a part before it",
        ),
        (
            OWN.replace('sentence="s"', 'sentence="{acks}"'),
            "sentence: {acks} is neither evidence nor one of client_id",
        ),
        (OWN + "from_version='new'\n", "from_version: expects a version"),
        (OWN + "client_types=['cat']\n", "client_types: cat: expects some of"),
        (OWN + "evidence={ client_id='1' }\n", "evidence.client_id: is a name that"),
        (OWN + "evidence={ a=1 }\n", "evidence.a: expects SQL, as a text"),
        (OWN + "severity_when={ bad='true' }\n", "severity_when.bad: is no name"),
        ("[[rule]]\nname='a'\n", "own.toml: rule: unknown; known are"),
        ("rules = 1\n", r"own.toml: rules: expects a list of \[\[rules\]\]"),
        ("[[silences]]\nrule='*'\n", "own.toml: silences: reason: is missing"),
        (
            "[[silences]]\nrule='*'\nreason='r'\nuntil='soon'\nclient_id='a'\n",
            "silences: until: expects a date",
        ),
        (
            "[[silences]]\nrule='no'\nreason='r'\nuntil=2026-05-01\nclient_id='a'\n",
            "silences: rule: there is no rule no",
        ),
        (
            "[[silences]]\nrule='*'\nreason='r'\nuntil=2026-05-01\n",
            "says of whom, by client_id, principal, group_id",
        ),
    ],
)
def test_a_wrong_file_is_refused_by_file_and_rule(load, text, reason):
    with pytest.raises(InvalidSetting, match=reason):
        load(text)


def test_a_folder_without_rules_is_refused(load, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InvalidSetting, match="holds no file of rules"):
        load("", location=empty)


def test_a_template_is_split_at_its_names():
    assert split_template("`{client_id}` has {a} of {b}.") == [
        ("`", "client_id"),
        ("` has ", "a"),
        (" of ", "b"),
        (".", ""),
    ]
    assert split_template("") == [("", "")]
