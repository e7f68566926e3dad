"""Words of the user go to the command or to spark-submit, and theirs win."""

import itertools
import os
import re
import shlex
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.__main__ import limit_readers, main
from pipelines.commands import COMMANDS_BY_NAME
from pipelines.commands.submit import arguments
from pipelines.commands.submit.arguments import (
    Installation,
    build_arguments,
    find_spark_home,
)
from pipelines.commands.submit.spark_words import (
    SPARK_OPTIONS,
    is_local,
    split_arguments,
)
from pipelines.errors import InvalidSetting
from pipelines.settings import CONF_PATH

JOB = COMMANDS_BY_NAME["client_telemetry_to_delta"].own_options
SQL = COMMANDS_BY_NAME["sql"].own_options


def install(root, **more):
    return Installation(
        packages_path=root,
        conf=root / "conf",
        cache=root / ".cache",
        python="/python",
        **more,
    )


HERE = install(CONF_PATH.parent)


def read_conf(words):
    pairs = itertools.pairwise(words)
    return dict(after.split("=", 1) for word, after in pairs if word == "--conf")


@pytest.mark.parametrize(
    ("options", "words", "own", "spark"),
    [
        (JOB, ["--once"], ["--once"], []),
        (
            JOB,
            ["--master", "local[1]", "--env", "local", "--conf", "a=b", "--once"],
            ["--env", "local", "--once"],
            ["--master", "local[1]", "--conf", "a=b"],
        ),
        (JOB, ["--set=a.b=c", "--supervise", "--once"], ["--set=a.b=c", "--once"], ["--supervise"]),
        (JOB, ["--mastr", "local[1]"], ["--mastr", "local[1]"], []),
        (JOB, ["--load-spark-defaults", "--once"], ["--once"], ["--load-spark-defaults"]),
        (JOB, ["--master=local[1]"], [], ["--master", "local[1]"]),
        (
            SQL,
            ["--driver-memory", "2g", "select 1", "--limit", "5"],
            ["select 1", "--limit", "5"],
            ["--driver-memory", "2g"],
        ),
    ],
)  # fmt: skip
def test_words_are_parted(options, words, own, spark):
    assert split_arguments(words, options) == (own, spark)


def test_a_local_run_has_the_local_settings_and_ships_nothing():
    words = build_arguments(HERE, [])
    conf = read_conf(words)
    assert conf["spark.master"] == "local[*]"
    assert conf["spark.sql.session.timeZone"] == "UTC"
    assert conf["spark.pyspark.python"] == "/python"
    assert "--archives" not in words
    assert "--py-files" not in words


def test_options_of_the_user_win():
    words = build_arguments(
        HERE,
        [
            *("--master", "local[1]"),
            *("--conf", "spark.sql.shuffle.partitions=9"),
            *("--jars", "/mine.jar"),
            *("--driver-memory", "3g"),
        ],
    )
    conf = read_conf(words)
    assert conf["spark.sql.shuffle.partitions"] == "9"
    assert "spark.master" not in conf
    assert words[words.index("--master") + 1] == "local[1]"
    assert words[words.index("--driver-memory") + 1] == "3g"
    assert "spark.driver.memory" not in conf
    assert words[words.index("--jars") + 1] == "/mine.jar"


def test_a_properties_file_of_the_user_wins_over_the_defaults(tmp_path):
    mine = tmp_path / "mine.conf"
    mine.write_text("# mine\nspark.sql.session.timeZone = Europe/Berlin\n")
    conf = read_conf(build_arguments(HERE, ["--properties-file", str(mine)]))
    assert "spark.sql.session.timeZone" not in conf
    assert conf["spark.databricks.delta.snapshotPartitions"] == "2"


def test_a_properties_file_may_name_another_cluster_and_leave_values_out(tmp_path):
    mine = tmp_path / "mine.conf"
    mine.write_text("spark.master  spark://host:7077\nspark.eventLog.dir\n")
    assert not is_local(["--properties-file", str(mine)])
    assert is_local(["--properties-file", str(mine), "--master", "local[1]"])


@pytest.mark.parametrize(
    "given",
    [
        ["--driver-java-options", "-Da=b -Dc=d"],
        ["--conf", "spark.driver.extraJavaOptions=-Da=b -Dc=d"],
        ["--properties-file", "FILE"],
    ],
    ids=["option", "conf", "file"],
)
def test_java_options_of_the_user_stand_behind_ours(given, tmp_path):
    mine = tmp_path / "mine.conf"
    mine.write_text("spark.driver.extraJavaOptions  -Da=b -Dc=d\n")
    words = [str(mine) if word == "FILE" else word for word in given]
    made = build_arguments(HERE, words)
    options = read_conf(made)["spark.driver.extraJavaOptions"].split()
    assert options[0].startswith("-Dlog4j2.configurationFile=")
    assert options[-3:] == ["-Xss8m", "-Da=b", "-Dc=d"]
    assert "--driver-java-options" not in made


def test_all_options_of_this_spark_are_known():
    (jar,) = (find_spark_home() / "jars").glob("spark-launcher_*.jar")
    with zipfile.ZipFile(jar) as opened:
        parser = opened.read("org/apache/spark/launcher/SparkSubmitOptionParser.class")
    there = set(re.findall(r"--[a-z][a-z-]+", parser.decode("latin-1")))
    short = {"-c", "-h", "-v"}
    assert there == SPARK_OPTIONS - short


def test_an_option_that_nobody_knows_is_refused_in_a_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["sql", "select 1", "--mastr", "local[1]"])
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1].endswith("--mastr local[1]; did you mean --master?")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--conf", "spark.executor.memory=abc"], "--conf spark.executor.memory=abc: "),
        (["--conf", "spark.driver.memory=1gb"], "--conf spark.driver.memory=1gb: Spark"),
        (["--executor-memory", "0"], "--executor-memory 0: Spark expects a size, as"),
        (["--executor-cores", "two"], "--executor-cores two: Spark expects a number"),
        (["--conf", "spark.cores.max=-1"], "--conf spark.cores.max=-1: Spark expects"),
        (["--master", "nonsense"], "--master nonsense: Spark expects yarn, or what"),
        (["--deploy-mode", "both"], "--deploy-mode both: Spark expects client or"),
    ],
)  # fmt: skip
def test_a_value_that_no_spark_starts_with_is_refused_in_a_line(words, told):
    with pytest.raises(InvalidSetting) as refused:
        build_arguments(HERE, words)
    assert str(refused.value).startswith(told)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("size", ["1073741824", "512m", "2G", "1024K"])
def test_sizes_that_spark_and_java_take_are_left_alone(size):
    words = ["--driver-memory", size, "--conf", f"spark.executor.memory={size}b"]
    if size.isdecimal():
        words[-1] = words[-1].removesuffix("b")
    assert (
        read_conf(build_arguments(HERE, words))["spark.executor.memory"]
        == (words[-1].partition("=")[2])
    )


def test_a_checkout_below_a_blank_is_named_without_one(tmp_path):
    root = tmp_path / "a b"
    shutil.copytree(CONF_PATH, root / "conf")
    jar = root / ".cache" / "jars" / "spark" / "delta.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    words = build_arguments(install(root), [])
    conf = read_conf(words)
    option, *_ = shlex.split(conf["spark.driver.extraJavaOptions"])
    assert option == (
        f"-Dlog4j2.configurationFile=file://{tmp_path}/a%20b/conf/log4j2.properties"
    )
    assert conf["spark.driver.extraClassPath"] == str(jar)
    assert conf["spark.sql.warehouse.dir"] == f"file:{root}/.cache/spark-warehouse"


@pytest.fixture
def installation(tmp_path):
    """A checkout below a blank, with a jar and the file of Spark's classes."""
    root = tmp_path / "a b"
    (root / ".cache" / "jars" / "spark").mkdir(parents=True)
    (root / ".cache" / "jars" / "spark" / "delta.jar").touch()
    (root / "conf").symlink_to(CONF_PATH)
    return install(root, archive=str(root / "classes.jsa"))


def test_a_run_in_one_process_maps_the_classes_that_were_kept(installation):
    conf = read_conf(build_arguments(installation, []))
    assert conf["spark.driver.extraClassPath"] == str(installation.jars[0])
    options = shlex.split(conf["spark.driver.extraJavaOptions"])
    assert f"-XX:SharedArchiveFile={installation.archive}" in options


@pytest.mark.parametrize(
    "given",
    [
        ["--driver-class-path", "/mine.jar"],
        ["--conf", "spark.driver.extraClassPath=/mine.jar"],
        ["--properties-file", "FILE"],
    ],
    ids=["option", "conf", "file"],
)
def test_a_class_path_of_the_user_stands_behind_ours(given, installation, tmp_path):
    mine = tmp_path / "mine.conf"
    mine.write_text("spark.driver.extraClassPath  /mine.jar\n")
    words = [str(mine) if word == "FILE" else word for word in given]
    made = build_arguments(installation, words)
    assert read_conf(made)["spark.driver.extraClassPath"] == os.pathsep.join(
        [str(installation.jars[0]), "/mine.jar"]
    )
    assert "--driver-class-path" not in made


@pytest.mark.parametrize("master", ["local-cluster[1,1,1024]", "spark://here:7077"])
def test_executors_of_their_own_are_sent_the_jars(installation, master, monkeypatch):
    # What a cluster is sent beside them is tested with one.
    monkeypatch.setattr(arguments, "_prepare_machines", lambda *_: {})
    words = ["--master", master, "--driver-class-path", "/mine.jar"]
    made = build_arguments(installation, words)
    assert made[made.index("--jars") + 1] == installation.jars[0].as_uri()
    assert made[made.index("--driver-class-path") + 1] == "/mine.jar"
    conf = read_conf(made)
    assert "spark.driver.extraClassPath" not in conf
    assert "SharedArchiveFile" not in conf["spark.driver.extraJavaOptions"]


def test_without_kept_classes_nothing_is_said_of_them():
    conf = read_conf(build_arguments(HERE, []))
    assert "Share" not in conf["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize(
    ("words", "java_words", "is_short", "collectors"),
    [
        ([], "", True, ["UseSerialGC"]),
        ([], "", False, []),
        (["--driver-java-options", "-XX:+UseParallelGC"], "", True, ["UseParallelGC"]),
        (["--conf", "spark.driver.defaultJavaOptions=-XX:+UseG1GC"], "", True, []),
        ([], "-Xmx1g -XX:+UseZGC", True, []),
    ],
)
def test_a_short_command_has_the_collector_of_the_user(
    words, java_words, is_short, collectors
):
    for kind in ({"is_short": is_short}, {"is_small": is_short}):
        made = build_arguments(HERE, words, **kind, java_words=java_words)
        options = read_conf(made)["spark.driver.extraJavaOptions"]
        assert re.findall(r"Use\w+GC", options) == collectors


def test_a_small_driver_has_settings_of_its_own_and_the_users_win():
    name = "spark.sql.ui.retainedExecutions"
    assert name not in read_conf(build_arguments(HERE, []))
    assert name in read_conf(build_arguments(HERE, [], is_small=True))
    users = build_arguments(HERE, ["--conf", f"{name}=7"], is_small=True)
    assert read_conf(users)[name] == "7"


@pytest.fixture
def _own_mask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_own_mask")
@pytest.mark.parametrize(
    ("variable", "mask", "mode"), [("", "077", 0o600), ("027", "027", 0o640)]
)
def test_what_is_made_is_the_owners_unless_the_variable_says_otherwise(
    monkeypatch, tmp_path, variable, mask, mode
):
    monkeypatch.setenv("KAFKA_CLIENTELE_UMASK", variable)
    limit_readers()
    (tmp_path / "made").touch()
    assert (tmp_path / "made").stat().st_mode & 0o777 == mode
    conf = read_conf(build_arguments(HERE, []))
    assert conf["spark.hadoop.fs.permissions.umask-mode"] == mask


@pytest.mark.parametrize("text", ["rw", "8", "0o77", "77777"])
def test_a_mask_that_is_none_is_refused(monkeypatch, text):
    monkeypatch.setenv("KAFKA_CLIENTELE_UMASK", text)
    with pytest.raises(InvalidSetting, match=f"UMASK={text}: expects a mask"):
        limit_readers()


@pytest.mark.parametrize("words", [[], ["--packages", "a:b:1"]])
def test_jars_that_nobody_has_set_up_are_fetched_by_spark(tmp_path, words):
    (tmp_path / "conf").symlink_to(CONF_PATH)
    made = read_conf(build_arguments(install(tmp_path), words))
    ours, *users = re.split(r"(?<=:4\.2\.0),", made["spark.jars.packages"])
    assert ours == (
        "io.delta:delta-spark_4.2_2.13:4.4.0,"
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
    )
    assert users == words[1:]
    assert "spark.driver.extraClassPath" not in made


def test_jars_fetched_by_spark_are_resolved_once(tmp_path):
    (tmp_path / "conf").symlink_to(CONF_PATH)
    installation = install(tmp_path)
    ivy = tmp_path / "ivy"
    ivy.mkdir()
    fetched = ["a.jar", "io.delta_delta-spark_4.2_2.13-4.4.0.jar"]
    jars = [ivy / name for name in fetched]
    users = tmp_path / "users.jar"
    for one in [*jars, users]:
        one.write_text("jar")
    packages = ",".join(installation.packages)
    installation.keep_fetched_jars(f"{packages},a:b:1", jars)
    assert "spark.jars.packages" in read_conf(build_arguments(installation, []))
    for _ in range(2):
        installation.keep_fetched_jars(packages, [users, *jars])
    made = read_conf(build_arguments(installation, []))
    assert "spark.jars.packages" not in made
    names = [Path(one).name for one in made["spark.driver.extraClassPath"].split(":")]
    assert names == fetched
    # Another release has other packages.
    other = tmp_path / "other"
    other.mkdir()
    (other / "ivy.xml").write_text(
        (CONF_PATH / "ivy.xml").read_text().replace('rev="4.4.0"', 'rev="9.9.9"')
    )
    assert replace(installation, conf=other).jars == []
