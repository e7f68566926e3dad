"""What an operator sees of the forwarder: /metrics, /healthz and /readyz."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from pipelines.errors import InvalidSetting

_PREFIX = "kafka_clientele_forwarder"


class Watch:
    """Counts of one forwarder."""

    def __init__(self, patience_s: float) -> None:
        """Begin to count; patience_s is the longest that one turn of its loop takes."""
        self.registry = registry = CollectorRegistry()
        self.is_ready = False
        self._patience_s = patience_s
        self._turn_s = time.monotonic()

        def count(name: str, text: str) -> Counter:
            return Counter(f"{_PREFIX}_{name}", text, registry=registry)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"{_PREFIX}_{name}", text, registry=registry)

        self.points = count("points", "Points that the receiver was sent and took.")
        self.rejected = count(
            "rejected_points", "Points that the receiver did not take."
        )
        self.left_out = count(
            "left_out_points", "Points that have no form at the receiver."
        )
        self.records = count("records", "Records of the topic that are done with.")
        self.skipped = count(
            "skipped_records", "Records that cannot be read or have too many points."
        )
        self.attempts = count(
            "failed_requests", "Requests that the receiver did not take."
        )
        self.forgotten = count(
            "forgotten_series", "Sums that went since forward.max_series was reached."
        )
        self.series = gauge("summed_series", "Sums that are kept.")
        self.lag = gauge("lag_records", "Records of the topic that are not done with.")
        self.taken_at = gauge(
            "last_taken_timestamp_seconds", "When the receiver last took something."
        )
        gauge("ready", "1 while the receiver answers.").set_function(
            lambda: int(self.is_ready)
        )

    def turn(self) -> None:
        """Note that the loop goes round."""
        self._turn_s = time.monotonic()

    @property
    def is_healthy(self) -> bool:
        """Whether the loop has gone round lately."""
        return time.monotonic() - self._turn_s < self._patience_s

    def answer(self, path: str) -> tuple[int, bytes]:
        """Return status and body of a page."""
        if path == "/metrics":
            return 200, generate_latest(self.registry)
        if path == "/healthz":
            return (200, b"ok\n") if self.is_healthy else (503, b"it hangs\n")
        if path == "/readyz":
            return (200, b"ready\n") if self.is_ready else (503, b"not ready\n")
        return 404, b"404 Not Found\n"


def serve_pages(watch: Watch, host: str, port: int) -> ThreadingHTTPServer:
    """Serve the pages from a thread until the server is shut down.

    Raises: InvalidSetting where the address cannot be had.
    """

    class Pages(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            status, body = watch.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Log nothing that a stranger can cause."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_of: object) -> None:
            """Say nothing of a peer that hangs up."""

    try:
        server = Server((host, port), Pages)
    except OSError as error:
        raise InvalidSetting(
            f"forward.http_host, forward.http_port: {host}:{port} cannot be had "
            f"({error.strerror})"
        ) from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
