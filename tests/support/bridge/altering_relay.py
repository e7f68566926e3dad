"""A relay between a real client and a real bridge that may alter one request.

So a client that does nothing wrong can be answered with an error code by a bridge
that knows nothing of it. Everything that passes is noted: API key, error code, time.
"""

import asyncio
import contextlib
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

METADATA, API_VERSIONS, GET, PUSH = 3, 18, 71, 72
LOST = None
_HEADER = struct.Struct(">hhih")
_SIZE = struct.Struct(">i")
_ERROR_AT = {API_VERSIONS: 0, GET: 4, PUSH: 4}


@dataclass(frozen=True)
class Seen:
    """One request of one client and its answer's error code."""

    client_id: str
    api_key: int
    asked_s: float
    answered_s: float
    """When it was answered, or the connection cut."""
    error_code: int | None
    """LOST where the connection was cut instead."""


@dataclass
class Frame:
    """A request without its size, and where its parts begin."""

    data: bytearray
    api_key: int = 0
    api_version: int = 0
    correlation_id: int = 0
    client_id: str = ""
    body_at: int = 0
    """Of a flexible request without tagged fields in its header."""
    is_lost: bool = False
    """Whether the connection is cut in place of passing the request on."""
    alter_reply: Callable[[bytearray], None] = lambda _reply: None

    def __post_init__(self):
        fixed = _HEADER.unpack_from(self.data)
        self.api_key, self.api_version, self.correlation_id, length = fixed
        end = _HEADER.size + max(length, 0)
        self.client_id = self.data[_HEADER.size : end].decode()
        self.body_at = end + 1

    @property
    def client_instance_id(self):
        return bytes(self.data[self.body_at : self.body_at + 16])


Alter = Callable[[Frame], None]


@dataclass
class Relay:
    """Listens for one client; `alter` is applied once, to the next request it fits."""

    client_id: str
    seen: list = field(default_factory=list)
    alter: Alter | None = None
    alter_key: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _bridge: tuple = ()
    _server: asyncio.Server | None = None
    _tasks: set = field(default_factory=set)

    async def start(self):
        """Take a port; connections wait until the bridge is known."""
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self._is_bridge_known = asyncio.Event()
        return self._server.sockets[0].getsockname()[1]

    def connect_to(self, host, port):
        self._bridge = host, port
        self._is_bridge_known.set()

    def alter_next(self, api_key, alter):
        self.alter_key, self.alter = api_key, alter

    async def close(self):
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def wait_for(self, api_key, error_code, *, after_s, timeout_s):
        """Return the first answer of this kind after a time; None past the timeout."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while True:
                    for one in self.seen:
                        is_kind = (one.api_key, one.error_code) == (api_key, error_code)
                        if is_kind and one.answered_s > after_s:
                            return one
                    self._changed.clear()
                    await self._changed.wait()
        return None

    def next_telemetry(self, after_s):
        """Return the first telemetry request that was asked after a time."""
        return next(
            (
                one
                for one in self.seen
                if one.api_key in {GET, PUSH} and one.asked_s > after_s
            ),
            None,
        )

    async def _relay(self, reader, writer):
        # Otherwise asyncio reports the end of a relay as a fault.
        with contextlib.suppress(asyncio.CancelledError):
            await self._relay_connection(reader, writer)

    async def _relay_connection(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        open_requests = {}
        upstream = None
        try:
            await self._is_bridge_known.wait()
            upstream_reader, upstream = await asyncio.open_connection(*self._bridge)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_requests(reader, upstream, open_requests))
                group.create_task(
                    self._pass_replies(upstream_reader, writer, open_requests)
                )
        except* (OSError, asyncio.IncompleteReadError):
            pass  # One side has closed, and the other is closed below.
        finally:
            for one in (writer, upstream):
                if one is not None:
                    one.transport.abort()
            self._tasks.discard(asyncio.current_task())

    async def _pass_requests(self, reader, writer, open_requests):
        while True:
            frame = Frame(bytearray(await _read_frame(reader)))
            is_fit = frame.client_id == self.client_id
            if is_fit and self.alter is not None and frame.api_key == self.alter_key:
                alter, self.alter = self.alter, None
                alter(frame)
                if frame.is_lost:
                    self._add(frame, time.monotonic(), LOST)
                    raise ConnectionResetError
            open_requests[frame.correlation_id] = frame, time.monotonic()
            writer.write(_SIZE.pack(len(frame.data)) + frame.data)
            await writer.drain()

    async def _pass_replies(self, reader, writer, open_requests):
        while True:
            reply = bytearray(await _read_frame(reader))
            frame, asked_s = open_requests.pop(_SIZE.unpack_from(reply)[0])
            frame.alter_reply(reply)
            self._note(frame, asked_s, reply)
            writer.write(_SIZE.pack(len(reply)) + reply)
            await writer.drain()

    def _note(self, frame, asked_s, reply):
        if frame.client_id != self.client_id or frame.api_key not in _ERROR_AT:
            return
        start = _SIZE.size + (frame.api_key != API_VERSIONS) + _ERROR_AT[frame.api_key]
        (code,) = struct.unpack_from(">h", reply, start)
        self._add(frame, asked_s, code)

    def _add(self, frame, asked_s, code):
        self.seen.append(
            Seen(frame.client_id, frame.api_key, asked_s, time.monotonic(), code)
        )
        self._changed.set()


async def _read_frame(reader):
    (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
    return await reader.readexactly(size)
