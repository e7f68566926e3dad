"""Turn a command into spark-submit arguments; options of the user's own win."""

import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .packing import pack_code, pack_environment
from .spark_values import check_values

# spark-submit's options that take no value; every other one takes the next word.
_FLAGS = frozenset(
    {
        *("--help", "-h", "--verbose", "-v", "--version", "--supervise"),
        *("--load-spark-defaults", "--usage-error"),
    }
)
# Of an option that is none of these spark-submit prints its help of a hundred lines.
SPARK_OPTIONS = _FLAGS | {
    *("--archives", "--class", "--conf", "-c", "--deploy-mode", "--driver-class-path"),
    *("--driver-cores", "--driver-default-class-path", "--driver-java-options"),
    *("--driver-library-path", "--driver-memory", "--exclude-packages"),
    *("--executor-cores", "--executor-memory", "--extra-properties-file", "--files"),
    *("--jars", "--keytab", "--kill", "--master", "--name", "--num-executors"),
    *("--packages", "--principal", "--properties-file", "--proxy-user", "--py-files"),
    *("--queue", "--remote", "--repositories", "--status", "--total-executor-cores"),
}
"""All options of spark-submit."""
_NAME_AND_VALUE = re.compile(r"\s*=\s*|\s+")
_LIST_OPTIONS = ("--jars", "--py-files", "--archives")
_DRIVER_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# spark-submit takes the last of an option and a --conf that mean the same; ours stands
# behind the user's, so it has to go where the user has named the option.
_OPTION_CONFS = {
    "--master": "spark.master",
    "--name": "spark.app.name",
    "--driver-memory": "spark.driver.memory",
    "--driver-cores": "spark.driver.cores",
    "--driver-class-path": "spark.driver.extraClassPath",
    "--driver-library-path": "spark.driver.extraLibraryPath",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances",
    "--total-executor-cores": "spark.cores.max",
    "--deploy-mode": "spark.submit.deployMode",
}
_DEFAULT_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
_JAVA_OPTIONS_OPTION = "--driver-java-options"
_PACKAGES = "spark.jars.packages"
_PACKAGES_OPTION = "--packages"
_OWN_JARS = re.compile(
    r'<dependency org="([\w.-]+)" name="([\w.-]+)" rev="([\w.-]+)" conf="spark->'
)
_CLASS_PATH = "spark.driver.extraClassPath"
_CLASS_PATH_OPTION = "--driver-class-path"
# Spark matches the text of a query that was stopped within a batch by a recursive
# pattern, which overflows Java's usual stack.
_STACK_OPTION = "-Xss8m"
# In the first minutes the optimising compiler costs more than its code gains.
SHORT_JAVA_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
# A collector without threads of its own, which has nothing to do for a short query.
_SERIAL_COLLECTOR = ("-XX:+UseSerialGC", "-XX:NewSize=256m")
# One that lasts and takes no more memory than what it keeps.
_SMALL_COLLECTOR = (
    *("-XX:+UseSerialGC", "-XX:MaxNewSize=64m"),
    *("-XX:MinHeapFreeRatio=15", "-XX:MaxHeapFreeRatio=30"),
)
_NAMES_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
# A file that does not fit what else is on the class path is no fault of anybody's.
QUIET_ARCHIVE = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")
WORKER_PYTHON = "spark.pyspark.python"
ENVIRONMENT_NAME = "environment"
"""Folder that the archive of packages is unpacked into, beside an executor."""
CODE_NAME = "code"
"""Folder that the archive of our own code is unpacked into, there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Where this copy of the product stands."""

    packages_path: Path
    """Folder that holds pipelines/ and udfs/."""
    conf: Path
    """Folder of Spark's settings, and of the list of jars."""
    cache: Path
    """Folder of downloaded and packed files."""
    python: str
    """The interpreter of this process, with all packages."""
    archive: str = ""
    """File of Spark's classes that fits Java and jars; empty where there is none."""

    @property
    def jars(self) -> list[Path]:
        """Return the jars that Spark needs beside its own."""
        return sorted((self.cache / "jars" / "spark").glob("*.jar"))

    @property
    def packages(self) -> list[str]:
        """Return the coordinates of those jars, for Spark to fetch where none are."""
        text = (self.conf / "ivy.xml").read_text(encoding="utf-8")
        return [":".join(found) for found in _OWN_JARS.findall(text)]


def split_arguments(
    words: Sequence[str], own_options: Mapping[str, bool]
) -> tuple[list[str], list[str]]:
    """Part the command's own words from spark-submit's.

    Args:
        words: Everything after the command's name.
        own_options: Option of ours to whether it takes a value.
    Returns: (ours, spark-submit's), each in the order given.
    """
    own: list[str] = []
    spark: list[str] = []
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        name, has_value, _ = word.partition("=")
        # What nobody knows is for the command to refuse.
        is_own = name in own_options or name not in SPARK_OPTIONS
        target = own if is_own else spark
        # spark-submit itself does not read --option=value.
        if not is_own and has_value and word.startswith("--"):
            target.extend([name, word[len(name) + 1 :]])
            continue
        target.append(word)
        takes_value = own_options.get(name, not is_own and word not in _FLAGS)
        if takes_value and not has_value and remaining:
            target.append(remaining.pop(0))
    return own, spark


def build_arguments(
    installation: Installation,
    spark_words: Sequence[str],
    *,
    is_short: bool = False,
    is_small: bool = False,
    java_words: str = "",
) -> list[str]:
    """Return the options that go before the program on a spark-submit line.

    Args:
        installation: Where this copy of the product stands.
        spark_words: The user's own options.
        is_short: Whether the driver lives for minutes; it then compiles in haste.
        is_small: Whether it has little to do, and is to take little; so it does, too.
        java_words: Options that Java reads from the environment.
    Raises: InvalidSetting for a value that Spark could not start with.
    """
    user_conf, lists, rest = _read_spark_words(spark_words)
    _check_values(user_conf, rest)
    conf = _load_own_files(installation, spark_words, is_small=is_small)
    if is_local(spark_words):
        conf[WORKER_PYTHON] = installation.python
    else:
        conf |= _prepare_executors(installation, lists)
    named = _load_properties_file(rest)
    for option, name in _OPTION_CONFS.items():
        if _find_option(rest, option) is not None:
            conf.pop(name, None)
    conf["spark.pyspark.driver.python"] = installation.python
    conf |= _own_places(installation)
    users = [
        options.get(_DRIVER_JAVA_OPTIONS, "")
        for options in (
            named,
            _pop_option(rest, _JAVA_OPTIONS_OPTION, _DRIVER_JAVA_OPTIONS),
            user_conf,
        )
    ]
    conf = {name: value for name, value in conf.items() if name not in named}
    conf |= user_conf
    java_options = _own_java_options(installation)
    conf |= _own_jars(installation, spark_words, named | conf, rest, lists)
    if installation.jars and _is_one_process(spark_words):
        java_options += _archive_options(installation)
    if is_short or is_small:
        java_options += SHORT_JAVA_OPTIONS
        usual = (named | conf).get(_DEFAULT_JAVA_OPTIONS, "")
        # Java ends where two are named.
        if not _NAMES_COLLECTOR.search(" ".join([*users, usual, java_words])):
            java_options += _SERIAL_COLLECTOR if is_short else _SMALL_COLLECTOR
    # Behind ours: of two that mean the same, Java takes the later one.
    conf[_DRIVER_JAVA_OPTIONS] = " ".join([*java_options, *filter(None, users)])
    words = [*rest]
    for option, values in lists.items():
        if values:
            words += [option, ",".join(values)]
    for name, value in conf.items():
        words += ["--conf", f"{name}={value}"]
    return words


def _load_own_files(
    installation: Installation, spark_words: Sequence[str], *, is_small: bool
) -> dict[str, str]:
    """Return what files of conf/ say; of two, the later one counts."""
    names = {"defaults": True, "local": is_local(spark_words), "small": is_small}
    conf: dict[str, str] = {}
    for name, is_taken in names.items():
        if is_taken:
            conf |= _load_conf(installation.conf / f"spark-{name}.conf")
    return conf


def _own_jars(
    installation: Installation,
    spark_words: Sequence[str],
    conf: Mapping[str, str],
    rest: list[str],
    lists: dict[str, list[str]],
) -> dict[str, str]:
    """Return settings that name our jars; else they are put first in --jars.

    Args:
        conf: What files and --conf say.
        rest: Other words of the user's, without those that now are settings.
        lists: Options that hold lists.
    """
    if not installation.jars:
        popped = _pop_option(rest, _PACKAGES_OPTION, _PACKAGES)
        users = {**conf, **popped}.get(_PACKAGES)
        return {_PACKAGES: ",".join([*installation.packages, *filter(None, [users])])}
    if not _is_one_process(spark_words):
        lists["--jars"] = [
            *(jar.as_uri() for jar in installation.jars),
            *lists["--jars"],
        ]
        return {}
    # What Java finds by itself needs no copies, and only of that it keeps classes.
    popped = _pop_option(rest, _CLASS_PATH_OPTION, _CLASS_PATH)
    users = {**conf, **popped}.get(_CLASS_PATH)
    paths = [*map(str, installation.jars), *filter(None, [users])]
    return {_CLASS_PATH: os.pathsep.join(paths)}


def _check_values(user_conf: Mapping[str, str], rest: Sequence[str]) -> None:
    given = {
        name: (option, value)
        for option, name in _OPTION_CONFS.items()
        if (value := _find_option(rest, option)) is not None
    }
    values = {name: value for name, (_, value) in given.items()}
    check_values(
        {**_load_properties_file(rest), **user_conf, **values},
        {name: option for name, (option, _) in given.items()},
    )


def _own_places(installation: Installation) -> dict[str, str]:
    """Return settings of what Spark makes by itself: where it is, and for whom."""
    os.umask(umask := os.umask(0o077))
    # Else it is made in the current folder; Hadoop takes it unescaped, and has a mask.
    return {
        "spark.sql.warehouse.dir": f"file:{installation.cache}/spark-warehouse",
        "spark.hadoop.fs.permissions.umask-mode": f"{umask:03o}",
    }


def _own_java_options(installation: Installation) -> list[str]:
    # As a URI it holds no blank, which would part it in two.
    log_levels = (installation.conf / "log4j2.properties").as_uri()
    return [f"-Dlog4j2.configurationFile={log_levels}", _STACK_OPTION]


def _archive_options(installation: Installation) -> list[str]:
    if not installation.archive:
        return []
    # Spark parts the options as a shell does.
    mapped = shlex.quote(f"-XX:SharedArchiveFile={installation.archive}")
    return [mapped, *QUIET_ARCHIVE]


def _pop_option(rest: list[str], option: str, name: str) -> dict[str, str]:
    """Take an option out of the words, as the setting that it means."""
    value = _find_option(rest, option)
    while option in rest[:-1]:
        place = rest.index(option)
        del rest[place : place + 2]
    return {} if value is None else {name: value}


def _load_properties_file(rest: Sequence[str]) -> dict[str, str]:
    path = _find_option(rest, "--properties-file")
    return {} if path is None else _load_conf(Path(path))


def find_spark_home() -> Path:
    """Return the folder of the Spark that pyspark ships."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ImportError("pyspark is not installed")
    return Path(spec.origin).parent


def is_local(spark_words: Sequence[str]) -> bool:
    """Say whether the user's options leave Spark on this machine."""
    return _find_master(spark_words).startswith("local")


def _is_one_process(spark_words: Sequence[str]) -> bool:
    """Say whether the driver's JVM is the only one."""
    return _find_master(spark_words).partition("[")[0] == "local"


def _find_master(spark_words: Sequence[str]) -> str:
    conf, _, rest = _read_spark_words(spark_words)
    named = _load_properties_file(rest).get("spark.master", "local")
    return _find_option(rest, "--master") or conf.get("spark.master", named)


def find_conf(words: Sequence[str], name: str) -> str | None:
    """Return the value of one --conf among the options that build_arguments made.

    Nulls: None where it stands in a properties file of the user's, or nowhere.
    """
    pairs = [word.partition("=") for word in words]
    return next((value for key, _, value in pairs if key == name), None)


def _prepare_executors(
    installation: Installation, lists: dict[str, list[str]]
) -> dict[str, str]:
    packed = installation.cache / "submit"
    environment = pack_environment(packed)
    code = pack_code(installation.packages_path, packed)
    # Not by --py-files: the driver too would import that copy, which has no conf/.
    lists["--archives"][:0] = [
        f"{environment}#{ENVIRONMENT_NAME}",
        f"{code}#{CODE_NAME}",
    ]
    return {
        "spark.executorEnv.PYTHONPATH": f"{CODE_NAME}:{ENVIRONMENT_NAME}",
        # Compiled kernels are kept beside the executor and end with it.
        "spark.executorEnv.NUMBA_CACHE_DIR": "numba-cache",
        WORKER_PYTHON: f"python{'.'.join(map(str, sys.version_info[:2]))}",
    }


def _read_spark_words(
    words: Sequence[str],
) -> tuple[dict[str, str], dict[str, list[str]], list[str]]:
    conf: dict[str, str] = {}
    lists: dict[str, list[str]] = {option: [] for option in _LIST_OPTIONS}
    rest: list[str] = []
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if word in {"--conf", "-c"} and remaining:
            name, _, value = remaining.pop(0).partition("=")
            conf[name] = value
        elif word in lists and remaining:
            lists[word] += remaining.pop(0).split(",")
        else:
            rest.append(word)
            if word not in _FLAGS and remaining:
                rest.append(remaining.pop(0))
    return conf, lists, rest


def _find_option(words: Sequence[str], option: str) -> str | None:
    places = [index for index, word in enumerate(words[:-1]) if word == option]
    return words[places[-1] + 1] if places else None


def _load_conf(path: Path) -> dict[str, str]:
    """Read a properties file as spark-submit does: name, blanks or =, value."""
    conf: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            name, *value = _NAME_AND_VALUE.split(text, maxsplit=1)
            conf[name] = "".join(value)
    return conf
