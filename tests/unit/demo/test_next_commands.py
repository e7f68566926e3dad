"""The lines that the demo tells to try next work where they are read."""

import shlex

import pytest

from pipelines.demo.parts import SETTINGS_FILE, write_settings
from pipelines.demo.summary import list_next
from pipelines.settings import CONF_PATH, load_settings
from pipelines.settings.watching_settings import STREAMING_JOBS

ROOT = CONF_PATH.parent


def test_in_the_checkout_they_are_short():
    assert list_next(ROOT / "data/demo-1", ROOT, ROOT)[4] == (
        "./spark-submit.sh notebook notebooks/clients_overview.py "
        "--config data/demo-1/settings.toml"
    )


def test_settings_of_a_demo_find_its_tables_and_checkpoints(tmp_path):
    tmp_path /= "demo"  # a demo has no directory before
    write_settings(tmp_path, "127.0.0.1:1", STREAMING_JOBS)
    found = load_settings("base", own_file=str(tmp_path / SETTINGS_FILE))
    assert found.kafka.bootstrap_servers == "127.0.0.1:1"
    assert found.tables.root_path == f"{tmp_path}/tables"
    for job in STREAMING_JOBS:
        location = getattr(found, job).checkpoint_location
        assert location == f"{tmp_path}/checkpoints/{job}"


@pytest.mark.parametrize("name", ["plain", "a b", "a'b"])
def test_elsewhere_they_name_the_checkout_as_a_shell_takes_it(tmp_path, name):
    root = tmp_path / name
    for line in list_next(root / "data/demo-1", root, tmp_path):
        program, *words = shlex.split(line)
        assert program == str(root / "spark-submit.sh")
        assert words[-2:] == ["--config", f"{root}/data/demo-1/settings.toml"]
    _, _, *notebook = shlex.split(list_next(root / "data/d", root, tmp_path)[4])
    assert notebook[0] == str(root / "notebooks/clients_overview.py")
