"""Print how long a good client waits beside some that pipeline and never read.

    python tests/bench/pipelined_requests.py --flooding 50

Each of those sends ApiVersions as fast as the bridge takes it, from a process of its
own. The good clients push at an even rate; each push is acknowledged by Kafka. Rounds
with and without the flood alternate.
"""

import argparse
import select
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.push_load import api_versions_frame
from tests.bench.running_bridge import describe_machine, running_bridge
from tests.bench.slow_clients import PATIENT, SUBSCRIPTION, push_evenly, say

FRAMES_AT_ONCE = 2_000


def flood(port: int, count: int) -> None:
    """Ask and never read, until the standard input ends."""
    frames = memoryview(api_versions_frame() * FRAMES_AT_ONCE)
    left = {}
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", port))
        one.setblocking(False)
        left[one] = frames
    print("flooding", flush=True)
    while True:
        readable, writable, _ = select.select([sys.stdin], list(left), [])
        if readable:
            return
        for one in writable:
            with suppress(BlockingIOError):
                sent = one.send(left[one])
                # What is cut goes on where it was cut.
                left[one] = left[one][sent:] or frames


@contextmanager
def flooding(port: int, count: int):
    """Flood a bridge meanwhile."""
    words = [sys.executable, __file__, "--flood", str(port), "--flooding", str(count)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
    try:
        process.stdout.readline()
        yield
    finally:
        process.stdin.close()
        process.wait(30)


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flooding", type=int, default=50)
    parser.add_argument("--pushes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flood", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.flood:
        flood(arguments.flood, arguments.flooding)
        return
    print(describe_machine())
    alone, beside = [], []
    with running_bridge(SUBSCRIPTION, *PATIENT) as bridge:
        push_evenly(bridge, arguments.pushes)  # Kafka and the bridge warm up
        for _ in range(arguments.rounds):
            alone += push_evenly(bridge, arguments.pushes)
            with flooding(bridge.port, arguments.flooding):
                beside += push_evenly(bridge, arguments.pushes)
    say("alone", alone)
    say(f"beside {arguments.flooding} that never read", beside)


if __name__ == "__main__":
    main()
