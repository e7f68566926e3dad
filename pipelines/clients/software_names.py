"""Which software a client says it is, in the words that its handle will use.

Source: librdkafka 2.16, src/rdkafka_conf.c, rd_kafka_sw_str_sanitize_inplace.
"""

import re
from collections.abc import Mapping
from typing import Any

import confluent_kafka

SOFTWARE_NAME, SOFTWARE_VERSION = "client.software.name", "client.software.version"
DEFAULT_SOFTWARE_NAME = "confluent-kafka-python"
"""What confluent-kafka sets; whatever an application calls itself, its configs are
librdkafka's, and sensitive keys are judged by this name."""
_LIBRDKAFKA = "librdkafka"
_NOT_TAKEN = re.compile(r"[^A-Za-z0-9.-]")
_NO_ENDS = re.compile(r"^[^A-Za-z0-9]+|[^A-Za-z0-9]+$")


def name_software(given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and the version that a handle of this configuration tells.

    Nulls: None and an empty text are librdkafka's own name and version, a missing one
        is that of confluent-kafka.
    """
    version = f"{confluent_kafka.version()}-rdkafka-{confluent_kafka.libversion()[0]}"
    return (
        _find(given, SOFTWARE_NAME, DEFAULT_SOFTWARE_NAME) or _LIBRDKAFKA,
        _find(given, SOFTWARE_VERSION, version) or confluent_kafka.libversion()[0],
    )


def sanitise(text: str) -> str:
    """Return a name or version as brokers take it; librdkafka does so byte by byte."""
    per_byte = text.encode().decode("latin-1")
    return _NOT_TAKEN.sub("-", _NO_ENDS.sub("", per_byte))


def _find(given: Mapping[str, Any], name: str, default: str) -> str:
    value = given.get(name, default)
    return "" if value is None else sanitise(str(value))
