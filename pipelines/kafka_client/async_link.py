"""A connection by asyncio to whichever server of a cluster answers.

Strategy: it is opened for the first conversation and again after a fault, at the next
server; one conversation at a time. One is tried until its time is over, so it may be
held twice. What a peer refuses is not tried again. `Access.at` makes a link to one node
of what reaches the cluster. Where a peer tells how long a session is, the next
conversation behind most of it logs in again first, on the same connection.
Source: KIP-368.
"""

import asyncio
import ssl
from collections.abc import Callable

from .faults import LoginRefused, NoAnswer, describe
from .messages import Request, Served
from .primitives import MalformedBytes
from .properties import Access, Address
from .session import (
    Answer,
    Conversation,
    Greeted,
    Session,
    Software,
    greet,
    log_in,
)
from .tls import fault_of_tls

FIRST_BACKOFF_S = 0.1
LONGEST_BACKOFF_S = 1.0
CONNECT_TIMEOUT_S = 3.0
"""For TCP, TLS and login together, so that another server is tried in time."""
TOKEN_TIMEOUT_S = 5.0
"""For each part of a token endpoint's answer, before that."""
SESSION_SHARE = 0.85
"""Of a session, behind which there is another login; the Java client's earliest."""
SHORTEST_SESSION_S = 1.5
"""Kafka's brokers take no other login within a second."""
MAX_ANSWER_BYTES = 64 << 20
_MS = 1_000
_READ_BYTES = 65_536


class AsyncLink:
    """Asks a cluster, or one node; lives in one event loop."""

    def __init__(self, access: Access, software: Software) -> None:
        self.access = access
        self._software = software
        self._lock = asyncio.Lock()
        self._open: _Connection | None = None
        self._next_server = 0
        self._fault = ""

    async def hold(
        self,
        start: Callable[[Served], Conversation[Answer]],
        *,
        timeout_s: float,
    ) -> Answer:
        """Return what a conversation comes to.

        Args:
            start: Begins it with what the node serves; more than once where a
                connection breaks.
            timeout_s: Seconds until it is given up.
        Raises: Refused; NoAnswer; what the conversation raises, MalformedBytes apart.
        """
        self._fault = "no answer"
        try:
            async with asyncio.timeout(timeout_s), self._lock:
                return await self._hold_until_answered(start)
        except TimeoutError:
            raise NoAnswer(self._fault) from None

    def close(self) -> None:
        """Close the connection; another conversation opens it again."""
        connection, self._open = self._open, None
        if connection is not None:
            connection.close()

    async def _hold_until_answered(
        self, start: Callable[[Served], Conversation[Answer]]
    ) -> Answer:
        backoff_s = FIRST_BACKOFF_S
        while True:
            try:
                return await self._hold_once(start)
            except ssl.SSLError as error:
                fault = fault_of_tls(error)
                if not isinstance(fault, OSError):
                    raise fault from None
                self._fault = describe(fault)
            except (OSError, MalformedBytes) as error:
                self._fault = describe(error)
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, LONGEST_BACKOFF_S)

    async def _hold_once(
        self, start: Callable[[Served], Conversation[Answer]]
    ) -> Answer:
        connection = self._open
        if connection is None:
            await self._prepare()
            connection = self._open = await self._connect()
        try:
            await self._log_in_again(connection)
            return await connection.hold(start(connection.served))
        except MalformedBytes:
            self.close()
            raise
        finally:
            # Also when this is cancelled: what comes later would answer another one.
            if connection.is_waiting:
                self.close()

    async def _prepare(self) -> None:
        """Get what a login needs; in a thread, since that may wait."""
        login = self.access.login
        if login is not None and login.prepare is not None:
            await asyncio.to_thread(login.prepare, TOKEN_TIMEOUT_S)

    async def _log_in_again(self, connection: "_Connection") -> None:
        login = self.access.login
        if login is None or not connection.is_session_old:
            return
        await self._prepare()
        try:
            lifetime_ms = await connection.hold(log_in(login, connection.served))
        except LoginRefused:
            self.close()
            raise
        connection.begin_session(lifetime_ms)

    async def _connect(self) -> "_Connection":
        servers = self.access.servers
        address = servers[self._next_server % len(servers)]
        self._next_server += 1
        # A server that takes connections and says nothing must not take all the time.
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            connection = await _open_connection(
                address, self.access.tls, self._software
            )
            try:
                connection.note(
                    await connection.hold(greet(self._software, self.access.login))
                )
            except BaseException:
                connection.close()
                raise
            return connection


class _Connection:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        session: Session,
    ) -> None:
        self._reader, self._writer, self._session = reader, writer, session
        self.served: Served = {}
        self._session_ends_s: float | None = None

    def note(self, greeted: Greeted) -> None:
        """Note what the greeting has told."""
        self.served = greeted.served
        self.begin_session(greeted.session_lifetime_ms)

    def begin_session(self, lifetime_ms: int) -> None:
        """Note that the login is good for so long; for ever where that is 0."""
        share_s = max(SESSION_SHARE * lifetime_ms / _MS, SHORTEST_SESSION_S)
        now_s = asyncio.get_running_loop().time()
        self._session_ends_s = now_s + share_s if lifetime_ms > 0 else None

    @property
    def is_session_old(self) -> bool:
        """Whether there should be another login before anything is asked."""
        ends_s = self._session_ends_s
        return ends_s is not None and asyncio.get_running_loop().time() >= ends_s

    @property
    def is_waiting(self) -> bool:
        """Whether a request is not answered."""
        return self._session.is_waiting

    def close(self) -> None:
        self._writer.transport.abort()

    async def hold(self, conversation: Conversation[Answer]) -> Answer:
        try:
            request = next(conversation)
            while True:
                request = conversation.send(await self._ask(request))
        except StopIteration as ended:
            answer: Answer = ended.value
            return answer

    async def _ask(self, request: Request) -> bytes:
        self._writer.write(self._session.send(request))
        await self._writer.drain()
        body = None
        while body is None:
            data = await self._reader.read(_READ_BYTES)
            if not data:
                raise ConnectionResetError("the broker has closed the connection")
            body = self._session.receive(data)
        return body


async def _open_connection(
    address: Address, tls: ssl.SSLContext | None, software: Software
) -> _Connection:
    host, port = address
    try:
        reader, writer = await asyncio.open_connection(
            host, port, ssl=tls, server_hostname=host if tls else None
        )
    except ssl.SSLError:
        raise
    except ValueError:
        # Of Python's own checks: an empty label in a name, or one that is too long.
        raise ConnectionError(f"{host}:{port} can be no server") from None
    session = Session(software.client_id, max_answer_bytes=MAX_ANSWER_BYTES)
    return _Connection(reader, writer, session)
