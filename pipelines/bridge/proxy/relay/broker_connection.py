"""The side of a pair that goes to a broker: TCP, then TLS where brokers have it."""

import asyncio
from typing import Protocol, cast

from pipelines.bridge.proxy.rules.brokers import Address
from pipelines.bridge.security.tls import BrokenTls, TlsStream

from .endpoint import ProxyEndpoint
from .sides import Side, open_tls

CONNECT_TIMEOUT_S = 10.0
"""For TCP and TLS together."""
NEXT_BROKER_S = 2.0
"""The same where another broker will do: clients wait for their first answer."""


class Pair(Protocol):
    """What a broker's side tells."""

    def broker_made(self, broker: Side, node_id: int) -> None:
        """Begin to pass on, now that this broker is there."""

    def broker_received(self, data: bytes) -> None:
        """Pass on what the broker says."""

    def broker_taking(self, *, is_taking: bool) -> None:
        """Read from the client only while its broker reads."""

    def broker_lost(self, exc: Exception | None) -> None:
        """Pass on that the broker is gone."""


async def connect_to_broker(pair: Pair, endpoint: ProxyEndpoint) -> None:
    """Connect to the first broker that is reached; return once the pair is told of it.

    Raises: OSError, BrokenTls.
    """
    places = endpoint.find_brokers()
    if not places:
        raise ConnectionError("no such broker")
    context = endpoint.broker_tls
    for tried, (node_id, address) in enumerate(places, 1):
        is_last = tried == len(places)
        tls = None if context is None else TlsStream(context, address[0])
        connection = BrokerConnection(pair, tls, node_id)
        try:
            await _connect(
                connection, address, CONNECT_TIMEOUT_S if is_last else NEXT_BROKER_S
            )
        except (OSError, BrokenTls):
            endpoint.suspect(node_id)
            # A pair that has been told of a broker cannot be told of another one.
            if is_last or connection.is_told:
                raise
        else:
            return


async def _connect(
    connection: "BrokerConnection", address: Address, timeout_s: float
) -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(timeout_s):
        try:
            await loop.create_connection(lambda: connection, *address)
            if connection.opened is not None:
                await connection.opened
        except BaseException:
            connection.give_up()
            raise


class BrokerConnection(asyncio.Protocol):
    """One connection of ours to a broker."""

    __slots__ = (
        "_is_made", "_node_id", "_pair", "_tls", "_transport", "is_told", "opened",
    )  # fmt: skip

    def __init__(self, pair: Pair, tls: TlsStream | None, node_id: int) -> None:
        self._node_id = node_id
        self._pair = pair
        self._tls = tls
        self._is_made = False
        self._transport: asyncio.Transport
        self.is_told = False
        """Whether the pair knows of it."""
        self.opened: asyncio.Future[None] | None = None
        """Done once TLS is open; None where nothing has to be waited for."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to pass on, or TLS."""
        self._transport = cast("asyncio.Transport", transport)
        self._is_made = True
        if self._tls is None:
            self.is_told = True
            self._pair.broker_made(Side(self._transport, None), self._node_id)
            return
        self.opened = asyncio.get_running_loop().create_future()
        self.data_received(b"")

    def data_received(self, data: bytes) -> None:
        """Pass on what the broker says."""
        tls = self._tls
        if tls is not None:
            try:
                data = open_tls(self._transport, tls, data)
            except BrokenTls as error:
                self._fail(error)
                return
            if self.opened is not None:
                if not tls.is_open:
                    return
                self._open(tls)
        if data:
            self._pair.broker_received(data)

    def pause_writing(self) -> None:
        """Stop reading from the client of a broker that does not read."""
        self._pair.broker_taking(is_taking=False)

    def resume_writing(self) -> None:
        """Go on with a broker that reads again."""
        self._pair.broker_taking(is_taking=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on that the broker is gone."""
        if not self._is_made:
            return
        self._is_made = False
        if self.opened is not None:
            self._fail(exc or ConnectionResetError("amid its handshake"))
            return
        self._pair.broker_lost(exc)

    def give_up(self) -> None:
        """Close a connection whose opening has been broken off.

        uvloop closes one that is made and not yet returned, and says so to nobody.
        """
        if self.opened is not None:
            self.opened.cancel()
        if self._is_made:
            self._transport.abort()
            self.connection_lost(None)

    def _open(self, tls: TlsStream) -> None:
        opened, self.opened = self.opened, None
        self.is_told = True
        self._pair.broker_made(Side(self._transport, tls), self._node_id)
        if opened is not None and not opened.done():
            opened.set_result(None)

    def _fail(self, error: Exception) -> None:
        opened = self.opened
        if opened is not None and not opened.done():
            opened.set_exception(
                error
                if isinstance(error, OSError | BrokenTls)
                else ConnectionError(type(error).__name__)
            )
        self._transport.abort()
