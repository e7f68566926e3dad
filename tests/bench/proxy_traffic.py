"""What it costs to count what clients produce and fetch: with and without, in turn.

Usage: nice python tests/bench/proxy_traffic.py [--rounds 6] [--seconds 4]
                                                [--megabytes 200] [--frames-only]

A real Kafka, two bridge processes in front of it that differ in
proxy.traffic_interval_ms alone (0 and a second, which is sixty times as often as by
default), and librdkafka clients, as in proxy.py. Printed, median and range of the
rounds: CPU-seconds of each bridge for each small record and for each GB, and what
counting adds. First, without any of these, what it adds to a request and its answer:
frames of Produce and Fetch, as librdkafka sends them, through both directions.
"""

import struct
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.bridge.proxy.frames.line import Care, Line  # noqa: E402 - path
from pipelines.bridge.proxy.frames.request_frames import RequestFrames  # noqa: E402 - path
from pipelines.bridge.proxy.frames.response_frames import ResponseFrames  # noqa: E402 - path
from pipelines.bridge.proxy.frames.traffic import TrafficWatch  # noqa: E402 - path
from pipelines.bridge.proxy.frames.versions import FETCH, PRODUCE  # noqa: E402 - path
from tests.bench.proxy import US, spread  # noqa: E402 - path
from tests.bench.proxy_wire_configs import (  # noqa: E402 - path
    FRAMES,
    WITH,
    WITHOUT,
    compare_bridges,
    make_fetch,
    make_frame,
    make_produce,
    parse_arguments,
    print_added,
)

PRODUCED = struct.pack(">ii", 51, 7) + bytes([0, 2, 6]) + b"topic" + bytes(39)
"""An answer to Produce of version 10: nothing is throttled, no leader is elsewhere."""
PIECES = [
    struct.pack(">ii", 4 * 65_536 - 4, 7) + bytes(65_528),
    *[bytes(65_536)] * 3,
]
"""An answer to Fetch of 256 kB, as it comes."""


def measure_frames(rounds):
    """Print the CPU of passing one request and its answer, in turn."""
    cases = (
        ("Produce", make_produce(), [PRODUCED]),
        ("Fetch", make_fetch(), PIECES),
    )
    for name, made, answer in cases:
        frame = make_frame(*made)
        times = {WITHOUT: [], WITH: []}
        for _ in range(rounds):
            for which, values in times.items():
                values.append(time_frames(frame, answer, is_counted=which == WITH))
        for which, values in times.items():
            print(f"{name:8} {which:8} us a request and its answer  {spread(values)}")
        print_added(times)


def time_frames(frame, answer, *, is_counted):
    begun = []
    watch = TrafficWatch(None, begin=begun.append, end=None, retire=None)
    line = Line()
    requests = RequestFrames(
        line,
        cares={PRODUCE: Care.PRODUCE, FETCH: Care.FETCH},
        reader=None,
        find_address=None,
        to_broker=len,
        max_read_bytes=1,
        traffic=watch if is_counted else None,
    )
    responses = ResponseFrames(
        line, find_address=None, to_client=len, note_large=lambda: None
    )
    began = time.process_time()
    for _ in range(FRAMES):
        requests.receive(frame)
        for piece in answer:
            responses.receive(piece)
    took = time.process_time() - began
    assert not line
    assert len(begun) == is_counted
    return took / FRAMES * US


def main():
    arguments = parse_arguments(__doc__, "--frames-only")
    measure_frames(arguments.rounds)
    if not arguments.frames_only:
        compare_bridges(
            arguments,
            lambda which: f"proxy.traffic_interval_ms={1_000 if which == WITH else 0}",
        )


if __name__ == "__main__":
    main()
