"""Relative paths of conf/ start from the checkout, others where they are said.

So what a command reads and writes does not depend on where it is called from: paths
of a file start from its folder, those of the command line from the current one.
"""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .secret_references import SecretReference

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SECTION_END = re.compile(r"[.\[]")
_FILE = "file:"


def is_path(name: str) -> bool:
    """Say by the name of a key whether its value is a path."""
    return name == "root_path" or name.endswith("_location")


def resolve_paths(
    record: Any,
    prefix: str,
    origins: Mapping[str, str],
    starts: Mapping[str, Path],
    *,
    root: Path,
) -> Any:
    """Return a record of settings whose paths are absolute, or have a scheme.

    Args:
        record: Of settings, with records and lists of records in it.
        prefix: Of the names of its keys in origins.
        origins: Name of a key to where it was read from.
        starts: Folder of what was read from there.
        root: The checkout; files of conf/ mean it.
    """
    changes: dict[str, Any] = {}
    for one in dataclasses.fields(record):
        path, value = f"{prefix}{one.name}", getattr(record, one.name)
        # Of a list of tables the origin is that of the list.
        origin = origins.get(path) or origins.get(_SECTION_END.split(path)[0], "")
        start = starts.get(origin, root)
        if isinstance(value, SecretReference):
            changes[one.name] = _resolve_reference(value, start)
        elif dataclasses.is_dataclass(value):
            changes[one.name] = resolve_paths(
                value, f"{path}.", origins, starts, root=root
            )
        elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
            changes[one.name] = tuple(
                resolve_paths(item, f"{path}.", origins, starts, root=root)
                for item in value
            )
        elif is_path(one.name) and value:
            changes[one.name] = _resolve(value, start)
    return dataclasses.replace(record, **changes)


def _resolve(path: str, start: Path) -> str:
    return path if _SCHEME.match(path) else str(start / path)


def _resolve_reference(reference: SecretReference, start: Path) -> SecretReference:
    if not reference.text.startswith(_FILE):
        return reference
    return SecretReference(f"{_FILE}{start / reference.text.removeprefix(_FILE)}")
