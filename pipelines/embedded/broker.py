"""One broker of the cluster: its folder, its ports, its process."""

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path

from .broker_process import BrokerProcess
from .cache import ArchiveRecording
from .installation import Installation
from .java_commands import broker_command
from .log_lines import log4j_text
from .ports import LOOPBACK
from .private_files import write_private
from .probe import is_serving, list_brokers
from .server_properties import (
    BrokerPorts,
    Keystore,
    server_properties,
    to_properties_text,
)

# A JVM that writes its class archive takes that much longer to end, once.
_RECORDING_TIMEOUT_S = 60.0


class Broker:
    """A broker that can be started more than once in the same folder."""

    def __init__(self, installation: Installation, path: Path, log_path: Path) -> None:
        """Name the places; nothing runs yet."""
        self._installation = installation
        self._path = path
        self._log_path = log_path
        self._process: BrokerProcess | None = None
        self._recording: ArchiveRecording | None = None
        self._is_ended = True
        self.ports = BrokerPorts(broker_id=0, client=0, controller=0, internal=0)
        """Where it listens, once configured."""

    def configure(
        self,
        ports: BrokerPorts,
        cluster: Sequence[BrokerPorts],
        keystore: Keystore | None,
        extra: Mapping[str, str],
    ) -> None:
        """Write its configuration; takes effect at the next start."""
        self.ports = ports
        properties = {**server_properties(ports, cluster, keystore), **extra}
        self._path.mkdir(exist_ok=True)
        self._temporary_path.mkdir(exist_ok=True)
        write_private(self._properties_path, to_properties_text(properties))
        write_private(self._log4j_path, log4j_text(ports.broker_id))

    @property
    def _properties_path(self) -> Path:
        return self._path / "server.properties"

    @property
    def _log4j_path(self) -> Path:
        return self._path / "log4j2.properties"

    @property
    def _temporary_path(self) -> Path:
        return self._path / "tmp"

    def start(self, *, remove_path: Path | None) -> None:
        """Start the process; it is not ready when this returns.

        Args:
            remove_path: Folder to remove when the owner dies without stopping it.
        """
        cache = self._installation.cache
        is_first = self.ports.broker_id == 1
        self._recording = cache.start_recording() if is_first else None
        archive = (
            self._recording.arguments()
            if self._recording
            else cache.archive_arguments()
        )
        command = broker_command(
            self._installation.java,
            self._installation.jars,
            archive,
            log4j_path=self._log4j_path,
            temporary_path=self._temporary_path,
            properties_path=self._properties_path,
        )
        self._process = BrokerProcess(
            command,
            working_path=self._path,
            log_path=self._log_path,
            remove_path=remove_path,
        )
        self._is_ended = False

    @property
    def pid(self) -> int | None:
        """Process id of the JVM; None while it does not run."""
        return self._process.pid if self._process and self.is_running() else None

    @property
    def exit_code(self) -> int | None:
        """Exit code of the last process, 128 + signal; None while it runs."""
        return self._process.exit_code if self._process else None

    def is_running(self) -> bool:
        """Return whether the process lives."""
        return self._process is not None and self._process.is_running()

    def has_failed(self) -> bool:
        """Return whether it ended although nobody ended it."""
        return not self._is_ended and not self.is_running()

    def is_ready(self, broker_ids: frozenset[int], tls: ssl.SSLContext | None) -> bool:
        """Return whether it serves clients and knows all these brokers."""
        return is_serving(LOOPBACK, self.ports.client, tls) and (
            broker_ids <= list_brokers(LOOPBACK, self.ports.internal)
        )

    def terminate(self) -> None:
        """Ask it to end; returns at once."""
        self._is_ended = True
        if self._process:
            self._process.terminate()

    def wait(self, timeout_s: float) -> None:
        """Wait for the end that terminate() asked for; past the timeout, kill."""
        if self._process:
            limit_s = _RECORDING_TIMEOUT_S if self._recording else timeout_s
            self._finish(self._process.wait(limit_s))

    def kill(self) -> None:
        """End it at once, by SIGKILL."""
        self._is_ended = True
        if self._process:
            self._process.kill()
            self._finish(self._process.wait(0))

    def _finish(self, exit_code: int) -> None:
        recording, self._recording = self._recording, None
        if recording:
            recording.finish(exit_code)
