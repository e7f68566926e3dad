"""conf/ and --set: what is taken, what is refused, and in which words."""

import shutil

import pytest

from pipelines.errors import InvalidSetting
from pipelines.settings import CONF_PATH, load_settings
from pipelines.settings.loading import list_overrides
from pipelines.settings.reference import format_settings
from pipelines.settings.secret_references import SecretReference
from pipelines.settings.watching_settings import STREAMING_JOBS


def test_the_environment_overrides_base_and_set_overrides_both():
    assert load_settings("base").subscriptions[0].interval_ms == 300_000
    assert load_settings("local").subscriptions[0].interval_ms == 5_000
    settings = load_settings(
        "local",
        [
            'subscriptions=[{name="a", metrics=["x."], interval_ms=100, match=[]}]',
            "kafka.bootstrap_servers=10.0.0.1:9092,10.0.0.2:9092",
            "bridge.listen_port=0",
            "bridge.listen_port=7",
        ],
    )
    assert settings.subscriptions[0].metrics == ("x.",)
    assert settings.kafka.bootstrap_servers == "10.0.0.1:9092,10.0.0.2:9092"
    assert settings.bridge.listen_port == 7


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("bridge.listen_prt=1", "--set: bridge.listen_prt: unknown key; did you mean listen_port?"),
        ("brdge.listen_port=1", "--set: brdge: unknown section; did you mean bridge?"),
        ("bridge.listen_port", "--set bridge.listen_port: expects section.key=value"),
        ("bridge.listen_port=x", "--set bridge.listen_port: expects a whole number"),
        ("bridge.listen_port=true", "--set: bridge.listen_port: expects a whole number"),
        ("bridge.listen_port=-1", "--set: bridge.listen_port: must be at least 0 and at most 65535"),
        ("bridge.listen_port=65536", "--set: bridge.listen_port: must be at least 0 and at most 65535"),
        ("kafka=3", "--set: kafka: is a table of keys"),
        ("bridge.accepted_compression_types=zstd", '--set bridge.accepted_compression_types: expects a list as TOML has it: ["one", "two"]'),
        ('bridge.accepted_compression_types=["brotli"]', "--set: bridge.accepted_compression_types[0]: must be one of gzip, snappy, lz4, zstd"),
        ('subscriptions=[{name="a"}]', "--set: subscriptions[0].metrics: the key is missing"),
        ('subscriptions=[{nme="a"}]', "--set: subscriptions[0].nme: unknown key; did you mean name?"),
        ("subscriptions=[3]", "--set: subscriptions[0]: expects a table of keys"),
    ],
)  # fmt: skip
def test_a_bad_override_is_refused_by_name(override, reason):
    with pytest.raises(InvalidSetting) as raised:
        load_settings("local", [override])
    assert str(raised.value) == reason


def test_an_unknown_key_of_a_file_is_refused_with_file_and_key(tmp_path):
    shutil.copytree(CONF_PATH, tmp_path / "conf")
    (tmp_path / "conf" / "mine.toml").write_text("[kafka]\nbootstrap_server = 'a:1'\n")
    with pytest.raises(InvalidSetting) as raised:
        load_settings("mine", conf_path=tmp_path / "conf")
    assert str(raised.value) == (
        "conf/mine.toml: kafka.bootstrap_server: unknown key; "
        "did you mean bootstrap_servers?"
    )


def test_a_key_that_base_lacks_has_the_default_of_its_declaration(tmp_path):
    shutil.copytree(CONF_PATH, tmp_path / "conf")
    base = tmp_path / "conf" / "base.toml"
    base.write_text(base.read_text().replace("listen_port = 9192\n", ""))
    settings = load_settings("local", conf_path=tmp_path / "conf")
    assert settings.bridge.listen_port == 9192


def test_a_file_of_ones_own_stands_between_environment_and_variables(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('[kafka]\nbootstrap_servers = "a:1"\n[bridge]\nlisten_port = 1\n')
    environ = {
        "KAFKA_CLIENTELE_BRIDGE__LISTEN_PORT": "2",
        "KAFKA_CLIENTELE_BRIDGE__NODE_ID": "3",
        "KAFKA_CLIENTELE_BRIDGE__ADMIN_PRINCIPALS": '["User:a"]',
        "KAFKA_CLIENTELE_SUBSCRIPTIONS": "[]",
        # What is no key of ours.
        "KAFKA_CLIENTELE_UMASK": "077",
        "KAFKA_CLIENTELE_SASL_PASSWORD": "secret",
        "BRIDGE__LISTEN_PORT": "9",
    }
    settings = load_settings(
        "local", ["bridge.node_id=4"], own_file=str(mine), environ=environ
    )
    assert settings.kafka.bootstrap_servers == "a:1"
    assert (settings.bridge.listen_port, settings.bridge.node_id) == (2, 4)
    assert settings.bridge.admin_principals == ("User:a",)
    assert settings.subscriptions == ()
    assert settings.bridge.http_port == 0  # of local.toml


def test_variable_of_an_unknown_section_is_refused_as_section():
    with pytest.raises(InvalidSetting) as refused:
        load_settings("local", environ={"KAFKA_CLIENTELE_FOO__BAR": "1"})
    assert str(refused.value).startswith(
        "KAFKA_CLIENTELE_FOO__BAR: foo: unknown section"
    )


def test_cluster_environment_keeps_locations_of_own_file(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('[tables]\nroot_path = "tables"\n')
    found = load_settings("cluster", own_file=str(mine))
    assert found.tables == load_settings("base", own_file=str(mine)).tables
    for name in STREAMING_JOBS:
        base = getattr(load_settings("base"), name).checkpoint_location
        assert getattr(found, name).checkpoint_location == base


def test_variables_are_the_same_as_words_behind_set():
    environ = {
        "KAFKA_CLIENTELE_TOPICS__WIRE_CONFIGS": "a=b",
        "KAFKA_CLIENTELE_LISTENERS": "[]",
    }
    assert list_overrides(environ) == ["listeners=[]", "topics.wire_configs=a=b"]
    by_variables = load_settings("base", environ=environ)
    assert by_variables == load_settings("base", list_overrides(environ))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("BRIDGE__LISTEN_PRT", "1", ": bridge.listen_prt: unknown key; did you mean listen_port?"),
        ("BRDGE__LISTEN_PORT", "1", ": brdge: unknown section; did you mean bridge?"),
        ("BRIDGE__", "1", ": bridge: is a table of keys"),
        ("BRIDGE__LISTEN_PORT", "x", ": expects a whole number"),
        ("BRIDGE__LISTEN_PORT", "-1", ": bridge.listen_port: must be at least 0 and at most 65535"),
        ("KAFKA__SASL_PASSWORD", "hunter2", ": kafka.sasl_password: expects a reference to a secret (env:NAME, file:PATH or scope/key), not a value"),
    ],
)  # fmt: skip
def test_a_bad_variable_is_refused_by_name(name, text, reason):
    variable = f"KAFKA_CLIENTELE_{name}"
    with pytest.raises(InvalidSetting) as raised:
        load_settings("local", environ={variable: text})
    assert str(raised.value) == f"{variable}{reason}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[bridge]\nlisten_prt = 1", "bridge.listen_prt: unknown key; did you mean listen_port?"),
        ("[bridge", "is not TOML: "),
        (None, "cannot be read (No such file or directory)"),
    ],
)  # fmt: skip
def test_a_bad_file_of_ones_own_is_refused_by_its_path(tmp_path, text, reason):
    mine = tmp_path / "mine.toml"
    if text is not None:
        mine.write_text(text)
    with pytest.raises(InvalidSetting) as raised:
        load_settings("local", own_file=str(mine))
    assert str(raised.value).startswith(f"{mine}: {reason}")


def test_an_unknown_environment_lists_the_known_ones():
    with pytest.raises(InvalidSetting, match=r"no conf/moon\.toml; known are cluster"):
        load_settings("moon")


def test_a_secret_is_a_reference_and_never_a_value():
    with pytest.raises(InvalidSetting) as raised:
        load_settings("local", ["kafka.sasl_password=hunter2"])
    assert "hunter2" not in str(raised.value)
    settings = load_settings("local", ["kafka.sasl_password=env:SECRET_NAME"])
    assert settings.kafka.sasl_password == SecretReference("env:SECRET_NAME")
    assert "kafka.sasl_password = env:SECRET_NAME" in format_settings(settings)


def test_one_table_in_place_of_a_list_of_tables_is_named(tmp_path):
    conf = shutil.copytree(CONF_PATH, tmp_path / "conf")
    text = (conf / "base.toml").read_text()
    (conf / "base.toml").write_text(
        text.replace("[[subscriptions]]", "[subscriptions]")
    )
    with pytest.raises(
        InvalidSetting, match=r"base\.toml: subscriptions: expects a list"
    ):
        load_settings("base", conf_path=conf)


def test_a_key_below_a_list_of_tables_is_refused():
    with pytest.raises(InvalidSetting, match=r"--set: subscriptions: expects a list"):
        load_settings("base", ["subscriptions.x=1"])
