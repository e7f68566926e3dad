"""A bridge as a process of its own, with a real Kafka behind it, for measurements."""

import os
import platform
import resource
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path

API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
GET = struct.pack(">ihhihx16xx", 28, 71, 0, 1, -1)
_PAGE_BYTES = resource.getpagesize()


@dataclass(frozen=True)
class RunningBridge:
    """One bridge process."""

    pid: int
    port: int
    bootstrap_servers: str
    """Of the Kafka behind it."""
    broker_pid: int
    kafka_folder: Path

    @property
    def resident_bytes(self) -> int:
        """Memory that the process holds."""
        pages = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * _PAGE_BYTES


@contextmanager
def running_bridge(*overrides: str) -> Iterator[RunningBridge]:
    """Start Kafka and a bridge with some --set texts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    home = os.environ.get("JAVA_HOME")
    with EmbeddedKafka(java=f"{home}/bin/java" if home else "java") as kafka:
        words = [f"kafka.bootstrap_servers={kafka.bootstrap_servers}"]
        words += ["bridge.listen_port=0", "limits.max_connections_per_address=0"]
        words += overrides
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pipelines", "bridge", "--env", "local"),
                *(part for word in words for part in ("--set", word)),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            if process.stdout is None:
                raise RuntimeError("the bridge has no standard output")
            line = process.stdout.readline()
            port = int(line.rpartition(":")[2])
            yield RunningBridge(
                process.pid,
                port,
                kafka.bootstrap_servers,
                broker_pid=kafka.pids[1],
                kafka_folder=kafka.folder,
            )
        finally:
            process.terminate()
            process.wait(30)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def make_push(subscription: bytes, metrics: bytes = b"m") -> bytes:
    """Return a push that fits a reply to GET."""
    instance_id, subscription_id = struct.unpack_from(">16si", subscription, 11)
    body = instance_id + struct.pack(">iBbB", subscription_id, 0, 0, len(metrics) + 1)
    request = struct.pack(">hhihx", 72, 0, 1, -1) + body + metrics + b"\0"
    return struct.pack(">i", len(request)) + request


def describe_machine() -> str:
    """Say what the figures were taken on."""
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, load {load:.1f}, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


def read_reply(connection: object) -> bytes:
    """Read one whole reply from a blocking socket."""
    size = struct.unpack(">i", _read(connection, 4))[0]
    return _read(connection, size)


def _read(connection: object, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))  # type: ignore[attr-defined]
        if not part:
            raise ConnectionError("the bridge has closed a connection")
        data += part
    return data
