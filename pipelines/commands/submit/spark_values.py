"""Values that spark-submit refuses before Spark starts, told in a sentence instead.

It tells of them by a trace of Java, or by what Java says of its own options, and there
is no driver yet that could tell it otherwise.
"""

import re
from collections.abc import Mapping

from pipelines.errors import InvalidSetting

_COUNT = (re.compile(r"0*[1-9]\d*"), "a number from 1 on")
# Spark hands the driver's to Java as it is, which knows fewer units.
_HEAP = (re.compile(r"0*[1-9]\d*[kmgt]?", re.IGNORECASE), "a size, as 512m or 4g")
_MEMORY = (
    re.compile(r"\s*0*[1-9]\d*(b|[kmgtp]b?)?\s*", re.IGNORECASE),
    "a size, as 512m or 4g",
)
_EXPECTED = {
    "spark.master": (
        re.compile(r"yarn|(spark|k8s|local).*", re.DOTALL),
        "yarn, or what begins with spark, k8s or local",
    ),
    "spark.submit.deployMode": (re.compile("client|cluster"), "client or cluster"),
    "spark.driver.memory": _HEAP,
    "spark.driver.cores": _COUNT,
    "spark.executor.memory": _MEMORY,
    "spark.executor.cores": _COUNT,
    "spark.executor.instances": _COUNT,
    "spark.cores.max": _COUNT,
}


def check_values(conf: Mapping[str, str], options: Mapping[str, str]) -> None:
    """Refuse what Spark could not start with.

    Args:
        conf: Names of settings to their values.
        options: Settings to the options of spark-submit that have set them.
    Raises: InvalidSetting.
    """
    for name, (pattern, expected) in _EXPECTED.items():
        value = conf.get(name)
        if not value or pattern.fullmatch(value):
            continue
        given = (
            f"{options[name]} {value}" if name in options else f"--conf {name}={value}"
        )
        raise InvalidSetting(
            f"{given}: Spark expects {expected} there; nothing was started"
        )
