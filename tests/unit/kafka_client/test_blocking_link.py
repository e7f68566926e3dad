"""Addresses and names that are none, beside those that are."""

import errno
import socket

import pytest

from pipelines.kafka_client.blocking_link import Deadline, open_link
from tests.unit.clients.scripted_node import METADATA, ScriptedNode, metadata
from tests.unit.clients.test_handshake import push

NO_HOSTS = ["a..b", "a" * 64]


def test_an_address_of_a_family_that_the_kernel_lacks_is_passed_over(monkeypatch):
    """As where a resolver gives an address of IPv6 first, and IPv6 is switched off."""
    make, resolve = socket.socket, socket.getaddrinfo

    def make_some(family=-1, *more, **named):
        # The node's own thread makes a socket of what it accepted through here too.
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported")
        return make(family, *more, **named)

    def resolve_both(_host, port, **more):
        return resolve("::1", port, **more) + resolve("127.0.0.1", port, **more)

    with ScriptedNode() as node:
        monkeypatch.setattr(socket, "socket", make_some)
        monkeypatch.setattr(socket, "getaddrinfo", resolve_both)
        open_link(("both", node.address[1]), None, "app", Deadline(5)).close()


@pytest.mark.parametrize("host", NO_HOSTS)
def test_what_can_be_no_server_is_a_fault_of_the_network(host):
    with pytest.raises(ConnectionError, match=rf"^{host}:9092 can be no server$"):
        open_link((host, 9092), None, "app", Deadline(5))


@pytest.mark.parametrize("host", NO_HOSTS)
def test_a_node_with_such_a_name_is_passed_over_for_the_one_that_is_known(host):
    with ScriptedNode() as node:
        node._answers[METADATA] = [metadata((host, 9092))]
        assert push(node).is_pushed


def test_a_server_with_such_a_name_does_not_end_the_search():
    with ScriptedNode() as node:
        servers = f"a..b:9092,{node.server}"
        assert all(push(servers=servers).is_pushed for _ in range(6))
