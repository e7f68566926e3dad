"""The lines that the demo tells to try next work where they are read."""

import shlex

import pytest

from pipelines.demo.summary import list_next
from pipelines.settings import CONF_PATH

ROOT = CONF_PATH.parent


def test_in_the_checkout_they_are_short():
    assert list_next(ROOT / "data/demo-1", ROOT, ROOT)[4] == (
        "./spark-submit.sh notebook notebooks/clients_overview.py "
        "--set tables.root_path=data/demo-1/tables"
    )


@pytest.mark.parametrize("name", ["plain", "a b", "a'b"])
def test_elsewhere_they_name_the_checkout_as_a_shell_takes_it(tmp_path, name):
    root = tmp_path / name
    for line in list_next(root / "data/demo-1", root, tmp_path):
        program, *words = shlex.split(line)
        assert program == str(root / "spark-submit.sh")
        assert words[-2:] == ["--set", f"tables.root_path={root}/data/demo-1/tables"]
    _, _, *notebook = shlex.split(list_next(root / "data/d", root, tmp_path)[4])
    assert notebook[0] == str(root / "notebooks/clients_overview.py")
