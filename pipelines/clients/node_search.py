"""The search for a node that serves what a plan wants: first any, then a random one.

What is wanted is PushConfig, DescribeClientConfigs or both; a node with one of them
serves it. Strategy: the bootstrap servers are asked in random order until one does; one
that does not has cost one round trip, before any login, and is not asked again; nor is
one that has refused. What is wrong with one server does not end the search. Then the
cluster's nodes, of which a few are tried; the server that is known to serve it always
stays.
Source: KIP-1324, "Handshake".
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .kafka_client.blocking_link import (
    BlockingLink,
    Deadline,
    DeadlinePassed,
    open_link,
)
from .kafka_client.faults import Refused, describe
from .kafka_client.messages import Served
from .kafka_client.primitives import MalformedBytes
from .kafka_client.properties import Address
from .kafka_client.session import ask_versions, list_nodes
from .push_plan import PushPlan

FAULTS = (OSError, MalformedBytes)
"""Of the network or of a peer: another attempt may succeed."""
_MAX_NODES_TRIED = 3
"""Each has its share of the time, in which TLS and a login must fit."""
_MAX_SEARCHES_BESIDE_ANSWERS = 2
_SHORT_SHARE_S = 1.0
"""For one of several servers to answer, until all have been asked once, and beside one
that has answered without it."""
_MAX_REFUSAL_LENGTH = 500


Found = tuple[BlockingLink, Served]
"""A connection to a node, and what the node serves."""


class SearchEnded(Exception):
    """Raised when some servers do not serve it, and others do not answer."""


@dataclass(slots=True)
class NodeSearch:
    """The search of one handshake, over all of its attempts."""

    plan: PushPlan
    pick: random.Random = field(repr=False)
    _without: set[Address] = field(default_factory=set)
    """Servers that have said that they do not serve it."""
    _refused: dict[Address, Refused] = field(default_factory=dict)
    """What servers and nodes have refused; it is not repeated."""
    _has_found: bool = False
    _searches: int = 0
    _incomplete: int = 0
    """Searches in which some server said that it does not, and another one nothing."""

    def find_server(self, deadline: Deadline) -> Found | None:
        """Return a connection to a server that serves it; None: none does.

        Raises: one of FAULTS where another search may find one; Refused where it will
            not; SearchEnded where it is not worth the application's time.
        """
        settled = self._without | self._refused.keys()
        servers = [one for one in self.plan.access.servers if one not in settled]
        self.pick.shuffle(servers)
        faults: list[Exception] = []
        for place, server in enumerate(servers):
            within = self._take_share(deadline, len(servers) - place)
            try:
                found = self._open_serving(server, deadline, within)
            except DeadlinePassed:
                raise
            except FAULTS as error:
                faults.append(error)
            except Refused as error:
                self._refused[server] = error
            else:
                if found is not None:
                    self._has_found = True
                    return found
                self._without.add(server)
        self._searches += 1
        if faults:
            raise self._judge(faults)
        for refusal in self._refused.values():
            raise refusal
        return None

    def describe_refusal(self) -> str:
        """Return what one server has refused; empty where none has."""
        for (host, port), refusal in self._refused.items():
            return f"{host}:{port} refuses: {describe_refusal(refusal)}"
        return ""

    def choose_node(
        self,
        known: Found,
        prove: Callable[[BlockingLink, Served, Deadline], None],
        deadline: Deadline,
    ) -> Found:
        """Return a proven connection to a random node that serves it.

        Args:
            known: A proven connection to one that does.
            prove: Logs in, and says who the client is.
            deadline: Of everything.
        """
        nodes = known[0].hold(list_nodes(), deadline)
        self.pick.shuffle(nodes)
        addresses = [(node.host, node.port) for node in nodes]
        open_ones = [one for one in addresses if one not in self._refused]
        tried = open_ones[:_MAX_NODES_TRIED]
        for address in tried:
            if address == known[0].address:
                return known
            # One more always stays: the node that is known to serve it.
            within = Deadline(deadline.remaining_s() / (len(tried) + 1))
            other = None
            is_proven = False
            try:
                found = self._open_serving(address, deadline, within)
                if found is not None:
                    other, served = found
                    prove(other, served, within)
                    is_proven = True
                    return found
            except FAULTS:
                # Unless the time for everything is over, there are others.
                deadline.remaining_s()
            except Refused as error:
                self._refused[address] = error
            finally:
                if other is not None and not is_proven:
                    other.close()
        return known

    def _open_serving(
        self, address: Address, deadline: Deadline, within: Deadline
    ) -> Found | None:
        """Return a connection to a node; None where it does not serve it."""
        plan, link, served = self.plan, None, None
        try:
            tls, client_id = plan.access.tls, plan.software.client_id
            link = open_link(address, tls, client_id, within)
            # A node that is too old for this serves none of it either.
            served = link.hold(ask_versions(plan.software), within)
        except TimeoutError:
            # Its share is over, which need not be all the time there is.
            deadline.remaining_s()
            raise TimeoutError(f"{address[0]}:{address[1]} does not answer") from None
        finally:
            is_serving = served is not None and not plan.api_keys.isdisjoint(served)
            if link is not None and not is_serving:
                link.close()
        return (link, served) if served is not None and is_serving else None

    def _take_share(self, deadline: Deadline, places: int) -> Deadline:
        """Return what one server may take where so many are still to be asked."""
        share_s = deadline.remaining_s() / places
        is_one_of_several = len(self.plan.access.servers) > 1
        is_short = not self._has_found and (self._without or not self._searches)
        if is_one_of_several and is_short:
            share_s = min(share_s, _SHORT_SHARE_S)
        return Deadline(share_s)

    def _judge(self, faults: list[Exception]) -> Exception:
        """Return what faults mean beside servers that do not serve it.

        A cluster that does not know it must not hold each of its clients up for all
        the time there is, because one of its brokers is away. One that keeps silent
        has cost enough.
        """
        fault = faults[-1]
        if self._has_found or not self._without:
            return fault
        self._incomplete += 1
        is_silent = any(isinstance(one, TimeoutError) for one in faults)
        if self._incomplete < _MAX_SEARCHES_BESIDE_ANSWERS and not is_silent:
            return fault
        return SearchEnded(
            f"one server does not serve it, another is out of reach: {describe(fault)}"
        )


def describe_refusal(refusal: Refused) -> str:
    """Return a refusal, and the peer's words about it."""
    text = f"{refusal}: {refusal.said}" if refusal.said else str(refusal)
    return text[:_MAX_REFUSAL_LENGTH]
