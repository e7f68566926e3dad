"""What other machines need: the code as a zip, packages as an archive.

Both are made once and named by what is in them, so that a second submit uploads the
same files and two submits at once do not disturb each other.
"""

import hashlib
import importlib.metadata
import os
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

CODE_ROOMS = ("pipelines", "udfs")
CONF_IN_PACKAGE = "pipelines/conf"
"""Where conf/ is without a checkout; see settings.places."""
EXECUTOR_PACKAGES = (
    "google-re2",
    "llvmlite",
    "lz4",
    "numba",
    "numpy",
    "opentelemetry-proto",
    "pandas",
    "protobuf",
    "pyarrow",
    "python-dateutil",
    "pytz",
    "typing_extensions",
    "tzdata",
    "zstandard",
)
"""What `udfs/` imports on an executor, with what those packages import."""
DRIVER_PACKAGES = (
    *EXECUTOR_PACKAGES,
    "arro3-core",
    "delta-spark",
    "deltalake",
    "deprecated",
    "prometheus-client",
    "wrapt",
)
"""What a job imports on its driver; pyspark and py4j come with Spark."""
CHECKING_COMMANDS = ("check_tables", "maintain_tables")
_CHECKS = "checks-requirements.txt"
"""Packages of CHECKING_COMMANDS, which are installed where checks run,"""
_CHECKS_SHARED = ("packaging",)
"""and what they import of those that are everywhere."""
_LEFT_OUT = ("/tests/", "/include/", "/__pycache__/", "../")
# Level 1: the archive is made in seconds, and the network is rarely the slow part.
_GZIP_LEVEL = 1


def list_driver_packages(command: str, conf: Path) -> tuple[str, ...]:
    """Return what a command imports on its driver, as far as it is installed here.

    Args:
        command: Its name.
        conf: Folder of the list of what checks need.
    """
    if command not in CHECKING_COMMANDS:
        return DRIVER_PACKAGES
    pins = (conf / _CHECKS).read_text(encoding="utf-8").splitlines()
    named = [pin.partition("==")[0] for pin in pins if pin and not pin.startswith("#")]
    installed = [name for name in named if _is_installed(name)]
    return (*DRIVER_PACKAGES, *installed, *_CHECKS_SHARED)


def _is_installed(package: str) -> bool:
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def pack_code(root: Path, cache: Path, conf: Path | None = None) -> Path:
    """Zip the rooms that executors import; return the zip's path.

    Args:
        root: Folder of the rooms.
        cache: Folder of the zip.
        conf: Files for a driver as well, where an installation has them.
    """
    paths = sorted(path for room in CODE_ROOMS for path in (root / room).rglob("*.py"))
    names = [str(path.relative_to(root)) for path in paths]
    if conf is not None:
        files = sorted(path for path in conf.rglob("*") if path.is_file())
        paths += files
        names += [f"{CONF_IN_PACKAGE}/{path.relative_to(conf)}" for path in files]
    digest = hashlib.sha256()
    for name, path in zip(names, paths, strict=True):
        digest.update(name.encode())
        digest.update(path.read_bytes())
    target = cache / f"code-{digest.hexdigest()[:16]}.zip"

    def write(temporary: Path) -> None:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in zip(names, paths, strict=True):
                archive.write(path, name)

    return _make_once(target, write)


def pack_environment(cache: Path, packages: Sequence[str] = EXECUTOR_PACKAGES) -> Path:
    """Pack some packages; return the archive's path.

    The archive holds no interpreter: executors bring a Python of the same minor
    version, and find these packages on its PYTHONPATH.
    """
    distributions = [importlib.metadata.distribution(p) for p in packages]
    pins = ",".join(f"{one.name}=={one.version}" for one in distributions)
    platform = f"{sys.implementation.cache_tag}-{sys.platform}-{os.uname().machine}"
    digest = hashlib.sha256(f"{platform},{pins}".encode()).hexdigest()[:16]
    target = cache / f"environment-{digest}.tar.gz"

    def write(temporary: Path) -> None:
        with tarfile.open(temporary, "w:gz", compresslevel=_GZIP_LEVEL) as archive:
            for distribution in distributions:
                for name, path in _list_files(distribution):
                    archive.add(path, name, recursive=False)

    return _make_once(target, write)


def _list_files(
    distribution: importlib.metadata.Distribution,
) -> Iterator[tuple[str, Path]]:
    for file in distribution.files or ():
        name = str(file)
        if not any(part in f"/{name}" for part in _LEFT_OUT):
            yield name, Path(str(distribution.locate_file(file)))


def _make_once(target: Path, write: Callable[[Path], None]) -> Path:
    """Write beside the target and rename, so that nobody sees half a file."""
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target
