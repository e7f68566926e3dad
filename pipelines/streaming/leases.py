"""A claim on HDFS: a file that is open for writing, which one client alone may have.

The NameNode leases the file to the JVM that opens it. That one renews the lease while
it lives and gives it back when it ends in order; of one that was killed it is free
after a minute (Hadoop's soft limit). Whoever stood still for longer has lost it to the
next that asked, and looks before each micro-batch whether it has. The file stays empty
and says in an attribute who holds it, so no DataNode takes part.
"""

import json
import logging
import time
import uuid
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.delta_tables.locations import open_path
from pipelines.errors import TablesInUse

SCHEMES = frozenset({"hdfs"})
"""File systems with such leases."""
WAIT_S = 75
"""For a lease whose holder was killed, with a quarter of a minute to look again."""
_POLL_S = 5
_ATTRIBUTE = "user.kafka_clientele_holder"
_RUN = "run"
"""Key of what tells one holder from all others."""
_HELD = {"AlreadyBeingCreatedException", "RecoveryInProgressException"}
_OWN = "already the current lease holder"
_logger = logging.getLogger(__name__)


class Lease:
    """The lease of one file, until it is given back or lost."""

    def __init__(
        self, spark: SparkSession, location: str, told: Mapping[str, Any]
    ) -> None:
        """Hold nothing yet.

        Args:
            location: Of the file, with its file system.
            told: What others are told of the holder.
        """
        self._file_system, self._path = open_path(spark, location)
        self._location = location
        self._told = {**told, _RUN: uuid.uuid4().hex}
        self._stream: Any = None

    def take(self) -> bool:
        """Take it, after a while where its holder may have been killed.

        Returns: Whether it is held now.
        """
        deadline = time.monotonic() + WAIT_S
        while (refused := self._try_open()) is not None:
            left_s = deadline - time.monotonic()
            # This JVM holds it already, for another session.
            if left_s <= 0 or _OWN in refused:
                return False
            if left_s > WAIT_S - _POLL_S:
                _logger.info(
                    "%s is held by another run: waits up to %d s, which HDFS keeps it "
                    "for one that was killed",
                    self._location,
                    WAIT_S,
                )
            time.sleep(min(_POLL_S, left_s))
        written = bytearray(json.dumps(self._told).encode("utf-8"))
        self._file_system.setXAttr(self._path, _ATTRIBUTE, written)
        return True

    def release(self) -> None:
        """Let others in; the end of the process does it, too."""
        self._stream.close()

    def read_holder(self) -> dict[str, Any]:
        """Return what the holder has told; empty where there is nothing yet."""
        try:
            written = bytes(self._file_system.getXAttr(self._path, _ATTRIBUTE))
        except Py4JJavaError:
            return {}
        told: dict[str, Any] = json.loads(written)
        return told

    def check(self) -> None:
        """Refuse to go on where another run has taken it meanwhile.

        Raises: TablesInUse.
        """
        holder = self.read_holder()
        if holder.get(_RUN) != self._told[_RUN]:
            raise TablesInUse(
                f"{self._location} was taken by {holder.get('job', 'another run')} on "
                f"{holder.get('host', 'a machine')} while this run stood still for "
                f"more than a minute; it ends, and nothing of this micro-batch was "
                f"written"
            )

    def _try_open(self) -> str | None:
        """Open the file; return why it cannot be had, where another run has it."""
        try:
            self._file_system.createNewFile(self._path)
            self._stream = self._file_system.append(self._path)
        except Py4JJavaError as error:
            if _name(error) not in _HELD:
                raise
            return str(error.java_exception.getMessage())
        return None


def _name(error: Py4JJavaError) -> str:
    """Return the simple name of what Java has raised, here or on the NameNode."""
    raised = error.java_exception
    name = str(raised.getClass().getName())
    if name.endswith("RemoteException"):
        name = str(raised.getClassName())
    return name.rpartition(".")[2]
