"""Every client of librdkafka that the product creates logs through one logger."""

import ast
from pathlib import Path

import pytest

PIPELINES = Path(__file__).resolve().parents[2] / "pipelines"
KINDS = {"Producer", "Consumer", "AdminClient", "kind"}
QUIET = {"make_quiet()", "_QUIET"}
"""Clients of the demo and of `status` log nothing: their commands report failures."""


def find_calls():
    """Return (place, source) of each call that creates a client."""
    for path in sorted(PIPELINES.rglob("*.py")):
        text = path.read_text()
        name = path.relative_to(PIPELINES)
        # The client library passes on the logger of its application.
        if name.parts[0] == "clients" or "confluent_kafka" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in KINDS:
                yield f"{name}:{node.lineno}", ast.unparse(node)


CALLS = dict(find_calls())


def test_clients_are_found():
    assert len(CALLS) >= 10


@pytest.mark.parametrize("place", CALLS)
def test_kafka_client_logs_through_the_shared_logger(place):
    source = CALLS[place]
    is_quiet = any(word in source for word in QUIET) or place.startswith("demo/")
    assert "logger=kafka_logger" in source or is_quiet, source
