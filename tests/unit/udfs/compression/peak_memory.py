"""Prints what decoding a push takes at its peak: status and bytes, one line a push.

Usage: python peak_memory.py LIMIT CODEC_ID:PATH...

Each push is decoded in a process of its own, forked when all is imported and compiled.
"""

import os
import sys
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT))

from udfs.otlp.metrics import decode_pushes  # noqa: E402 - path


def memory_bytes(name):
    """Return a line of the process' status: VmRSS is now, VmHWM the peak."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith(name))
    return int(line.split()[1]) * 1024


def decode(bodies, codec_ids, limit):
    decoded = decode_pushes(bodies, codec_ids, max_decompressed_bytes=limit)
    return decoded.pushes["decode_status"][0].as_py()


def measure(limit, codec_id, path):
    bodies = pa.array([Path(path).read_bytes()], pa.binary())
    codec_ids = pa.array([int(codec_id)], pa.int32())
    before = memory_bytes("VmRSS")
    status = decode(bodies, codec_ids, limit)
    print(status, memory_bytes("VmHWM") - before, flush=True)


def main():
    limit = int(sys.argv[1])
    decode(pa.array([b""], pa.binary()), pa.array([0], pa.int32()), limit)
    for push in sys.argv[2:]:
        codec_id, _, path = push.partition(":")
        child = os.fork()
        if child == 0:
            measure(limit, codec_id, path)
            # Without the clean-up of the parent, which goes on.
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            sys.exit(f"{path}: {status}")


main()
