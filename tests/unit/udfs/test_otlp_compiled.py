"""Compiled functions work wherever the code lies and whatever can be written."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
KERNEL = """
from udfs.otlp_compiled import compiled

@compiled
def double(number):
    return number + number

assert double(21) == 42
print(double.stats.cache_path, sum(double.stats.cache_hits.values()))
"""


def run_kernel(path, **environment):
    """Import the kernel in a new process; returns its cache folder and its hits."""
    finished = subprocess.run(
        [sys.executable, "-c", "import kernel"],
        env={"PYTHONPATH": str(path), "PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    folder, hits = finished.stdout.split()
    return folder, int(hits)


@pytest.fixture
def code(tmp_path):
    """A folder with the kernel and the module that compiles it."""
    folder = tmp_path / "code"
    (folder / "udfs").mkdir(parents=True)
    for name in ("__init__.py", "otlp_compiled.py"):
        text = (ROOT / "udfs" / name).read_text(encoding="utf-8")
        (folder / "udfs" / name).write_text(text, encoding="utf-8")
    (folder / "kernel.py").write_text(KERNEL, encoding="utf-8")
    return folder


@pytest.fixture
def zipped(code, tmp_path):
    path = tmp_path / "code.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(code.rglob("*.py")):
            archive.write(file, file.relative_to(code))
    return path


def test_code_in_a_zip_is_compiled_once_and_kept_in_the_users_cache(zipped, tmp_path):
    folder, hits = run_kernel(zipped, HOME=str(tmp_path / "home"))
    assert (Path(folder).is_relative_to(tmp_path / "home"), hits) == (True, 0)
    assert run_kernel(zipped, HOME=str(tmp_path / "home")) == (folder, 1)


@pytest.mark.parametrize("form", ["code", "zipped"])
def test_code_without_a_place_for_a_cache_is_compiled_all_the_same(form, request):
    path = request.getfixturevalue(form)
    # A file where folders would be made: that refuses even the superuser.
    if path.is_dir():
        (path / "__pycache__").write_text("", encoding="utf-8")
    assert run_kernel(path, HOME="/dev/null") == ("None", 0)


def test_the_cache_folder_of_the_environment_is_used(code, tmp_path):
    chosen = tmp_path / "chosen"
    folder, _ = run_kernel(code, HOME="/dev/null", NUMBA_CACHE_DIR=str(chosen))
    assert Path(folder).is_relative_to(chosen)
