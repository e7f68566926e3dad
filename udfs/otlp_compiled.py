"""How a kernel function becomes machine code, and where that code is kept.

numba keeps compiled functions beside the source, or in `NUMBA_CACHE_DIR`, or in the
user's cache folder; that also works for a module inside a zip. Where none of these can
be written (a read-only image without a home), the function is compiled in each process
instead of failing.

numba asks only whether the file of the outermost function has changed. Everything that
is compiled together therefore stands in one file, with its constants.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., object])


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


def compiled(function: Kernel) -> Kernel:
    """Compile a function when it is first called; it does not hold the GIL.

    Args:
        function: Uses numbers and numpy arrays only.
    Returns: The same function as machine code; kept on disk where that is possible.
    Raises: Nothing for a cache that cannot be written.
    """
    try:
        kept = _njit(
            function, nogil=True, no_cfunc_wrapper=True, cache=True, _nrt=False
        )
        folder = Path(cast("Any", kept).stats.cache_path)
        folder.mkdir(parents=True, exist_ok=True)
        # For a module inside a zip, numba does not try this before it writes.
        tempfile.TemporaryFile(dir=folder).close()
    except (RuntimeError, OSError):
        return _njit(function, nogil=True, no_cfunc_wrapper=True)
    return kept
