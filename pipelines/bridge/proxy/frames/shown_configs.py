"""What one client of the proxy has shown, and how much may be written of it.

Strategy: a record says all that a client has shown, whatever is new. So what records
of a connection take is held against what was looked at of its requests.
"""

from pipelines.bridge.core.handlers import Connection
from pipelines.bridge.core.records import allowed_bytes


class Allowance:
    """How much one connection has sent, and what records of it have taken of that."""

    __slots__ = ("_left_bytes",)

    def __init__(self) -> None:
        self._left_bytes = 0

    def earn(self, received_bytes: int) -> None:
        """Note bytes that were looked at."""
        self._left_bytes += allowed_bytes(received_bytes) - allowed_bytes(0)

    def spend(self, size_bytes: int) -> bool:
        """Take what one record needs, or say that the client must send more first."""
        left_bytes = self._left_bytes + allowed_bytes(0) - size_bytes
        if left_bytes < 0:
            return False
        self._left_bytes = left_bytes
        return True

    def give_back(self, size_bytes: int) -> None:
        """Note that a record was not written."""
        self._left_bytes += size_bytes - allowed_bytes(0)


class ShownConfigs:
    """What the requests of one client id and client type have shown."""

    __slots__ = (
        "allowance",
        "client_id",
        "client_type",
        "configs",
        "connection",
        "is_held_back",
    )

    def __init__(
        self,
        connection: Connection,
        client_id: str | None,
        client_type: str,
        allowance: Allowance,
    ) -> None:
        """Start with nothing.

        Args:
            connection: On which the requests come.
            client_id: As the requests name it.
            client_type: producer, consumer or share_consumer.
            allowance: Of the connection.
        """
        self.allowance = allowance
        self.is_held_back = False
        """Whether there is no record of something until the client sends more."""
        self.connection = connection
        self.client_id = client_id
        self.client_type = client_type
        self.configs: dict[str, str] = {}
        """Config key to value."""
