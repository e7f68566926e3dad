"""Turn a command into spark-submit arguments; options of the user's own win."""

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipelines.commands.trace_files import DETAILS_VARIABLE

from .packing import CONF_IN_PACKAGE, DRIVER_PACKAGES, pack_code, pack_environment
from .spark_values import check_values
from .spark_words import (
    DRIVER_VARIABLE,
    find_option,
    is_cluster_mode,
    is_local,
    is_one_process,
    load_conf,
    load_properties_file,
    read_spark_words,
)

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
# One that lasts and takes no more memory than what it keeps. Java begins with a 64th of
# the machine's, of which it gives nothing back.
_SMALL_COLLECTOR = (
    *("-XX:+UseSerialGC", "-Xms64m", "-XX:MaxNewSize=64m"),
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
_LOG4J = "log4j2.properties"
# YARN puts the folder of a container's logs there, which `yarn logs` shows.
_CONTAINER_DETAILS = "<LOG_DIR>/details"


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
        of_setup = sorted((self.cache / "jars" / "spark").glob("*.jar"))
        return of_setup or sorted(self.fetched_jars.glob("*.jar"))

    @property
    def fetched_jars(self) -> Path:
        """Return the directory of the jars that Spark has fetched for this release."""
        digest = hashlib.sha256(",".join(self.packages).encode()).hexdigest()
        return self.cache / "jars" / f"fetched-{digest[:16]}"

    def keep_fetched_jars(self, packages: str, jars: Iterable[Path]) -> None:
        """Keep the jars that Spark has fetched, so that it resolves them only once.

        Args:
            packages: Coordinates that were resolved; others than ours are not kept.
            jars: Files that Ivy has stored, and jars of the user, which are not kept.
        """
        files = [*jars]
        # Ivy stores all jars in one directory, and names each by its coordinates.
        group, name, version = self.packages[0].split(":")
        first = f"{group}_{name}-{version}.jar"
        ivy = [one.parent for one in files if one.name == first]
        files = [one for one in files if one.parent in ivy]
        if (
            packages != ",".join(self.packages)
            or self.jars
            or not files
            or not all(one.is_file() for one in files)
        ):
            return
        unfinished = self.fetched_jars.with_name(
            f"{self.fetched_jars.name}.{os.getpid()}"
        )
        unfinished.mkdir(parents=True)
        for one in files:
            shutil.copy(one, unfinished / one.name)
        try:
            unfinished.rename(self.fetched_jars)
        except OSError:  # another process was first
            shutil.rmtree(unfinished)

    @property
    def packages(self) -> list[str]:
        """Return the coordinates of those jars, for Spark to fetch where none are."""
        text = (self.conf / "ivy.xml").read_text(encoding="utf-8")
        return [":".join(found) for found in _OWN_JARS.findall(text)]


def build_arguments(
    installation: Installation,
    spark_words: Sequence[str],
    *,
    is_short: bool = False,
    is_small: bool = False,
    java_words: str = "",
    driver_packages: Sequence[str] = DRIVER_PACKAGES,
) -> list[str]:
    """Return the options that go before the program on a spark-submit line.

    Args:
        installation: Where this copy of the product stands.
        spark_words: The user's own options.
        is_short: Whether the driver lives for minutes; it then compiles in haste.
        is_small: Whether it has little to do, and is to take little; so it does, too.
        java_words: Options that Java reads from the environment.
        driver_packages: What a driver elsewhere imports.
    Raises: InvalidSetting for a value that Spark could not start with.
    """
    user_conf, lists, rest = read_spark_words(spark_words)
    _check_values(user_conf, rest)
    conf = _load_own_files(installation, spark_words, is_small=is_small)
    if is_local(spark_words):
        conf[WORKER_PYTHON] = installation.python
    else:
        conf |= _prepare_machines(installation, spark_words, lists, driver_packages)
    named = load_properties_file(rest)
    for option, name in _OPTION_CONFS.items():
        if find_option(rest, option) is not None:
            conf.pop(name, None)
    is_elsewhere = is_cluster_mode(spark_words)
    driver_python = conf[WORKER_PYTHON] if is_elsewhere else installation.python
    conf["spark.pyspark.driver.python"] = driver_python
    conf |= _own_places(installation, is_elsewhere=is_elsewhere)
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
    java_options = _own_java_options(installation, is_elsewhere=is_elsewhere)
    conf |= _own_jars(installation, spark_words, named | conf, rest, lists)
    if installation.jars and is_one_process(spark_words):
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
            conf |= load_conf(installation.conf / f"spark-{name}.conf")
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
    if not is_one_process(spark_words):
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
        if (value := find_option(rest, option)) is not None
    }
    values = {name: value for name, (_, value) in given.items()}
    check_values(
        {**load_properties_file(rest), **user_conf, **values},
        {name: option for name, (option, _) in given.items()},
    )


def _own_places(installation: Installation, *, is_elsewhere: bool) -> dict[str, str]:
    """Return settings of what Spark makes by itself: where it is, and for whom."""
    os.umask(umask := os.umask(0o077))
    # Hadoop has a mask of its own.
    places = {"spark.hadoop.fs.permissions.umask-mode": f"{umask:03o}"}
    if not is_elsewhere:
        # Else it is made in the current folder; Hadoop takes it unescaped.
        places["spark.sql.warehouse.dir"] = f"file:{installation.cache}/spark-warehouse"
    return places


def _own_java_options(installation: Installation, *, is_elsewhere: bool) -> list[str]:
    # As a URI it holds no blank, which would part it in two.
    log_levels = (
        f"{CODE_NAME}/{CONF_IN_PACKAGE}/{_LOG4J}"
        if is_elsewhere
        else (installation.conf / _LOG4J).as_uri()
    )
    return [f"-Dlog4j2.configurationFile={log_levels}", _STACK_OPTION]


def _archive_options(installation: Installation) -> list[str]:
    if not installation.archive:
        return []
    # Spark parts the options as a shell does.
    mapped = shlex.quote(f"-XX:SharedArchiveFile={installation.archive}")
    return [mapped, *QUIET_ARCHIVE]


def _pop_option(rest: list[str], option: str, name: str) -> dict[str, str]:
    """Take an option out of the words, as the setting that it means."""
    value = find_option(rest, option)
    while option in rest[:-1]:
        place = rest.index(option)
        del rest[place : place + 2]
    return {} if value is None else {name: value}


def find_spark_home() -> Path:
    """Return the folder of the Spark that pyspark ships."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ImportError("pyspark is not installed")
    return Path(spec.origin).parent


def _prepare_machines(
    installation: Installation,
    spark_words: Sequence[str],
    lists: dict[str, list[str]],
    driver_packages: Sequence[str],
) -> dict[str, str]:
    packed = installation.cache / "submit"
    if is_cluster_mode(spark_words):
        environment = pack_environment(packed, driver_packages)
        code = pack_code(installation.packages_path, packed, installation.conf)
    else:
        environment = pack_environment(packed)
        code = pack_code(installation.packages_path, packed)
    # Not by --py-files: the driver too would import that copy, which has no conf/.
    lists["--archives"][:0] = [
        f"{environment}#{ENVIRONMENT_NAME}",
        f"{code}#{CODE_NAME}",
    ]
    variables = {
        "PYTHONPATH": f"{CODE_NAME}:{ENVIRONMENT_NAME}",
        # Compiled kernels are kept beside the process and end with it.
        "NUMBA_CACHE_DIR": "numba-cache",
    }
    conf = {f"spark.executorEnv.{name}": one for name, one in variables.items()}
    if is_cluster_mode(spark_words):
        variables[DETAILS_VARIABLE] = _CONTAINER_DETAILS
        conf |= {DRIVER_VARIABLE + name: one for name, one in variables.items()}
    conf[WORKER_PYTHON] = f"python{'.'.join(map(str, sys.version_info[:2]))}"
    return conf
