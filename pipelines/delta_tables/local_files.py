"""Files of tables, written where they are made: by the Python workers themselves.

Where the folder of a table is on a disk of this machine, the bytes of a file need not
go through the JVM and the driver. Python workers import this file; it needs the
standard library and our errors only.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Protocol

from pipelines.delta_tables.damaged_logs import LOG_FOLDER, gone_table


class DatedFile(Protocol):
    """What is needed of a `udfs.files.table_files.TableFile`."""

    @property
    def table(self) -> str:
        """Name of the contract."""

    @property
    def event_date(self) -> date:
        """Its partition."""

    @property
    def content(self) -> bytes:
        """Parquet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFolders:
    """Stores files below the folders of their tables."""

    folders: Mapping[str, str]
    """Contract name to absolute path."""
    partition_by: str
    """The column of the dates, of every table."""

    def __call__(self, file: DatedFile) -> str:
        """Write a file that no table names yet; return its path below the folder.

        Raises: MissingTable where the folder is no table any more.
        """
        relative = name_file({self.partition_by: file.event_date})
        folder = Path(self.folders[file.table])
        path = folder / relative
        # Its parents are the table's own: where they are gone, so is the table.
        if not (folder / LOG_FOLDER).is_dir():
            raise gone_table(file.table, str(folder))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(file.content)
        return relative


def name_file(partition: Mapping[str, date]) -> str:
    """Return a new path relative to a table's directory.

    Args:
        partition: Partition column to date.
    """
    folders = [f"{name}={value.isoformat()}/" for name, value in partition.items()]
    return f"{''.join(folders)}part-{uuid.uuid4()}.zstd.parquet"
