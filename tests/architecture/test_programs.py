"""Programs that no test run starts still find what they are made of."""

import importlib
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PROGRAMS = sorted(
    ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
    for folder in ("bench", "fuzz", "long")
    for path in (TESTS / folder).glob("*.py")
    if not path.stem.startswith("__")
)


def test_there_are_programs():
    assert "tests.long.soak" in PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_finds_all_that_it_imports(name):
    assert importlib.import_module(name).__doc__
