"""The brokers that stand behind the proxy, and the port of ours for each of them.

Strategy: a broker has the port that its node id says, so that its address can be told
to a client the moment that the broker is first heard of, be it in an answer on its way
to that client. Pure: opening a port is an argument.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Address = tuple[str, int]
Place = tuple[int, Address]
"""A broker's node id, and where it is."""
OpenPort = Callable[[int], int]
"""Listens for one broker, by its node id, and returns the port."""
NamePort = Callable[[int], int]
"""Returns the port of one broker, by its node id, and does not open it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBroker:
    """One broker of the cluster."""

    address: Address
    """Where it is; what other brokers say of it."""
    port: int
    """Where we listen for its clients."""


class Brokers:
    """All brokers of one cluster, as they come and go."""

    def __init__(
        self, advertised_host: str, open_port: OpenPort, name_port: NamePort
    ) -> None:
        """Start with none.

        Args:
            advertised_host: What clients are told to connect to.
            open_port: Called when a broker is first heard of, or comes back.
            name_port: Called for a broker that is fenced.
        """
        self._advertised_host = advertised_host
        self._open_port = open_port
        self._name_port = name_port
        self._known: dict[int, KnownBroker] = {}
        self._turn = 0

    @property
    def known(self) -> Mapping[int, KnownBroker]:
        """By node id."""
        return self._known

    def places_of(self, node_id: int) -> list[Place]:
        """Return where a broker is; nothing for one that has left."""
        known = self._known.get(node_id)
        return [] if known is None else [(node_id, known.address)]

    def take_turns(self) -> list[Place]:
        """Return where all brokers are, each time with another one at the beginning."""
        places = [
            (node_id, one.address) for node_id, one in sorted(self._known.items())
        ]
        self._turn += 1
        first = self._turn % (len(places) or 1)
        return places[first:] + places[:first]

    def find_address(
        self, node_id: int, host: str, port: int, *, is_fenced: bool = False
    ) -> Address:
        """Return what clients are told of a broker; a new one is listened for first.

        A fenced broker serves no clients, and the cluster names it only to admins.
        """
        known = self._known.get(node_id)
        if is_fenced:
            ours = self._name_port(node_id) if known is None else known.port
            return self._advertised_host, ours
        if known is None or known.address != (host, port):
            ours = self._open_port(node_id) if known is None else known.port
            known = KnownBroker(address=(host, port), port=ours)
            self._known[node_id] = known
        return self._advertised_host, known.port

    def update(self, told: Iterable[Place]) -> list[int]:
        """Take all brokers that the cluster names now.

        Returns: Node ids that it named before and does not name any more.
        """
        named = dict(told)
        for node_id, (host, port) in named.items():
            self.find_address(node_id, host, port)
        gone = [node_id for node_id in self._known if node_id not in named]
        for node_id in gone:
            del self._known[node_id]
        return gone
