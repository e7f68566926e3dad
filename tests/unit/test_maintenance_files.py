"""The examples of maintenance start commands that there are, in words that they take."""

import ast
import re
import shutil
import subprocess

import pytest
import yaml

from pipelines.__main__ import main
from pipelines.commands import COMMANDS_BY_NAME, build_parser
from pipelines.errors import ChecksNotInstalled, InvalidSetting
from pipelines.settings import CONF_PATH, load_settings

ROOT = CONF_PATH.parent
EXAMPLES = ROOT / "docs/operations"
SCRIPT = "/opt/kafka-clientele/spark-submit.sh"
LINE = f"{SCRIPT} maintain_tables --env cluster"
UNIT = "kafka-clientele-maintenance"
PRIVILEGES = {
    *("USE_CATALOG", "USE_SCHEMA", "CREATE_TABLE", "SELECT", "MODIFY"),
    *("READ_VOLUME", "WRITE_VOLUME"),
}
"""Of Unity Catalog, those that are used."""
VARIABLE = re.compile(r"\$\{(var|workspace|resources)\.([\w.]+)\}")


def parse(words):
    """Return the arguments that the program itself reads out of these words."""
    return build_parser().parse_args(words)


def check_line(line):
    program, *words = line.split()
    assert program == SCRIPT
    arguments = parse(words)
    assert (arguments.command, arguments.env) == ("maintain_tables", "cluster")


def test_cron_starts_it_once_a_night():
    lines = (EXAMPLES / "maintenance.cron").read_text().splitlines()
    (line,) = [one for one in lines if not re.match(r"#|\w+=", one)]
    minute, hour, day, month, weekday, user, command = line.split(None, 6)
    assert (int(minute) in range(60), int(hour) in range(24)) == (True, True)
    assert (day, month, weekday) == ("*", "*", "*")
    assert user == "kafka-clientele"
    check_line(command)
    check_password(dict(one.split("=", 1) for one in lines if re.match(r"\w+=", one)))


def check_password(environ, env="cluster"):
    """The password of an environment is where the example has one."""
    environ = {n: v for n, v in environ.items() if n.startswith("KAFKA_CLIENTELE_")}
    given = load_settings(env, environ=environ).kafka.sasl_password
    assert given not in ("", load_settings(env).kafka.sasl_password)


def test_systemd_understands_timer_and_service(tmp_path):
    service = (EXAMPLES / f"{UNIT}.service").read_text()
    (start,) = re.findall(r"^ExecStart=(.*)$", service, re.MULTILINE)
    check_line(start)
    timer = (EXAMPLES / f"{UNIT}.timer").read_text()
    (calendar,) = re.findall(r"^OnCalendar=(.*)$", timer, re.MULTILINE)
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("this machine has no systemd-analyze")
    done = subprocess.run(
        [analyze, "calendar", calendar], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # systemd wants programs that exist; those of the unit are where it is installed.
    here = service.replace("/opt/kafka-clientele", str(ROOT))
    (tmp_path / f"{UNIT}.service").write_text(here)
    (tmp_path / f"{UNIT}.timer").write_text(timer)
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(tmp_path / f"{UNIT}.timer")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert [line for line in done.stderr.splitlines() if UNIT in line] == []


def test_airflow_has_one_run_at_a_time():
    tree = ast.parse((EXAMPLES / "maintenance_dag.py").read_text())
    calls = {
        ast.unparse(one.func): {
            word.arg: word.value for word in one.keywords if word.arg is not None
        }
        for one in ast.walk(tree)
        if isinstance(one, ast.Call)
    }
    dag = calls["DAG"]
    assert ast.literal_eval(dag["max_active_runs"]) == 1
    assert len(ast.literal_eval(dag["schedule"]).split()) == 5
    check_line(ast.literal_eval(calls["BashOperator"]["bash_command"]))


@pytest.fixture(scope="module")
def bundle():
    return yaml.safe_load((EXAMPLES / "databricks.yml").read_text())


def list_tasks(bundle):
    for name, job in bundle["resources"]["jobs"].items():
        clusters = {one["job_cluster_key"] for one in job["job_clusters"]}
        for task in job["tasks"]:
            assert task["job_cluster_key"] in clusters
            yield name, task


def find_environment(bundle):
    (cluster,) = bundle["resources"]["jobs"]["streaming"]["job_clusters"]
    variables = bundle["variables"]
    return {
        name: VARIABLE.sub(lambda one: str(variables[one[2]]["default"]), value)
        for name, value in cluster["new_cluster"]["spark_env_vars"].items()
        if "${var." in value
    }


def find_file(path):
    return ROOT / path.removeprefix("${workspace.file_path}/")


def test_tasks_of_databricks_start_what_there_is(bundle):
    started = {}
    for name, task in list_tasks(bundle):
        for library in task["libraries"]:
            assert find_file(library["requirements"]).is_file()
        if "notebook_task" in task:
            notebook = find_file(task["notebook_task"]["notebook_path"])
            widgets = re.findall(
                r'widgets\.\w+\(\s*"(\w+)"', notebook.read_text(encoding="utf-8")
            )
            assert {*task["notebook_task"]["base_parameters"]} <= {*widgets}
            started.setdefault(name, []).append("notebook")
            continue
        python = task["spark_python_task"]
        assert find_file(python["python_file"]).is_file()
        driver, *words = python["parameters"]
        assert driver == "run"
        arguments = parse(words)
        assert arguments.env == "databricks"
        started.setdefault(name, []).append(arguments.command)
    streams = {name for name in COMMANDS_BY_NAME if name.endswith("_to_delta")}
    assert {*started["streaming"]} == streams
    assert started["maintenance"] == ["maintain_tables", "check_tables", "notebook"]
    for job in bundle["resources"]["jobs"].values():
        assert job["max_concurrent_runs"] == 1


def test_names_and_rights_of_databricks_are_those_of_the_settings(bundle):
    variables = {name: one.get("default") for name, one in bundle["variables"].items()}
    tables = load_settings("databricks").tables
    named = f"{variables['catalog']}.{variables['schema']}"
    assert named == tables.catalog_schema
    check_password(find_environment(bundle), "databricks")
    (volume,) = bundle["resources"]["volumes"].values()
    (schema,) = bundle["resources"]["schemas"].values()
    place = f"/Volumes/{named.replace('.', '/')}/{volume['name']}/"
    location = load_settings("databricks").client_telemetry_to_delta.checkpoint_location
    assert location.startswith(place)
    for grant in (*schema["grants"], *volume["grants"]):
        assert {*grant["privileges"]} <= PRIVILEGES
    text = (EXAMPLES / "databricks.yml").read_text()
    for kind, name in VARIABLE.findall(text):
        if kind == "var":
            assert name in variables
        if kind == "resources":
            group, key, _ = name.split(".")
            assert key in bundle["resources"][group]


def test_tables_are_checked_once_a_night_where_great_expectations_is(bundle):
    tasks = {task["task_key"]: task for _, task in list_tasks(bundle)}
    checks = tasks["check_tables"]
    assert checks["depends_on"] == [{"task_key": "maintain_tables"}]
    # Maintenance ends with 1 where somebody must act; its tables are checked all the same.
    assert checks["run_if"] == "ALL_DONE"
    pins = "\n".join(
        find_file(one["requirements"]).read_text() for one in checks["libraries"]
    )
    assert re.search(r"^great_expectations==", pins, re.MULTILINE)
    words = tasks["maintain_tables"]["spark_python_task"]["parameters"][1:]
    assert parse(words).no_checks
    assert not parse(["maintain_tables"]).no_checks


def test_who_lacks_great_expectations_is_told_before_maintenance(monkeypatch, capsys):
    monkeypatch.setattr("pipelines.quality.is_installed", lambda: False)
    # Started as spark-submit starts a job: nothing else is looked at before.
    assert main(["run", "maintain_tables"]) == ChecksNotInstalled.exit_code
    said = capsys.readouterr().err
    assert "pip install 'kafka-clientele[checks]'" in said
    assert "or leave them out, by --no-checks" in said


@pytest.mark.parametrize("words", [["maintain_tables"], ["run", "maintain_tables"]])
def test_a_retention_that_cannot_be_meant_is_told_before_java_and_before_kafka(
    words, monkeypatch, capsys, tmp_path
):
    mine = tmp_path / "mine.toml"
    mine.write_text("[client_metrics]\ndays = -1\n")

    def refuse(*_, **__):
        pytest.fail("was started all the same")

    monkeypatch.setattr("pipelines.commands.session.hand_over", refuse)
    monkeypatch.setattr("pipelines.commands.session.own_session", refuse)
    more = ["--no-checks", f"--set=maintain_tables.retention_location={mine}"]
    assert main([*words, *more]) == InvalidSetting.exit_code
    assert f"{mine}: client_metrics.days" in capsys.readouterr().err
