"""Where Kafka has answered a job, and said no: what its principal lacks."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from py4j.protocol import Py4JError

_NO_RIGHTS = "AuthorizationException"
"""How the names of Kafka's classes end that say so."""
_OF_GROUP = "GroupAuthorizationException"
_NO_LOGIN = re.compile(r"Authentication|Sasl|Ssl")
_GROUP = "spark-kafka-source-"
"""Beginning of the names of Spark's consumer groups."""
_MOST_CAUSES = 20


def explain_refusal(names: Sequence[str], topic: str) -> str | None:
    """Say what Kafka refuses, as what goes on behind its name.

    Args:
        names: Classes of Kafka's errors without their packages, the innermost last.
        topic: That the job reads.
    Nulls: None where none of them is a refusal.
    """
    for name in reversed(names):
        if name.endswith(_NO_RIGHTS):
            lacks = (
                f"READ on groups that begin with {_GROUP}"
                if name == _OF_GROUP
                else f"READ and DESCRIBE on topic {topic}"
            )
            return f"refuses the job ({name}): its principal needs {lacks}"
        if _NO_LOGIN.search(name):
            return (
                f"does not let the job log in ({name}): check kafka.security_protocol "
                "and the sasl_ and ssl_ keys of [kafka]"
            )
    return None


def iter_java_causes(error: BaseException) -> Iterator[Any]:
    """Yield what Java has raised, and why, of an error of Spark's or py4j's."""
    java: Any = getattr(error, "_origin", None) or getattr(
        error, "java_exception", None
    )
    try:
        for _ in range(_MOST_CAUSES):
            if java is None:
                return
            yield java
            java = java.getCause()
    except Py4JError:
        return  # the JVM is gone
