"""The bridge as a client of its cluster: asyncio sockets around ClusterSession.

Strategy: one connection to whichever bootstrap server answers, since every request of
ours may go to any broker. It is opened for the first request and again after a fault;
one request at a time. A request is tried until its time is over, which is safe as all
of them may be repeated.
"""

import asyncio
import os
import secrets
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kio.static.protocol import Payload

from pipelines.bridge.protocol.errors import MalformedResponse

from .faults import ClusterFault, ClusterRefusal
from .properties import ClusterAccess
from .session import ClusterSession

REQUEST_TIMEOUT_S = 10.0
FIRST_BACKOFF_S = 0.1
LONGEST_BACKOFF_S = 1.0
CONNECT_TIMEOUT_S = 3.0
"""For TCP, TLS and login together, so that another server is tried in time."""
_READ_BYTES = 65_536
_NONCE_BYTES = 24

Answer = TypeVar("Answer", bound=Payload)
Finish = Callable[[Payload | ClusterFault], None]
"""Takes the answer to a request in its newest version, or why there is none."""


@dataclass(frozen=True, slots=True)
class _Link:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    session: ClusterSession


class ClusterClient:
    """Asks a cluster; lives in one event loop."""

    def __init__(self, access: ClusterAccess, *, client_id: str) -> None:
        self._access = access
        self._client_id = client_id
        self._lock = asyncio.Lock()
        self._link: _Link | None = None
        self._next_server = 0
        self._fault = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(
        self,
        request: Payload,
        expected: type[Answer],
        *,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> Answer:
        """Return the answer to a request that may be sent twice.

        Args:
            request: In any version; it is sent in the one that the broker shares.
            expected: The newest version of the answer.
            timeout_s: Seconds until the request is given up.
        Raises: ClusterFault; ClusterRefusal and MissingApi among them.
        """
        answer = await self._ask(request, timeout_s)
        if not isinstance(answer, expected):
            raise TypeError(f"{type(answer).__name__} is no {expected.__name__}")
        return answer

    def forward(self, request: Payload, finish: Finish) -> None:
        """Ask without waiting; finish is called once, later."""
        task = asyncio.get_running_loop().create_task(self._forward(request, finish))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Give up what is not answered, and the connection."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._drop()

    async def _forward(self, request: Payload, finish: Finish) -> None:
        try:
            answer: Payload | ClusterFault = await self._ask(request, REQUEST_TIMEOUT_S)
        except ClusterFault as fault:
            answer = fault
        finish(answer)

    async def _ask(self, request: Payload, timeout_s: float) -> Payload:
        self._fault = "no answer"
        try:
            async with asyncio.timeout(timeout_s), self._lock:
                return await self._ask_until_answered(request)
        except TimeoutError:
            raise ClusterFault(
                f"Kafka at {self._access.place} does not answer ({self._fault})"
            ) from None

    async def _ask_until_answered(self, request: Payload) -> Payload:
        backoff_s = FIRST_BACKOFF_S
        while True:
            try:
                return await self._ask_once(request)
            except ssl.SSLCertVerificationError as error:
                raise self._refuse(f"its certificate: {error.verify_message}") from None
            except ClusterRefusal as error:
                raise self._refuse(str(error)) from None
            except (OSError, EOFError, MalformedResponse) as error:
                self._fault = _name(error)
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, LONGEST_BACKOFF_S)

    async def _ask_once(self, request: Payload) -> Payload:
        if self._link is None:
            self._link = await self._connect()
        link = self._link
        link.session.send(request)
        answer = None
        try:
            while answer is None:
                await _step(link)
                answer = link.session.take_answer()
        finally:
            # Also when this is cancelled: what comes later would answer another one.
            if answer is None:
                self._drop()
        return answer

    async def _connect(self) -> _Link:
        servers = self._access.servers
        host, port = servers[self._next_server % len(servers)]
        self._next_server += 1
        # A server that takes connections and says nothing must not take all the time.
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            return await self._greet(host, port)

    async def _greet(self, host: str, port: int) -> _Link:
        tls = self._access.tls
        reader, writer = await asyncio.open_connection(
            host, port, ssl=tls, server_hostname=host if tls else None
        )
        session = ClusterSession(
            client_id=self._client_id,
            credentials=self._access.credentials,
            nonce=secrets.token_urlsafe(_NONCE_BYTES),
        )
        link = _Link(reader, writer, session)
        try:
            while not session.is_ready:
                await _step(link)
        finally:
            if not session.is_ready:
                writer.transport.abort()
        return link

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.writer.transport.abort()

    def _refuse(self, reason: str) -> ClusterRefusal:
        return ClusterRefusal(
            f"Kafka at {self._access.place} and the bridge do not agree: {reason}"
        )


async def _step(link: _Link) -> None:
    """Write what the session owes, and give it what has come."""
    outgoing = link.session.take_bytes()
    if outgoing:
        link.writer.write(outgoing)
        await link.writer.drain()
    data = await link.reader.read(_READ_BYTES)
    if not data:
        raise EOFError("the broker has closed the connection")
    link.session.receive_data(data)


def _name(error: Exception) -> str:
    """Say what went wrong without what a peer has sent."""
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return str(error) or type(error).__name__
