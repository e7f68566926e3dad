"""Relative paths start from the checkout, or from where they are said."""

import dataclasses
import shutil
import typing

import pytest

from pipelines.settings import CONF_PATH, load_settings
from pipelines.settings.paths import is_path
from pipelines.settings.records import Settings

MINE = """
[tables]
root_path = "mine/tables"
[kafka]
sasl_password = "file:mine/password"
ssl_ca_location = "mine/ca.pem"
[[listeners]]
name = "A"
host = "127.0.0.1"
port = 0
ssl_key_location = "mine/key.pem"
"""


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("elsewhere")
def test_relative_paths_of_conf_start_from_the_checkout(tmp_path):
    checkout = tmp_path / "checkout"
    shutil.copytree(CONF_PATH, checkout / "conf")
    (checkout / "conf" / "mine.toml").write_text(MINE)
    settings = load_settings("mine", conf_path=checkout / "conf")
    assert settings.tables.root_path == str(checkout / "mine/tables")
    assert settings.kafka.ssl_ca_location == str(checkout / "mine/ca.pem")
    assert settings.kafka.sasl_password.text == f"file:{checkout}/mine/password"
    assert settings.listeners[0].ssl_key_location == str(checkout / "mine/key.pem")
    job = settings.client_telemetry_to_delta
    assert job.checkpoint_location.startswith(f"{checkout}/data/checkpoints/")


def test_relative_paths_of_set_start_from_the_current_folder(elsewhere):
    settings = load_settings(
        "local", ["tables.root_path=mine", "kafka.sasl_password=file:p"]
    )
    assert settings.tables.root_path == str(elsewhere / "mine")
    assert settings.kafka.sasl_password.text == f"file:{elsewhere}/p"


@pytest.mark.parametrize(
    "path", ["/absolute", "s3a://bucket/tables", "file:/absolute", "dbfs:/x", ""]
)
def test_a_path_that_says_where_it_is_stays(path):
    assert load_settings("local", [f"tables.root_path={path}"]).tables.root_path == path


def test_relative_paths_of_a_file_of_ones_own_start_from_its_folder(
    elsewhere, tmp_path
):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "mine.toml").write_text(MINE)
    settings = load_settings("local", own_file="../site/mine.toml")
    start = f"{elsewhere}/../site"
    assert settings.tables.root_path == f"{start}/mine/tables"
    assert settings.kafka.sasl_password.text == f"file:{start}/mine/password"
    assert settings.listeners[0].ssl_key_location == f"{start}/mine/key.pem"
    job = settings.client_telemetry_to_delta
    assert job.checkpoint_location.startswith(f"{CONF_PATH.parent}/data/")


def test_relative_paths_of_variables_start_from_the_current_folder(elsewhere):
    environ = {"KAFKA_CLIENTELE_TABLES__ROOT_PATH": "mine"}
    settings = load_settings("local", environ=environ)
    assert settings.tables.root_path == str(elsewhere / "mine")


def list_keys(record):
    for one in dataclasses.fields(record):
        kind = typing.get_type_hints(record)[one.name]
        inner = typing.get_args(kind)[0] if typing.get_origin(kind) is tuple else kind
        if dataclasses.is_dataclass(inner):
            yield from list_keys(inner)
        else:
            yield one.name


def test_keys_that_are_paths_are_known_by_their_names():
    assert {name for name in list_keys(Settings) if is_path(name)} == {
        "root_path",
        "retention_location",
        "rules_location",
        "checkpoint_location",
        "controller_https_ca_location",
        "controller_ssl_ca_location",
        "controller_ssl_certificate_location",
        "controller_ssl_key_location",
        "https_ca_location",
        "keys_location",
        "credentials_location",
        "oauth_jwks_ca_location",
        "oauth_jwks_location",
        "ssl_ca_location",
        "state_location",
        "ssl_certificate_location",
        "ssl_key_location",
    }
