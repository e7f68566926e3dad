import socket

from pipelines.embedded.ports import (
    FIRST_PORT,
    LAST_PORT,
    LOOPBACK,
    is_free_port,
    pick_free_ports,
)


def test_a_port_is_free_until_somebody_listens_and_again_afterwards():
    port = pick_free_ports(1)[0]
    assert is_free_port(port)
    with socket.create_server((LOOPBACK, port)):
        assert not is_free_port(port)
    assert is_free_port(port)


def test_picked_ports_differ_and_lie_below_the_ports_of_outgoing_connections():
    ports = pick_free_ports(100)
    assert len(set(ports)) == 100
    assert all(FIRST_PORT <= port <= LAST_PORT for port in ports)


def test_a_taken_port_is_never_picked():
    everything_but_one = frozenset(range(FIRST_PORT + 1, LAST_PORT + 1))
    assert set(pick_free_ports(2, everything_but_one)) <= {FIRST_PORT}
