"""Run the tests that are marked `long`: wide forms of what other tests show in small.

Usage: python tests/long/wide_tests.py [PYTEST_OPTION …]
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = "mark.long"
LANES = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")


def main() -> int:
    """Return what pytest ended with."""
    words = [sys.executable, "-m", "pytest", "-m", "long", *LANES, *sys.argv[1:]]
    return subprocess.run([*words, *find_files()], cwd=ROOT, check=False).returncode


def find_files() -> list[str]:
    """Return the files with wide tests; collecting all other files takes a minute."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(one) for one in files if MARK in one.read_text(encoding="utf-8")]


if __name__ == "__main__":
    sys.exit(main())
