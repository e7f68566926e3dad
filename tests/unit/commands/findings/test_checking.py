"""Warnings of `findings check` about input that no rule can evaluate."""

import pytest

from pipelines.commands.findings.checking import find_doubts
from pipelines.settings import load_settings


@pytest.mark.parametrize(
    ("properties", "software", "said"),
    [
        ({"linger.ms": "oops"}, "apache-kafka-java", ["--properties: linger.ms: value is not of type LONG"]),
        ({"linger.ms": "5", "acks": "all"}, "apache-kafka-java=4.3.1", []),
        ({"linger.ms": "2.5"}, "librdkafka", []),
        ({"my.own": "x"}, "librdkafka", []),
        ({}, "apache-kafka-java=99.9", ["--software: unknown release 99.9 of apache-kafka-java"]),
        ({}, "frog", ["--software: unknown client software frog"]),
    ],
)  # fmt: skip
def test_check_warns_about_invalid_values_and_unknown_software(
    properties, software, said
):
    found = list(find_doubts(load_settings("base"), properties, software))
    assert len(found) == len(said)
    for one, start in zip(found, said, strict=True):
        assert one.startswith(start)
    assert "oops" not in "".join(found)
