"""Classes of the JVM, each looked up once, by its whole name.

py4j asks the JVM for each part of `jvm.org.apache.hadoop.fs.Path` whether it is a
class, and for those that are packages Java then opens every jar of its path: a tenth of
what small micro-batches took.
"""

from functools import cache
from typing import Any


@cache
def find_class(jvm: Any, name: str) -> Any:  # noqa: ANN401 - py4j has no types
    """Return a class.

    Args:
        jvm: As py4j has it.
        name: With its package; inner classes and objects of Scala as Java names them.
    """
    return getattr(jvm, name)


def keep_helpers(jvm: Any) -> None:  # noqa: ANN401 - py4j has no types
    """Look up once what pyspark asks for with each column and each plan.

    It names these without their package, so that Java looks for them in several.
    """
    for name in ("PythonSQLUtils", "PythonUtils"):
        setattr(jvm, name, getattr(jvm, name))
