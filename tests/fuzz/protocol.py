"""Feed mutated frames to the whole protocol core, in several processes.

Usage: python tests/fuzz/protocol.py [--frames 10000000] [--processes 2] [--seed 0]

Valid requests of every API and version that the bridge serves, mutated blindly and
with knowledge of the protocol, through the real readers, rules and writers; Kafka
acknowledges, is late, or refuses. It fails when anything but a defined error escapes,
a reply cannot be read by kio or is out of order, a frame takes more than 100 ms, or
memory grows.
"""

import argparse
import faulthandler
import os
import resource
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fuzz.connection import Broken, Seen  # noqa: E402 - path
from tests.fuzz.core import FuzzedCore  # noqa: E402 - path

ROUNDS = 50
WARM_UP_ROUNDS = 5
USUAL_VERSIONS = 20
MAX_ROUND_S = 600
"""A round that takes longer hangs; the process then says where, and ends."""
MAX_GROWTH_BYTES = 50_000_000
MAX_ADDRESS_SPACE_BYTES = 4 * 2**30
"""A reservation for what a peer claims fails instead of being paid for lazily."""


def resident_bytes():
    """Return what this process holds; its maximum where the system tells no more."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fuzz(frames, seed):
    """Run one process' share; return what was seen and how memory went.

    Raises: Broken.
    """
    limits = MAX_ADDRESS_SPACE_BYTES, resource.RLIM_INFINITY
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, limits)
    core, memory = FuzzedCore(seed), []
    for _ in range(ROUNDS):
        faulthandler.dump_traceback_later(MAX_ROUND_S, exit=True)
        core.run(frames // ROUNDS)
        memory.append(resident_bytes())
    faulthandler.cancel_dump_traceback_later()
    growth = max(memory) - memory[WARM_UP_ROUNDS - 1]
    if growth > MAX_GROWTH_BYTES:
        raise Broken(f"memory grew by {growth} bytes: {memory}")
    return core.seen, memory


def print_report(seen, memories, seconds):
    print(f"frames       {seen.frames:>12,} on {seen.connections:,} connections")
    print(f"pushes       {seen.plain_pushes:>12,} read at once")
    print(f"speed        {seen.frames / seconds:>12,.0f} frames/s, {seconds:.0f} s")
    print(f"slowest      {seen.slowest_s * 1_000:>12.1f} ms of CPU time")
    for memory in memories:
        first, last = memory[WARM_UP_ROUNDS - 1], memory[-1]
        print(
            f"resident     {first / 1e6:>12.1f} MB after warm-up, {last / 1e6:.1f} MB"
        )
    print("\nAPI key  answers    versions")
    totals, versions = Counter(), {}
    for (api_key, version), count in seen.answers.items():
        totals[api_key] += count
        versions.setdefault(api_key, set()).add(version)
    for api_key, count in sorted(totals.items()):
        usual = [one for one in sorted(versions[api_key]) if 0 <= one < USUAL_VERSIONS]
        others = len(versions[api_key]) - len(usual)
        text = ", ".join(map(str, usual)) + (f" and {others} others" if others else "")
        print(f"{api_key:7} {count:10,}   {text}")
    print("\nrequests that ended their connection")
    for name, count in sorted(seen.unasked.items()):
        print(f"{name:20} {count:10,}")
    print("\ncounted by the bridge")
    for name, count in seen.counts.items():
        print(f"{name:30} {count:10,}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--frames", type=int, default=10_000_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began, seen, memories = time.monotonic(), Seen(), []
    share = arguments.frames // arguments.processes
    with ProcessPoolExecutor(arguments.processes) as pool:
        runs = [
            pool.submit(fuzz, share, arguments.seed * 1_000 + number)
            for number in range(arguments.processes)
        ]
        for run in runs:
            one, memory = run.result()
            seen.add(one)
            memories.append(memory)
    print_report(seen, memories, time.monotonic() - began)
    print("\nnothing escaped, every reply was whole and in order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
