"""The little of HTTP/1.1 that pages for operators need.

Strategy: one GET or HEAD per connection, then the end. Of a request, the first line
counts; header fields are passed over and a body is never read.
What comes back when bytes are bad: BadHttpRequest with the status to answer.
Source: RFC 9112, sections 2 to 3; RFC 9110, section 15.
"""

import re
from dataclasses import dataclass
from http import HTTPStatus

HEAD_END = b"\r\n\r\n"
MAX_HEAD_BYTES = 8_192
PLAIN_TEXT = "text/plain; charset=utf-8"
_REQUEST_LINE = re.compile(rb"([!-~]+) ([!-~]+) HTTP/([0-9])\.[0-9]")
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
    line, _, _ = head.partition(b"\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise BadHttpRequest(HTTPStatus.BAD_REQUEST)
    method, target, major = match.groups()
    if major != _MAJOR_VERSION:
        raise BadHttpRequest(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    if method not in _METHODS:
        raise BadHttpRequest(HTTPStatus.METHOD_NOT_ALLOWED)
    path, _, _ = target.decode("ascii").partition("?")
    return HttpRequest(path=path, is_head=method == b"HEAD")


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
