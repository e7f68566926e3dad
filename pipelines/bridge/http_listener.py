"""asyncio sockets of the pages for operators: bounded, slow peers cut off.

Whoever watches a bridge must be answered while others hold their connections, so that
the oldest connection makes room for a new one.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from .http_requests import (
    HEAD_END,
    MAX_HEAD_BYTES,
    BadHttpRequest,
    Page,
    encode_page,
    make_error_page,
    parse_head,
)

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 32
"""With one more, the one that has been open longest is cut off."""
TIMEOUT_S = 5.0
"""For the whole request, and again for the whole answer."""

MakePage = Callable[[], Awaitable[Page]]


class HttpListener:
    """Serves pages by their paths."""

    def __init__(
        self, pages: Mapping[str, MakePage], *, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._pages = pages
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
            page = await make_page()
        return encode_page(page, is_head=request.is_head)
