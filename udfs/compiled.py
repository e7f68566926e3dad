"""How a kernel function becomes machine code, and where that code is kept.

numba keeps compiled functions beside the source, or in `NUMBA_CACHE_DIR`, or in the
user's cache folder; that also works for a module inside a zip. Where none of these can
be written (a read-only image without a home, an archive that an executor unpacks), they
are kept in a folder of the user's own among the temporary files. Where even that one
cannot be trusted, the function is compiled in each process instead of failing.

numba asks only whether the file of the outermost function has changed. Everything that
is compiled together therefore stands in one file, with its constants.
"""

import hashlib
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., object])

FOLDER_PREFIX = "kafka-clientele-numba"
ONLY_ITS_OWNER = 0o700
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_folder(parent: Path) -> Path | None:
    """Return a folder among others' files that nobody else can put code into.

    Args:
        parent: A folder that anybody may write, such as /tmp.
    Returns: A folder that this user owns and no other may enter.
    Nulls: None where it cannot be made, or exists and is not such a folder: what numba
        keeps there is run when it is read.
    """
    try:
        with tempfile.NamedTemporaryFile(dir=parent) as mine:
            owner = Path(mine.name).stat().st_uid
        folder = parent / f"{FOLDER_PREFIX}-{owner}"
        folder.mkdir(mode=ONLY_ITS_OWNER, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_private = stat.S_ISDIR(found.st_mode) and not found.st_mode & OTHERS
    return folder if is_private and found.st_uid == owner else None


class TemporaryFolderLocator:
    """Tells numba to keep a function among the temporary files.

    The folder is named after the source, not after its place: an executor unpacks the
    same code into a new place for each application.
    """

    def __init__(self, folder: Path, source: bytes, line: int) -> None:
        """Name the place of a function.

        Args:
            folder: Where compiled functions are kept.
            source: Its file.
            line: Where the function begins in it.
        """
        self._stamp = hashlib.sha256(source).hexdigest()
        self._folder = folder / self._stamp
        self._line = line

    @classmethod
    def from_function(
        cls, function: Callable[..., object], file: str
    ) -> "TemporaryFolderLocator | None":
        """Return the locator of a function, or None where there is no safe place.

        Args:
            function: Of a module with a loader that has its source.
            file: Its path, perhaps inside a zip.
        Returns: A locator, its folder made.
        """
        parent = private_folder(Path(tempfile.gettempdir()))
        loader = cast("Any", sys.modules[function.__module__]).__loader__
        if parent is None:
            return None
        line = cast("Any", function).__code__.co_firstlineno
        locator = cls(parent, loader.get_data(file), line)
        locator.ensure_cache_path()
        return locator

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        self._folder.mkdir(mode=ONLY_ITS_OWNER, exist_ok=True)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Return what changes with the source."""
        return self._stamp

    def get_disambiguator(self) -> str:
        """Return what tells functions of one name apart."""
        return str(self._line)


def _njit(function: Kernel, **options: bool) -> Kernel:
    # numba's type hints leave out the options that keep wrappers from being made.
    decorate = cast("Callable[[Kernel], Kernel]", cast("Any", numba.njit)(**options))
    return decorate(function)


def compiled_part(function: Kernel) -> Kernel:
    """Compile a function that only compiled functions call.

    Args:
        function: Uses numbers and numpy arrays only.
    Returns: The function for numba; without the wrappers that make it callable from
        Python, it compiles in a fraction of the time.
    """
    return _njit(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)


def _kept(function: Kernel) -> Kernel:
    """Compile a function that is kept on disk.

    Raises: RuntimeError, OSError: there is no place for it.
    """
    kept = _njit(function, nogil=True, no_cfunc_wrapper=True, cache=True, _nrt=False)
    folder = Path(cast("Any", kept).stats.cache_path)
    folder.mkdir(parents=True, exist_ok=True)
    # For a module inside a zip, numba does not try this before it writes.
    tempfile.TemporaryFile(dir=folder).close()
    return kept


def compiled(function: Kernel) -> Kernel:
    """Compile a function when it is first called; it does not hold the GIL.

    Args:
        function: Uses numbers and numpy arrays only.
    Returns: The same function as machine code; kept on disk where that is possible.
    Raises: Nothing for a cache that cannot be written.
    """
    config = cast("Any", numba.config)
    chosen = config.CACHE_LOCATOR_CLASSES
    try:
        return _kept(function)
    except (RuntimeError, OSError):
        place = f"{__name__}.{TemporaryFolderLocator.__name__}"
        config.CACHE_LOCATOR_CLASSES = place
        try:
            return _kept(function)
        except (RuntimeError, OSError):
            return _njit(function, nogil=True, no_cfunc_wrapper=True)
    finally:
        config.CACHE_LOCATOR_CLASSES = chosen
