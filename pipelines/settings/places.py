"""Where this copy of the product stands: in a checkout, or installed by pip.

An installation has conf/ within its package; what it makes and fetches belongs to its
user, for the folder of packages need not be theirs.
"""

from pathlib import Path

_ROOM = Path(__file__).resolve().parents[1]
PACKAGES_PATH = _ROOM.parent
"""Folder that holds pipelines/ and udfs/."""
IS_CHECKOUT = (PACKAGES_PATH / "conf" / "base.toml").is_file()
CONF_PATH = (PACKAGES_PATH if IS_CHECKOUT else _ROOM) / "conf"
ROOT_PATH = PACKAGES_PATH if IS_CHECKOUT else Path.cwd()
"""Where relative paths of conf/ start, and data/ is made."""
CACHE_PATH = (
    ROOT_PATH / ".cache" if IS_CHECKOUT else Path.home() / ".cache" / "kafka-clientele"
)
"""Folder of downloaded, packed and kept files."""
PROGRAM = "./spark-submit.sh" if IS_CHECKOUT else "kafka-clientele"
"""What starts commands."""
