"""Empty tables for a test: made once by the product, then copied.

To create and check a table takes Spark a second, and a job has nine of them.
`test_table_setup.py` shows what making them does.
"""

import atexit
import dataclasses
import functools
import shutil
import tempfile
from pathlib import Path

from pipelines.delta_tables.setup import ensure_tables


def make_tables(spark, tables, contracts):
    """Leave the tables below their root path, as ensure_tables would.

    Args:
        spark: A session; what is there already is left as it is.
        tables: Settings with a root path.
        contracts: Of the tables.
    """
    patterns = _patterns_path()
    missing = [one for one in contracts if not (patterns / one.name).exists()]
    ensure_tables(spark, dataclasses.replace(tables, root_path=str(patterns)), missing)
    for contract in contracts:
        path = Path(tables.root_path) / contract.name
        if not path.exists():
            shutil.copytree(patterns / contract.name, path)


@functools.cache
def _patterns_path():
    """Return the folder of this process's originals."""
    folder = tempfile.mkdtemp(prefix="empty-tables-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
