"""The two protocols of receivers: what is written, and what an answer means.

Source: OpenTelemetry Protocol specification, "OTLP/HTTP Response"; Prometheus
Remote-Write 1.0 specification.
"""

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from pipelines.settings.forward_settings import (
    CUMULATIVE,
    OTLP,
    REMOTE_WRITE,
    ForwardSettings,
)

from .bodies import write_body
from .metadata import SentMetadata
from .remote_write import compress, write_series

_OK = 200
_GZIP, _FAST = 31, 1


@dataclass(frozen=True, slots=True)
class Written:
    """One push in the bytes of a protocol."""

    body: bytes
    """Bodies of several pushes, one after the other, are one request."""
    left_out: int = 0
    """Points that the protocol cannot represent."""


class Target(Protocol):
    """Protocol of one receiver."""

    headers: Mapping[str, str]
    """HTTP headers of a request."""
    is_described: bool
    """Whether metrics carry their unit and description themselves."""
    is_summed: bool
    """Whether deltas must become cumulative sums."""

    def write(self, data: MetricsData, labels: bytes) -> Written:
        """Write a push.

        Args:
            data: Points to forward.
            labels: Of make_labels; no resource has them yet.
        """

    def pack(self, body: bytes) -> bytes:
        """Compress a request."""

    def count_rejected(self, status: int, body: bytes) -> int:
        """Return how many points an answer rejects; 0 if it does not say."""


class OtlpTarget:
    """OTLP over HTTP: protobuf and gzip."""

    headers: Mapping[str, str] = {"Content-Encoding": "gzip"}
    is_described = True

    def __init__(self, forward: ForwardSettings) -> None:
        self.is_summed = forward.temporality == CUMULATIVE

    def write(self, data: MetricsData, labels: bytes) -> Written:
        """Write a push; see Target."""
        return Written(write_body(data, labels))

    def pack(self, body: bytes) -> bytes:
        """Compress a request; see Target."""
        packer = zlib.compressobj(_FAST, wbits=_GZIP)
        return packer.compress(body) + packer.flush()

    def count_rejected(self, status: int, body: bytes) -> int:
        """Read a partial success; a body that cannot be read is a full one."""
        if status != _OK:
            return 0
        try:
            answer = ExportMetricsServiceResponse.FromString(body)
        except DecodeError:
            return 0
        return max(answer.partial_success.rejected_data_points, 0)


class RemoteWriteTarget:
    """Prometheus remote write 1.0: protobuf and snappy."""

    headers: Mapping[str, str] = {
        "Content-Encoding": "snappy",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    }
    is_described = False
    is_summed = True

    def __init__(self, _forward: ForwardSettings) -> None:
        self._metadata = SentMetadata()

    def write(self, data: MetricsData, labels: bytes) -> Written:
        """Write a push; see Target."""
        series = write_series(data, labels)
        body = series.body
        if body:
            body += self._metadata.take(series.metadata, time.monotonic())
        return Written(body, series.left_out)

    def pack(self, body: bytes) -> bytes:
        """Compress a request; see Target."""
        return compress(body)

    def count_rejected(self, _status: int, _body: bytes) -> int:
        """Return 0: an answer names no points."""
        return 0


_TARGETS: Mapping[str, type[OtlpTarget] | type[RemoteWriteTarget]] = {
    OTLP: OtlpTarget,
    REMOTE_WRITE: RemoteWriteTarget,
}


def make_target(forward: ForwardSettings) -> Target:
    """Return the protocol of forward.protocol."""
    return _TARGETS[forward.protocol](forward)
