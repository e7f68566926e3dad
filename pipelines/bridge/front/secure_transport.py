"""Connections that must prove who they are, by certificate or SASL.

Passwords are checked in threads, and failures are answered late, so that no guesser
keeps the others waiting.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial

from pipelines.bridge.core.handlers import WriteReply
from pipelines.bridge.protocol.requests import Request
from pipelines.bridge.security.sasl.authentication import SaslAuthentication
from pipelines.bridge.security.sasl.steps import (
    Accepted,
    Answer,
    PassOn,
    Refused,
    SaslRules,
    Step,
)
from pipelines.bridge.security.tls import BrokenTls, TlsContext, TlsStream

from .states import PROOFS, Proof, ProofEvent, State
from .tls_transport import TlsConnection
from .transport import Endpoint

_MS = 1_000
_CHECKING, _GIVEN = Proof.CHECKING, Proof.GIVEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """What clients of one listener must prove, and how."""

    tls_context: Callable[[], TlsContext] | None
    """Returns the one in force; None without TLS."""
    find_principal: Callable[[bytes], str]
    """Makes a principal of a client certificate's subject. Raises: ValueError."""
    sasl: SaslRules | None
    """None without SASL."""
    executor: Executor
    """Runs what takes milliseconds."""
    max_request_bytes: int
    """Before authentication."""
    failed_delay_ms: int


class SecureConnection(TlsConnection):
    """One client's connection, with TLS, SASL or both."""

    __slots__ = (
        "_authentication",
        "_expiry",
        "_proof",
        "_security",
    )

    def __init__(
        self, connection_id: int, endpoint: Endpoint, security: Security
    ) -> None:
        tls = TlsStream(security.tls_context()) if security.tls_context else None
        super().__init__(connection_id, endpoint, tls)
        self._security = security
        self._stream.max_request_bytes = min(
            security.max_request_bytes, endpoint.max_request_bytes
        )
        self._authentication = (
            SaslAuthentication(security.sasl) if security.sasl else None
        )
        self._proof = Proof.NONE if self._authentication else Proof.GIVEN
        self._expiry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note who has connected, and that it has proved nothing yet."""
        super().connection_made(transport)
        if self._state is State.OPEN:
            self._endpoint.connections.begin_handshake(self)
            if self._authentication is not None:
                self._connection.reauthenticate = self._begin_again

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and that its session would have ended."""
        super().connection_lost(exc)
        self._stop_expiry()

    def _take_certificate(self, subject: bytes | None) -> None:
        if self._authentication is not None:
            return
        if subject is not None:
            try:
                principal = f"User:{self._security.find_principal(subject)}"
            except ValueError:
                self._endpoint.counters.failed_authentications += 1
                raise BrokenTls("a certificate that names no principal") from None
            self._connection.change_identity(
                replace(self._connection.identity, principal=principal)
            )
        self._open_up()

    def _is_able_to_serve(self) -> bool:
        return super()._is_able_to_serve() and self._proof is not _CHECKING

    def _take_frame(self, frame: bytes) -> None:
        authentication = self._authentication
        if self._proof is _GIVEN or authentication is None:
            super()._take_frame(frame)
            return
        self._take_step(authentication.receive_frame(frame), self._open_reply())

    def _begin_again(self, request: Request, reply: WriteReply) -> bool:
        """Authenticate again, where the session has an end."""
        if self._authentication is None:
            return False
        step = self._authentication.begin_again(request)
        if step is None:
            return False
        self._shut()
        self._endpoint.connections.begin_handshake(self)
        self._take_step(step, reply)
        return True

    def _take_step(self, step: Step, reply: WriteReply) -> None:
        if isinstance(step, Answer):
            reply(step.reply)
        elif isinstance(step, PassOn):
            self._endpoint.handlers.handle(step.request, self._connection, reply)
        elif isinstance(step, Accepted):
            self._accept(step)
            reply(step.reply)
        elif isinstance(step, Refused):
            self._refuse(step, reply)
        else:
            self._proof = PROOFS[self._proof, ProofEvent.CHECK]
            loop = asyncio.get_running_loop()
            check = loop.run_in_executor(self._security.executor, step.run)
            check.add_done_callback(partial(self._finish_check, reply))

    def _finish_check(self, reply: WriteReply, check: asyncio.Future[bool]) -> None:
        self._proof = PROOFS[self._proof, ProofEvent.VERDICT]
        if check.cancelled() or self._transport.is_closing():
            return
        if self._authentication is not None:
            self._take_step(
                self._authentication.finish_check(is_good=check.result()), reply
            )

    def _accept(self, step: Accepted) -> None:
        self._endpoint.counters.authentications += 1
        if self._connection.identity.principal != step.principal:
            self._connection.change_identity(
                replace(self._connection.identity, principal=step.principal)
            )
        self._proof = PROOFS[self._proof, ProofEvent.ACCEPT]
        self._open_up()
        self._stop_expiry()
        if step.lifetime_ms is not None:
            self._expiry = asyncio.get_running_loop().call_later(
                step.lifetime_ms / _MS, self._expire
            )

    def _open_up(self) -> None:
        """Serve a client that has proved who it is."""
        self._stream.max_request_bytes = self._endpoint.max_request_bytes
        self._endpoint.connections.end_handshake(self)

    def _shut(self) -> None:
        """Serve nothing but authentication from here on."""
        self._proof = PROOFS[self._proof, ProofEvent.SHUT]
        # Pushes are taken without asking, as long as there is a reader of them.
        self._connection.push_reader = None

    def _refuse(self, step: Refused, reply: WriteReply) -> None:
        if step.is_failed_authentication:
            self._endpoint.counters.failed_authentications += 1
        self._end("refused_sasl", step.reason)
        asyncio.get_running_loop().call_later(
            self._security.failed_delay_ms / _MS, reply, step.reply
        )

    def _expire(self) -> None:
        """Serve nothing but another authentication from here on."""
        self._expiry = None
        if self._proof is _GIVEN and self._authentication is not None:
            self._authentication.expire()
            self._shut()
            self._endpoint.counters.expired_sessions += 1

    def _stop_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
