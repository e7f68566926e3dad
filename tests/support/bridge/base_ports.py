"""Ports for a proxy whose brokers have theirs beside the bootstrap address."""

from pipelines.embedded.ports import is_free_port, pick_free_ports


def pick_base_port(brokers: int = 1) -> int:
    """Return a free proxy.base_port; so are the ports of brokers 0 to this one."""
    while True:
        (port,) = pick_free_ports(1)
        if all(map(is_free_port, range(port - 1, port + brokers + 1))):
            return port
