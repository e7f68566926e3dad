"""Builds the wheel of this folder: the package `kafka_clientele`.

Strategy: a wheel is a zip. The folder's modules go in under the package's name, with
what the links of this folder point to (rules, their meaning, catalogs) as files. So the
one home of each stays where it is, no tool maps or copies, and the wheel can be built
where no package index is. Modules of this folder import each other relatively only.
Source: PEP 517, PEP 427, PEP 621.
"""

import base64
import csv
import hashlib
import io
import re
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

PACKAGE = "kafka_clientele"
_HERE = Path(__file__).resolve().parent
_LEFT_OUT = {"wheel_backend.py"}
_FILES = ("kafka_client/*.py", "sensitive_keys.toml", "config_catalog/*.csv")
_VERSION = re.compile(r'^__version__ = "(?P<version>[^"]+)"$', re.MULTILINE)
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The same sources give the same bytes."""
_WHEEL = "Wheel-Version: 1.0\nGenerator: kafka-clientele\nRoot-Is-Purelib: true\n"


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, str] | None = None,  # noqa: ARG001 - PEP 517's
    metadata_directory: str | None = None,  # noqa: ARG001 - PEP 517's
) -> str:
    """Write the wheel into a folder; return its file name."""
    project = tomllib.loads((_HERE / "pyproject.toml").read_text(encoding="utf-8"))
    name, version = project["project"]["name"].replace("-", "_"), _read_version()
    info = f"{name}-{version}.dist-info"
    files = _collect_package()
    files[f"{info}/METADATA"] = _metadata(project["project"], version)
    files[f"{info}/WHEEL"] = f"{_WHEEL}Tag: py3-none-any\n".encode()
    files[f"{info}/licenses/LICENSE"] = (_HERE.parents[1] / "LICENSE").read_bytes()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    file_name = f"{name}-{version}-py3-none-any.whl"
    path = Path(wheel_directory) / file_name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, content in files.items():
            member = zipfile.ZipInfo(place, _EPOCH)
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return file_name


def _collect_package() -> dict[str, bytes]:
    paths = [path for path in sorted(_HERE.glob("*.py")) if path.name not in _LEFT_OUT]
    paths += [path for pattern in _FILES for path in sorted(_HERE.glob(pattern))]
    files = {
        f"{PACKAGE}/{path.relative_to(_HERE).as_posix()}": path.read_bytes()
        for path in paths
    }
    return files | {f"{PACKAGE}/py.typed": b""}


def _read_version() -> str:
    text = (_HERE.parent / "__init__.py").read_text(encoding="utf-8")
    found = _VERSION.search(text)
    if found is None:
        raise ValueError("pipelines/__init__.py has no __version__")
    return found["version"]


def _metadata(project: Mapping[str, object], version: str) -> bytes:
    dependencies = project["dependencies"]
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
    ]
    if isinstance(dependencies, list):
        lines += [f"Requires-Dist: {one}" for one in dependencies]
    return ("\n".join([*lines, "License-File: LICENSE"]) + "\n").encode()


def _record(files: Mapping[str, bytes], own_place: str) -> bytes:
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    for place, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        writer.writerow([place, f"sha256={digest.decode().rstrip('=')}", len(content)])
    writer.writerow([own_place, "", ""])
    return table.getvalue().encode()
