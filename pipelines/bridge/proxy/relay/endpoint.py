"""A port of the proxy, as the connections of its clients see it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.front.admission import Connections
from pipelines.bridge.proxy.frames.addresses import FindAddress
from pipelines.bridge.proxy.frames.line import Care
from pipelines.bridge.proxy.rules.answer_room import AnswerRoom
from pipelines.bridge.proxy.rules.brokers import Place
from pipelines.bridge.proxy.rules.keep_alive import KeepAlive
from pipelines.bridge.proxy.rules.plan import Network
from pipelines.bridge.proxy.rules.shared import ProxyRules
from pipelines.bridge.proxy.wire.shown_by_clients import WireConfigs
from pipelines.bridge.security.tls import TlsContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyEndpoint:
    """What all clients of one port have in common."""

    listener: str
    brokers_name: str
    """What is behind it, for the log: one broker, or any of them."""
    find_brokers: Callable[[], Sequence[Place]]
    """Returns who that is and where it is now, what is tried first at the beginning;
    nothing for a broker that has left."""
    find_address: FindAddress
    suspect: Callable[[int], None]
    """Called with the node id of a broker whose connection has failed or ended."""
    rules: ProxyRules
    cares: Mapping[int, Care]
    connections: Connections
    counters: BridgeCounters
    max_request_bytes: int
    keep_alive: KeepAlive
    room: AnswerRoom
    """For large answers that are held whole."""
    waiting: set[Any]
    """Pairs of which one side is not read now."""
    tls_context: Callable[[], TlsContext] | None
    """Returns the one in force for clients; None without TLS."""
    find_principal: Callable[[bytes], str]
    """Makes a name of a client certificate's subject. Raises: ValueError."""
    broker_tls: TlsContext | None
    """TLS towards brokers; None without."""
    networks: tuple[Network, ...]
    """Load balancers that send a header of PROXY protocol 2."""
    wire_configs: WireConfigs | None = None
    """What is seen of configurations; None where nobody looks."""
