"""A receiver of OTLP/HTTP made of opentelemetry-proto's classes.

As a program, `python metrics_receiver.py PORT FILE`, it keeps what it has taken in a
file before it says yes, so that it may be killed at any time.
"""

import gzip
import socket
import struct
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)


class MetricsReceiver:
    """Answers with the statuses it was given first, then takes everything."""

    def __init__(self, *statuses, port=0, rejected=0, keep=None):
        self.requests, self.statuses, self.seen = [], list(statuses), []
        self.headers, self._links = [], []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                receiver._links.append(self.connection)

            def do_POST(self):
                body = gzip.decompress(
                    self.rfile.read(int(self.headers["Content-Length"]))
                )
                status = receiver.statuses.pop(0) if receiver.statuses else 200
                receiver.seen.append(status)
                receiver.headers.append(dict(self.headers))
                answer = ExportMetricsServiceResponse()
                if status == 200:
                    received = ExportMetricsServiceRequest.FromString(body)
                    receiver.requests.append(received)
                    if keep is not None:
                        keep(body)
                        receiver.requests.clear()
                    if rejected:
                        answer.partial_success.rejected_data_points = rejected
                told = answer.SerializeToString()
                self.send_response(status)
                if status == 429:
                    self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            def log_message(self, *words):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.endpoint = f"http://127.0.0.1:{self.port}/v1/metrics"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self._server.shutdown()
        self._server.server_close()
        # Connections that are kept would be served on.
        for link in self._links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def points(self):
        """Return (client instance, metric, value) of every point that was taken."""
        return [
            (
                {a.key: a.value.string_value for a in one.resource.attributes}[
                    "client_instance_id"
                ],
                metric.name,
                point.as_double or point.as_int,
            )
            for request in list(self.requests)
            for one in request.resource_metrics
            for scope in one.scope_metrics
            for metric in scope.metrics
            for point in getattr(metric, metric.WhichOneof("data")).data_points
        ]


LENGTH = struct.Struct(">I")


def read_kept(path):
    """Yield each request of a file that was kept whole."""
    content = path.read_bytes()
    place = 0
    while place + LENGTH.size <= len(content):
        (size,) = LENGTH.unpack_from(content, place)
        place += LENGTH.size
        if place + size <= len(content):
            yield ExportMetricsServiceRequest.FromString(content[place : place + size])
        place += size


def main(port, path):
    """Take what comes until killed."""
    lock = threading.Lock()
    with Path(path).open("ab", buffering=0) as file:

        def keep(body):
            with lock:
                file.write(LENGTH.pack(len(body)) + body)

        with MetricsReceiver(port=int(port), keep=keep):
            threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
