"""Checks of the tables: great-expectations' suites, and what they say."""

import logging
import sys
from importlib.util import find_spec

# It tells of its own classes while it is imported, and some of its loggers choose their
# level; what matters it raises, or returns.
_logger = logging.getLogger("great_expectations")
_logger.addHandler(logging.NullHandler())
_logger.propagate = False
# great-expectations looks for Spark Connect, and pyspark ends a process that lacks grpc
# and whose main module has no file, as a notebook's or a test's: it takes it for a
# doctest of its own.
if find_spec("grpc") is None:
    sys.modules.setdefault("pyspark.sql.connect", None)  # type: ignore[arg-type]

HOW_TO_INSTALL = (
    "pip install 'kafka-clientele[checks]', or start them by ./spark-submit.sh, which "
    "installs it"
)


def is_installed() -> bool:
    """Say whether great-expectations is here, an extra of the package."""
    return find_spec("great_expectations") is not None
