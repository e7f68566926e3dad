"""A page that stays open: served on loopback alone, the newest one that was made."""

from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

LOOPBACK = "127.0.0.1"
MADE_AT_PATH = "/made-at"
"""Where the page asks whether there is a newer one."""
_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Whom a browser may take this server for; another name has been pointed here."""


class PageServer:
    """Serves one page until it is closed; which one may change meanwhile."""

    def __init__(self, port: int) -> None:
        self._page = b""
        self._made_at_ms = 0
        handler = _make_handler(lambda: (self._page, self._made_at_ms))
        self._server = ThreadingHTTPServer((LOOPBACK, port), handler)
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, name="report", daemon=True).start()

    @property
    def address(self) -> str:
        """Return where people find the page."""
        return f"http://{LOOPBACK}:{self._server.server_port}/"

    def show(self, html: str, made_at_ms: int) -> None:
        """Serve this page from now on."""
        self._page = html.encode("utf-8")
        self._made_at_ms = made_at_ms

    def close(self) -> None:
        """End it; who has the page open keeps it."""
        self._server.shutdown()
        self._server.server_close()


def _make_handler(
    read: Callable[[], tuple[bytes, int]],
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = "kafka-clientele"
        sys_version = ""

        def do_GET(self) -> None:
            page, made_at_ms = read()
            host = (self.headers.get("Host") or "").rpartition(":")[0]
            if host not in _NAMES:
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path == "/":
                self._answer(page, "text/html; charset=utf-8")
            elif self.path == MADE_AT_PATH:
                self._answer(str(made_at_ms).encode(), "text/plain")
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

        def _answer(self, body: bytes, content_type: str) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("X-Frame-Options", "DENY")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing of requests at the terminal."""

    return Handler
