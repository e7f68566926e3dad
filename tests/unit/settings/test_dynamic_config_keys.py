import pytest

from pipelines.errors import InvalidSetting
from pipelines.settings import list_environments, load_config_catalogs, load_settings
from pipelines.settings.dynamic_config_keys import load_dynamic_config_keys
from pipelines.settings.rules import make_sensitive_key_rules

ACKS = 'name="acks"\nclient_types=["producer"]\n'


@pytest.fixture(scope="module")
def rules():
    return make_sensitive_key_rules(
        load_settings("base").sensitive_keys, load_config_catalogs()
    )


@pytest.fixture
def load(tmp_path, rules):
    def read(*tables):
        path = tmp_path / "keys.toml"
        path.write_text("".join(f"[[keys]]\n{one}\n" for one in tables))
        return load_dynamic_config_keys(str(path), rules)

    return read


def test_the_proposals_keys_are_there(rules):
    keys = load_dynamic_config_keys("", rules)
    assert {name: (one.client_types, one.type_name) for name, one in keys.items()} == {
        "acks": (("producer",), "STRING"),
        "session.timeout.ms": (("consumer",), "INT"),
        "heartbeat.interval.ms": (("consumer",), "INT"),
    }
    assert keys["acks"].words == ("-1", "0", "1", "all")
    assert (keys["session.timeout.ms"].low, keys["session.timeout.ms"].high) == (
        1,
        2**31 - 1,
    )


def test_the_file_of_keys_is_no_environment():
    assert "dynamic_client_configs" not in list_environments()


def test_doubles_with_one_end_and_keys_of_any_catalog_are_taken(load):
    keys = load(
        'name="linger.ms"\nclient_types=["admin", "streams"]\ntype="DOUBLE"\nlow=0.5',
        'name="enable.idempotence"\nclient_types=["producer"]\ntype="BOOLEAN"',
    )
    assert (keys["linger.ms"].low, keys["linger.ms"].high) == (0.5, None)
    assert keys["enable.idempotence"].type_name == "BOOLEAN"


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ('client_types=["producer"]\ntype="INT"', "keys[0]: name"),
        ('name="a b"\nclient_types=["producer"]\ntype="INT"', "keys[0] (a b): name"),
        ('name="supported.configs"', "(supported.configs): name"),
        ('name="acks"\ntype="INT"', "(acks): client_types: expects"),
        ('name="acks"\nclient_types=["broker"]\ntype="INT"', "(acks): client_types"),
        (ACKS, "(acks): type: expects one of BOOLEAN"),
        (ACKS + 'type="PASSWORD"', "(acks): type"),
        (ACKS + 'type="CLASS"', "(acks): type"),
        (ACKS + 'type="INT"\nlow=2\nhigh=1', "low, high: no INT is from 2 to 1"),
        (ACKS + 'type="SHORT"\nlow=40000', "no SHORT is from 40000 to 32767"),
        (ACKS + 'type="SHORT"\nhigh=-40000', "no SHORT is from -32768 to -40000"),
        (ACKS + 'type="INT"\nlow=1.5', "low: expects a number of type INT"),
        (ACKS + 'type="INT"\nlow=true', "low: expects"),
        (ACKS + 'type="DOUBLE"\nlow=nan', "low: expects"),
        (ACKS + 'type="STRING"\nlow=1', "low: a STRING has no range"),
        (ACKS + 'type="STRING"\nwords=[]', "words: is a list of at least one"),
        (ACKS + 'type="INT"\nwords=["1"]', "words"),
        (ACKS + 'type="STRING"\nwords=[1]', "words: expects a list of texts"),
        (ACKS + 'type="INT"\nunit="ms"', "unit: unknown"),
    ],
)
def test_a_key_that_cannot_be_is_refused_by_file_and_key(load, table, fault):
    with pytest.raises(InvalidSetting) as raised:
        load(table)
    assert "keys.toml: keys[0]" in str(raised.value)
    assert fault in str(raised.value)


@pytest.mark.parametrize(
    ("name", "type_name", "rule"),
    [
        ("sasl.jaas.config", "STRING", "password-type"),
        ("ssl.key.location", "STRING", "security-key"),
        ("interceptor.classes", "LIST", "class-key"),
        ("db.password", "STRING", "custom-key"),
        ("my.own.key", "INT", "custom-key"),
    ],
)
def test_a_key_that_the_rules_for_secrets_hide_is_refused(load, name, type_name, rule):
    with pytest.raises(InvalidSetting) as raised:
        load(f'name="{name}"\nclient_types=["producer"]\ntype="{type_name}"')
    assert f"keys[0] ({name}): name: is hidden by the rule" in str(raised.value)
    assert rule in str(raised.value)


def test_a_rule_of_the_operators_own_allows_a_custom_key(tmp_path):
    path = tmp_path / "keys.toml"
    path.write_text('[[keys]]\nname="my.key"\nclient_types=["admin"]\ntype="INT"\n')
    rule = 'sensitive_keys.rules=[{name="mine",key_prefixes=["my."],action="allow"}]'
    settings = load_settings("base", [rule])
    rules = make_sensitive_key_rules(settings.sensitive_keys, load_config_catalogs())
    assert list(load_dynamic_config_keys(str(path), rules)) == ["my.key"]


def test_a_key_that_is_there_twice_is_refused(load):
    with pytest.raises(InvalidSetting, match=r"keys\[1\] \(acks\): name: is there"):
        load(ACKS + 'type="INT"', ACKS + 'type="INT"')


@pytest.mark.parametrize("text", ["[", "x=1", "keys=1", "[keys]\nname=1", "keys=[1]"])
def test_what_is_no_file_of_keys_is_refused(tmp_path, rules, text):
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(InvalidSetting, match=r"keys\.toml"):
        load_dynamic_config_keys(str(path), rules)


def test_a_file_that_is_not_there_is_named(tmp_path, rules):
    with pytest.raises(InvalidSetting, match=r"missing\.toml: cannot be read"):
        load_dynamic_config_keys(str(tmp_path / "missing.toml"), rules)
