"""Pages for operators: the little of HTTP/1.1 that they need, on bounded sockets.

Strategy: one GET or HEAD per connection, then the end. Of a request, the first line
counts, and the field Accept; other fields are passed over and a body is never read.
Slow peers are cut off.
Whoever watches a bridge must be answered while others hold their connections, so that
the oldest connection makes room for a new one.
What comes back when bytes are bad: BadHttpRequest with the status to answer.
Source: RFC 9112, sections 2 to 3; RFC 9110, section 15.
"""

import asyncio
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

HEAD_END = b"\r\n\r\n"
MAX_HEAD_BYTES = 8_192
PLAIN_TEXT = "text/plain; charset=utf-8"
_REQUEST_LINE = re.compile(rb"([!-~]+) ([!-~]+) HTTP/([0-9])\.[0-9]")
_ACCEPT = re.compile(rb"^accept:([ -~\t]*)\r?$", re.IGNORECASE | re.MULTILINE)
_METHODS = (b"GET", b"HEAD")
_MAJOR_VERSION = b"1"


class BadHttpRequest(Exception):
    """Raised when a request cannot be answered with its page; the peer's fault."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """What is asked for."""

    path: str
    """Without what stands behind a question mark."""
    is_head: bool
    """Whether the answer is sent without its body."""
    accept: str = ""
    """What the field Accept says; its bytes are printable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer."""

    status: HTTPStatus
    body: bytes
    content_type: str = PLAIN_TEXT


def make_error_page(status: HTTPStatus) -> Page:
    """Return the page of a status that is no success."""
    return Page(status=status, body=f"{status.value} {status.phrase}\n".encode())


def parse_head(head: bytes) -> HttpRequest:
    """Read a request's head, up to and with the empty line.

    Raises: BadHttpRequest with 400, 405 for another method than GET and HEAD, 505 for
        another major version than 1.
    """
    line, _, fields = head.partition(b"\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise BadHttpRequest(HTTPStatus.BAD_REQUEST)
    method, target, major = match.groups()
    if major != _MAJOR_VERSION:
        raise BadHttpRequest(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    if method not in _METHODS:
        raise BadHttpRequest(HTTPStatus.METHOD_NOT_ALLOWED)
    path, _, _ = target.decode("ascii").partition("?")
    accept = b",".join(one.strip() for one in _ACCEPT.findall(fields)).decode("ascii")
    return HttpRequest(path=path, is_head=method == b"HEAD", accept=accept)


def encode_page(page: Page, *, is_head: bool = False) -> bytes:
    """Write a page with its head; the connection ends behind it."""
    status = page.status
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {page.content_type}",
        f"Content-Length: {len(page.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        lines.append("Allow: GET, HEAD")
    head = "\r\n".join(lines).encode("ascii") + HEAD_END
    return head if is_head else head + page.body


logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 32
"""With one more, the one that has been open longest is cut off."""
TIMEOUT_S = 5.0
"""For the whole request, and again for the whole answer."""

MakePage = Callable[[str], Awaitable[Page]]
"""Takes what the peer accepts."""


class HttpListener:
    """Serves pages by their paths."""

    def __init__(
        self, pages: Mapping[str, MakePage], *, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Take the pages by their paths; an index of them is added at `/`."""
        links = "".join(f'<li><a href="{path}">{path}</a></li>\n' for path in pages)
        index = f"<!doctype html>\n<title>Pages</title>\n<ul>\n{links}</ul>\n"
        self._index = Page(
            status=HTTPStatus.OK,
            body=index.encode(),
            content_type="text/html; charset=utf-8",
        )
        self._pages = {"/": self._make_index, **pages}
        self._timeout_s = timeout_s
        self._open: dict[asyncio.StreamWriter, None] = {}
        """The oldest first."""
        self._server: asyncio.Server | None = None

    async def start(self, listener: socket.socket) -> None:
        """Serve on a bound socket, which is closed at the end."""
        self._server = await asyncio.start_server(
            self._serve, sock=listener, limit=MAX_HEAD_BYTES
        )

    def close(self) -> None:
        """Take no more connections; the open ones have their own timeouts."""
        if self._server is not None:
            self._server.close()

    async def _make_index(self, _accept: str) -> Page:
        return self._index

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._open) == MAX_CONNECTIONS:
            oldest = next(iter(self._open))
            del self._open[oldest]
            oldest.transport.abort()
        self._open[writer] = None
        try:
            await self._answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            logger.debug("a page was not delivered: %s", type(error).__name__)
            writer.transport.abort()
        finally:
            self._open.pop(writer, None)
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        answer = await self._make_answer(reader)
        async with asyncio.timeout(self._timeout_s):
            writer.write(answer)
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    async def _make_answer(self, reader: asyncio.StreamReader) -> bytes:
        try:
            async with asyncio.timeout(self._timeout_s):
                head = await reader.readuntil(HEAD_END)
            request = parse_head(head)
        except asyncio.LimitOverrunError:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            return encode_page(make_error_page(status))
        except TimeoutError:
            return encode_page(make_error_page(HTTPStatus.REQUEST_TIMEOUT))
        except BadHttpRequest as error:
            return encode_page(make_error_page(error.status))
        make_page = self._pages.get(request.path)
        if make_page is None:
            page = make_error_page(HTTPStatus.NOT_FOUND)
        else:
            page = await make_page(request.accept)
        return encode_page(page, is_head=request.is_head)
