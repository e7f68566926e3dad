"""Empty tables for a test: made once by the product, then copied.

To create and check a table takes Spark a second, and a job has nine of them.
`test_table_setup.py` shows what making them does.
"""

import atexit
import dataclasses
import fcntl
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from pipelines.delta_tables.setup import ensure_tables

_patterns = []
"""Where the originals are, once they are asked for."""


def make_tables(spark, tables, contracts):
    """Leave the tables below their root path, as ensure_tables would.

    Args:
        spark: A session; what is there already is left as it is.
        tables: Settings with a root path.
        contracts: Of the tables.
    """
    with made_once("tables") as patterns:
        missing = [one for one in contracts if not (patterns / one.name).exists()]
        if missing:
            # Moved when they are whole: who makes them may be ended.
            with tempfile.TemporaryDirectory(dir=patterns) as folder:
                made = dataclasses.replace(tables, root_path=folder)
                ensure_tables(spark, made, missing)
                for contract in missing:
                    (Path(folder) / contract.name).rename(patterns / contract.name)
    for contract in contracts:
        path = Path(tables.root_path) / contract.name
        if not path.exists():
            shutil.copytree(patterns / contract.name, path)


@contextmanager
def made_once(name):
    """Let processes of one run make something one after another.

    Yields: The folder of originals, which all of them have.
    """
    patterns = _patterns_path()
    with (patterns / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield patterns


def share_patterns(folder):
    """Keep the originals in a folder that other processes of the run have as well."""
    _patterns.append(Path(folder))


def _patterns_path():
    """Return the folder of the originals."""
    if not _patterns:
        folder = tempfile.mkdtemp(prefix="empty-tables-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _patterns.append(Path(folder))
    return _patterns[0]
