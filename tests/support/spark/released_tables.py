"""Tables as releases before this one have written them."""

import tarfile
from pathlib import Path

from pipelines.settings import CONF_PATH

GOLDEN = CONF_PATH.parent / "tests/golden/tables_0.1.0"


def unpack_tables(folder):
    """Put the tables of the first release below `folder`/tables."""
    with tarfile.open(GOLDEN / "tables.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return Path(folder, "tables")
