"""Print what an idle connection takes of the bridge's memory.

    python tests/bench/connections.py --connections 15000 --state versions

States: `connected` has said nothing; `versions` has had its ApiVersions answered;
`subscribed` has been given a subscription as well, and with it a client instance;
`pushed` has pushed once. A client instance is remembered for its client, and counted
here with its connection.
With --tls the listener is SSL.
"""

import argparse
import socket
import ssl
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.running_bridge import (
    API_VERSIONS,
    GET,
    RunningBridge,
    describe_machine,
    make_push,
    read_reply,
    running_bridge,
)
from tests.support.bridge.certificates import Authority

STATES = ("connected", "versions", "subscribed", "pushed")
WARM_UP = 200
SETTLE_S = 2.0


def open_connections(
    bridge: RunningBridge,
    count: int,
    state: str,
    context: ssl.SSLContext | None,
) -> list[socket.socket]:
    """Open connections one by one, each in the state that is asked for."""
    made = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", bridge.port), 30)
        if context is not None:
            one = context.wrap_socket(one, server_hostname="localhost")
        reach(one, state)
        made.append(one)
    return made


def reach(one: socket.socket, state: str) -> None:
    """Bring a connection into a state."""
    steps = STATES.index(state)
    if steps >= STATES.index("versions"):
        one.sendall(API_VERSIONS)
        read_reply(one)
    if steps >= STATES.index("subscribed"):
        one.sendall(GET)
        reply = read_reply(one)
        if state == "pushed":
            one.sendall(make_push(reply))
            read_reply(one)


def measure(arguments: argparse.Namespace) -> None:
    """Open the connections and print the figures."""
    with ExitStack() as stack:
        words, context = [], None
        if arguments.tls:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            authority = Authority(folder)
            files = authority.issue("bridge", "CN=bridge")
            words.append(
                'listeners=[{name="SSL",port=0,security_protocol="SSL",'
                f'ssl_certificate_location="{files.certificate}",'
                f'ssl_key_location="{files.key}"}}]'
            )
            context = ssl.create_default_context(cafile=str(authority.path))
        bridge = stack.enter_context(running_bridge(*words))
        # What the first connections load and fill stays out of the figure.
        warm = open_connections(bridge, WARM_UP, arguments.state, context)
        time.sleep(SETTLE_S)
        before = bridge.resident_bytes
        began = time.monotonic()
        made = open_connections(bridge, arguments.connections, arguments.state, context)
        seconds = time.monotonic() - began
        time.sleep(SETTLE_S)
        after = bridge.resident_bytes
        print(describe_machine())
        print(
            f"{arguments.connections} {'TLS ' if arguments.tls else ''}connections, "
            f"{arguments.state}, opened in {seconds:.1f} s: "
            f"{(after - before) / arguments.connections:.0f} bytes resident each, "
            f"{after / 2**20:.0f} MiB in all"
        )
        for one in [*warm, *made]:
            one.close()


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=15_000)
    parser.add_argument("--state", choices=STATES, default="versions")
    parser.add_argument("--tls", action="store_true")
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
