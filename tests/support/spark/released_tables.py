"""Tables as releases before this one have written them."""

from pathlib import Path

from pipelines.settings import CONF_PATH
from tests.support.archives import unpack_tar

GOLDEN = CONF_PATH.parent / "tests/golden/tables_0.1.0"


def unpack_tables(folder):
    """Put the tables of the first release below `folder`/tables."""
    unpack_tar(GOLDEN / "tables.tar.gz", folder)
    return Path(folder, "tables")
