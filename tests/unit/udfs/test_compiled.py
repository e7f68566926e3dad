"""Compiled functions work wherever the code lies and whatever can be written."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from udfs.compiled import private_folder

ROOT = Path(__file__).parents[3]
KERNEL = """
from udfs.compiled import compiled

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
    for name in ("__init__.py", "compiled.py"):
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


@pytest.fixture(params=["code", "zipped"])
def read_only(request):
    """Code beside which nothing can be written, as a folder and as a zip."""
    path = request.getfixturevalue(request.param)
    # A file where folders would be made: that refuses even the superuser.
    if path.is_dir():
        (path / "__pycache__").write_text("", encoding="utf-8")
    return path


def test_code_in_a_read_only_place_is_compiled_once_for_all_its_places(
    read_only, tmp_path
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {"HOME": "/dev/null", "TMPDIR": str(temporary)}
    folder, hits = run_kernel(read_only, **environment)
    assert (Path(folder).is_relative_to(temporary), hits) == (True, 0)
    assert run_kernel(read_only, **environment) == (folder, 1)
    moved = read_only.rename(read_only.with_stem("elsewhere"))
    assert run_kernel(moved, **environment) == (folder, 1)
    assert {path.stat().st_mode & 0o077 for path in temporary.iterdir()} == {0}


def test_changed_code_in_a_read_only_place_is_compiled_anew(code, tmp_path):
    (code / "__pycache__").write_text("", encoding="utf-8")
    environment = {"HOME": "/dev/null", "TMPDIR": str(tmp_path)}
    folder, _ = run_kernel(code, **environment)
    changed = KERNEL.replace("number + number", "2 * number")
    (code / "kernel.py").write_text(changed, encoding="utf-8")
    changed_folder, hits = run_kernel(code, **environment)
    assert (changed_folder != folder, hits) == (True, 0)


def test_code_without_a_place_for_a_cache_is_compiled_all_the_same(read_only, tmp_path):
    # What anybody can write into is not read from.
    folder = private_folder(tmp_path)
    folder.chmod(0o777)
    environment = {"HOME": "/dev/null", "TMPDIR": str(tmp_path)}
    assert run_kernel(read_only, **environment) == ("None", 0)


def test_a_folder_that_is_not_private_is_not_used(tmp_path):
    folder = private_folder(tmp_path)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_folder(tmp_path) == folder
    folder.chmod(0o750)
    assert private_folder(tmp_path) is None
    folder.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    assert private_folder(tmp_path) is None
    assert private_folder(tmp_path / "missing") is None


def test_the_cache_folder_of_the_environment_is_used(code, tmp_path):
    chosen = tmp_path / "chosen"
    folder, _ = run_kernel(code, HOME="/dev/null", NUMBA_CACHE_DIR=str(chosen))
    assert Path(folder).is_relative_to(chosen)


FIRST_CALL = """
import sys
import pyarrow as pa
from udfs.otlp.metrics import decode_pushes
from udfs.otlp.walk import walk_pushes

bodies, codec_ids = pa.array([b""], pa.binary()), pa.array([0], pa.int32())
decode_pushes(bodies, codec_ids, max_decompressed_bytes=1)
print(sum(walk_pushes.stats.cache_hits.values()))
"""


def test_a_second_process_does_not_compile_the_kernel(tmp_path):
    command = [sys.executable, "-c", FIRST_CALL]
    environment = {
        "PYTHONPATH": str(ROOT),
        "PATH": "/usr/bin:/bin",
        "NUMBA_CACHE_DIR": str(tmp_path),
    }
    hits = [
        subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert hits == ["0", "1"]
