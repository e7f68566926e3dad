"""With --deploy-mode cluster the driver has nothing of the machine that submits."""

import zipfile

import pytest

from pipelines.__main__ import main
from pipelines.commands.submit.cluster_mode import check_job, words_for_driver
from pipelines.commands.submit.packing import (
    DRIVER_PACKAGES,
    list_driver_packages,
    pack_code,
)
from pipelines.commands.submit.spark_words import is_cluster_mode
from pipelines.errors import InvalidSetting
from pipelines.settings import CONF_PATH, load_settings

JOB = "client_telemetry_to_delta"
YARN = ("--master", "yarn", "--deploy-mode", "cluster")
ON_HDFS = (
    "tables.root_path=hdfs://namenode/tables",
    f"{JOB}.checkpoint_location=hdfs://namenode/checkpoints",
)


def check(*overrides, spark_words=YARN, command=JOB):
    check_job(load_settings("local", [*ON_HDFS, *overrides]), command, spark_words)


def test_tables_and_progress_on_a_file_system_of_the_cluster_are_taken():
    check()
    check("kafka.sasl_password=file:password", "kafka.sasl_username=job")
    # A catalog says where tables are.
    check("tables.root_path=tables", "tables.catalog_schema=main.clientele")
    check(spark_words=("--conf", "spark.submit.deployMode=cluster", *YARN[:2]))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tables.root_path", "tables"),
        ("tables.root_path", "/srv/tables"),
        (f"{JOB}.checkpoint_location", "/srv/checkpoints"),
    ],
)
def test_a_folder_of_this_machine_is_refused_by_its_key(key, value):
    with pytest.raises(InvalidSetting, match=f"^{key} is /.*name the file system"):
        check(f"{key}={value}")
    check(f"{key}={value}", spark_words=YARN[:2])


def test_a_job_without_a_checkpoint_has_its_tables_checked():
    check(command="purge_secrets")
    with pytest.raises(InvalidSetting, match=r"tables\.root_path"):
        check("tables.root_path=tables", command="purge_secrets")


@pytest.mark.parametrize("command", ["jobs", "maintain_tables"])
def test_who_uses_every_checkpoint_has_all_of_them_checked(command):
    with pytest.raises(
        InvalidSetting, match=r"client_configs_to_delta\.checkpoint_loc"
    ):
        check(command=command)


@pytest.mark.parametrize("command", ["check_tables", "maintain_tables"])
def test_a_driver_of_checks_gets_the_packages_of_checks_as_well(command):
    assert list_driver_packages(JOB, CONF_PATH) == DRIVER_PACKAGES
    found = list_driver_packages(command, CONF_PATH)
    assert found[: len(DRIVER_PACKAGES)] == DRIVER_PACKAGES
    assert "great_expectations" in found


def test_a_secret_in_a_variable_of_this_machine_is_refused_until_it_is_sent():
    secret = "kafka.sasl_password=env:KAFKA_PASSWORD"
    with pytest.raises(InvalidSetting, match=r"kafka\.sasl_password is env:KAFKA_PASS"):
        check(secret)
    sent = ("--conf", "spark.yarn.appMasterEnv.KAFKA_PASSWORD=x")
    check(secret, spark_words=(*YARN, *sent))


@pytest.mark.parametrize("master", ["local[2]", "spark://host:7077"])
def test_where_spark_runs_no_driver_of_python_it_is_said(master):
    words = ("--master", master, "--deploy-mode", "cluster")
    with pytest.raises(InvalidSetting, match="Spark runs no Python driver there"):
        check(spark_words=words)


def test_what_prints_here_is_refused_there(capsys):
    assert main(["sql", "select 1", *YARN]) == InvalidSetting.exit_code
    assert "sql prints here what it finds" in capsys.readouterr().err


def test_variables_become_words_and_a_settings_file_goes_along(tmp_path):
    environ = {
        "KAFKA_CLIENTELE_TOPICS__TELEMETRY": "pushes",
        "KAFKA_CLIENTELE_UMASK": "027",
    }
    mine = str(tmp_path / "mine.toml")
    words, files = words_for_driver(
        ["run", JOB, "--env", "cluster", "--config", mine, "--set", "a.b=c"], environ
    )
    assert words == [
        *("run", JOB, "--set", "topics.telemetry=pushes", "--env", "cluster"),
        *("--config", "mine.toml", "--set", "a.b=c"),
    ]
    assert files == [mine]


def test_a_deploy_mode_is_found_wherever_it_stands(tmp_path):
    named = tmp_path / "named.conf"
    named.write_text("spark.submit.deployMode cluster\n")
    assert is_cluster_mode(["--properties-file", str(named)])
    assert not is_cluster_mode(
        ["--properties-file", str(named), "--deploy-mode", "client"]
    )
    assert not is_cluster_mode(["--master", "yarn"])


def test_a_driver_elsewhere_gets_conf_as_an_installation_has_it(tmp_path):
    with zipfile.ZipFile(pack_code(CONF_PATH.parent, tmp_path, CONF_PATH)) as packed:
        names = {*packed.namelist()}
    assert {"pipelines/conf/base.toml", "pipelines/conf/log4j2.properties"} <= names
    assert "pipelines/__main__.py" in names
    with zipfile.ZipFile(pack_code(CONF_PATH.parent, tmp_path)) as packed:
        assert not any(name.startswith("pipelines/conf") for name in packed.namelist())
