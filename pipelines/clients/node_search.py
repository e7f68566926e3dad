"""The search for a node that serves PushConfig: first any, then a random one.

Strategy: the bootstrap servers are asked in random order until one serves it; one that
does not has cost one round trip, before any login, and is not asked again. What is
wrong with one server does not end the search. Then the cluster's nodes, of which a few
are tried; the server that is known to serve it always stays.
Source: KIP-1324, "Handshake".
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .connection import Connection, open_connection
from .deadlines import Deadline, DeadlinePassed
from .push_plan import PushPlan
from .refusals import Refused
from .security import Address
from .wire import MalformedAnswer

FAULTS = (OSError, MalformedAnswer)
"""Of the network or of a peer: another attempt may succeed."""
_MAX_NODES_TRIED = 3
"""Each has its share of the time, in which TLS and a login must fit."""
_MAX_SEARCHES_BESIDE_ANSWERS = 2


class SearchEnded(Exception):
    """Raised when some servers do not serve it, and others do not answer."""


@dataclass(slots=True)
class NodeSearch:
    """The search of one handshake, over all of its attempts."""

    plan: PushPlan
    pick: random.Random = field(repr=False)
    _without: set[Address] = field(default_factory=set)
    """Servers that have said that they do not serve PushConfig."""
    _has_found: bool = False
    _incomplete: int = 0
    """Searches in which some server said that it does not, and another one nothing."""

    def find_server(self, deadline: Deadline) -> Connection | None:
        """Return a connection to a server that serves PushConfig; None: none does.

        Raises: one of FAULTS where another search may find one; Refused where it will
            not; SearchEnded where it is not worth the application's time.
        """
        servers = [one for one in self.plan.access.servers if one not in self._without]
        self.pick.shuffle(servers)
        fault: Exception | None = None
        refusal: Refused | None = None
        for place, server in enumerate(servers):
            within = Deadline(deadline.remaining_s() / (len(servers) - place))
            try:
                connection = self._open_serving(server, deadline, within)
            except DeadlinePassed:
                raise
            except FAULTS as error:
                fault = error
            except Refused as error:
                refusal = error
            else:
                if connection is not None:
                    self._has_found = True
                    return connection
                self._without.add(server)
        if fault is not None:
            raise self._judge(fault)
        if refusal is not None:
            raise refusal
        return None

    def choose_node(
        self,
        known: Connection,
        prove: Callable[[Connection, Deadline], None],
        deadline: Deadline,
    ) -> Connection:
        """Return a proven connection to a random node that serves PushConfig.

        Args:
            known: A proven connection to one that does.
            prove: Logs in, and says who the client is.
            deadline: Of everything.
        """
        nodes = known.list_nodes(deadline)
        self.pick.shuffle(nodes)
        tried = [(node.host, node.port) for node in nodes[:_MAX_NODES_TRIED]]
        for address in tried:
            if address == known.address:
                return known
            # One more always stays: the node that is known to serve it.
            within = Deadline(deadline.remaining_s() / (len(tried) + 1))
            other = None
            is_proven = False
            try:
                other = self._open_serving(address, deadline, within)
                if other is not None:
                    prove(other, within)
                    is_proven = True
                    return other
            except (*FAULTS, Refused):
                # Unless the time for everything is over, there are others.
                deadline.remaining_s()
            finally:
                if other is not None and not is_proven:
                    other.close()
        return known

    def _open_serving(
        self, address: Address, deadline: Deadline, within: Deadline
    ) -> Connection | None:
        """Return a connection to a node; None where it does not serve PushConfig."""
        plan, connection = self.plan, None
        is_serving = False
        try:
            connection = open_connection(address, plan.access, plan.software, within)
            is_serving = connection.serves(plan.api_key, within)
        except TimeoutError:
            # Its share is over, which need not be all the time there is.
            deadline.remaining_s()
            raise TimeoutError(f"{address[0]}:{address[1]} does not answer") from None
        finally:
            if connection is not None and not is_serving:
                connection.close()
        return connection if is_serving else None

    def _judge(self, fault: Exception) -> Exception:
        """Return what a fault means beside servers that do not serve it.

        A cluster that does not know it must not hold each of its clients up for all
        the time there is, because one of its brokers is away.
        """
        if self._has_found or not self._without:
            return fault
        self._incomplete += 1
        if self._incomplete < _MAX_SEARCHES_BESIDE_ANSWERS:
            return fault
        return SearchEnded(
            f"one server does not serve it, another is out of reach: {describe(fault)}"
        )


def describe(error: Exception) -> str:
    """Return a fault in words."""
    if isinstance(error, MalformedAnswer):
        return str(error)
    strerror = getattr(error, "strerror", None)
    return strerror or str(error) or type(error).__name__
