"""What the words of spark-submit say: options, settings, master and deploy mode."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

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
_LIST_OPTIONS = ("--jars", "--py-files", "--archives", "--files")
CLUSTER_MODE = "cluster"
"""The deploy mode whose driver runs on a machine of the cluster's."""
DRIVER_VARIABLE = "spark.yarn.appMasterEnv."
"""Begins the settings that name variables of such a driver."""


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


def read_spark_words(
    words: Sequence[str],
) -> tuple[dict[str, str], dict[str, list[str]], list[str]]:
    """Return settings of --conf, options that hold lists, and all other words."""
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


def find_option(words: Sequence[str], option: str) -> str | None:
    """Return the value of an option, of several the last one's."""
    places = [index for index, word in enumerate(words[:-1]) if word == option]
    return words[places[-1] + 1] if places else None


def load_conf(path: Path) -> dict[str, str]:
    """Read a properties file as spark-submit does: name, blanks or =, value."""
    conf: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            name, *value = _NAME_AND_VALUE.split(text, maxsplit=1)
            conf[name] = "".join(value)
    return conf


def load_properties_file(rest: Sequence[str]) -> dict[str, str]:
    """Return the settings of the user's file, if one is named."""
    path = find_option(rest, "--properties-file")
    return {} if path is None else load_conf(Path(path))


def is_local(spark_words: Sequence[str]) -> bool:
    """Say whether the user's options leave Spark on this machine."""
    return find_master(spark_words).startswith("local")


def is_one_process(spark_words: Sequence[str]) -> bool:
    """Say whether the driver's JVM is the only one."""
    return find_master(spark_words).partition("[")[0] == "local"


def find_master(spark_words: Sequence[str]) -> str:
    """Return the master, which is this machine where none is named."""
    return _find_setting(spark_words, "--master", "spark.master") or "local"


def is_cluster_mode(spark_words: Sequence[str]) -> bool:
    """Say whether the driver is to run on a machine of the cluster's."""
    mode = _find_setting(spark_words, "--deploy-mode", "spark.submit.deployMode")
    return mode == CLUSTER_MODE


def names_variable(spark_words: Sequence[str], variable: str) -> bool:
    """Say whether the user's options give a driver of the cluster's a variable."""
    conf, _, rest = read_spark_words(spark_words)
    return DRIVER_VARIABLE + variable in {**load_properties_file(rest), **conf}


def _find_setting(spark_words: Sequence[str], option: str, name: str) -> str | None:
    """Return what an option says, or the setting that it means."""
    conf, _, rest = read_spark_words(spark_words)
    named = load_properties_file(rest).get(name)
    return find_option(rest, option) or conf.get(name, named)


def find_conf(words: Sequence[str], name: str) -> str | None:
    """Return the value of one --conf among the options that build_arguments made.

    Nulls: None where it stands in a properties file of the user's, or nowhere.
    """
    pairs = [word.partition("=") for word in words]
    return next((value for key, _, value in pairs if key == name), None)
