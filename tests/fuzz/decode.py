"""Feed mutated pushes to the decode kernel, in several processes.

Usage: python tests/fuzz/decode.py [--inputs 10000000] [--processes 2] [--seed 0]

Pushes with every field and every kind, mutated blindly and with knowledge of protobuf's
structure, decoded in batches with good pushes between them. Each is compared with what
a plain loop over the protobuf classes (upb) reads: accepted or refused, every value of
every column bit by bit, the neighbours untouched. It fails at the first difference, and
when an input takes more than 100 ms.
"""

import argparse
import faulthandler
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Manager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.fuzz.otlp_decoding import FuzzedDecoder  # noqa: E402 - path

ROUNDS = 100
MAX_ROUND_S = 900
"""A round that takes longer hangs; the process then says where, and ends."""
PROGRESS_S = 30


def fuzz(inputs, seed, done, number):
    """Run one process' share; returns what was seen.

    Raises: Different.
    """
    decoder = FuzzedDecoder(seed)
    for part in range(ROUNDS):
        faulthandler.dump_traceback_later(MAX_ROUND_S, exit=True)
        decoder.run(inputs * (part + 1) // ROUNDS - inputs * part // ROUNDS)
        done[number] = inputs * (part + 1) // ROUNDS
    faulthandler.cancel_dump_traceback_later()
    return decoder.statuses, decoder.points, decoder.slowest_s, time.process_time()


def print_progress(runs, done, inputs, began):
    """Say how far it is until all runs have ended."""
    while not all(run.done() for run in runs):
        time.sleep(PROGRESS_S if not any(run.done() for run in runs) else 1)
        so_far, seconds = sum(done.values()), time.monotonic() - began
        print(f"{so_far:>12,} of {inputs:,} inputs, {seconds:.0f} s", flush=True)
        if any(run.done() and run.exception() for run in runs):
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=10_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began, statuses, points, slowest_s, cpu_s = time.monotonic(), Counter(), 0, 0.0, 0.0
    share = arguments.inputs // arguments.processes
    with Manager() as manager, ProcessPoolExecutor(arguments.processes) as pool:
        done = manager.dict()
        runs = [
            pool.submit(fuzz, share, arguments.seed * 1_000 + number, done, number)
            for number in range(arguments.processes)
        ]
        print_progress(runs, done, arguments.inputs, began)
        for run in runs:
            seen, seen_points, slow_s, used_s = run.result()
            statuses.update(seen)
            points += seen_points
            slowest_s, cpu_s = max(slowest_s, slow_s), cpu_s + used_s
    inputs, seconds = statuses.total(), time.monotonic() - began
    print(f"\ninputs    {inputs:>12,} in {seconds:,.0f} s, {cpu_s:,.0f} CPU-seconds")
    print(f"points    {points:>12,} compared, those of neighbours included")
    print(f"slowest   {slowest_s * 1_000:>12.2f} ms of CPU time")
    for status, count in statuses.most_common():
        print(f"  {status:16} {count:>12,}")
    print(f"\nno difference to the protobuf classes; {os.cpu_count()} cores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
