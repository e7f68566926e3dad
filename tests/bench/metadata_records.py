"""What the records of a cluster cost: snapshots passed over, rows made.

`python tests/bench/metadata_records.py [--rounds 3]`: a snapshot of a million records of
other types is written to a file and passed over, batch by batch, in a process of its own
on one core, whose memory is what it takes beyond its start;
framed records become rows. It prints and never fails.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import pyarrow as pa  # noqa: E402 - path

from pipelines.feed.record_batches import BatchStream, read_records  # noqa: E402 - path
from tests.support.kafka.metadata_logs import control_batch, write_batch  # noqa: E402 - path
from udfs.cluster.metadata_records import read_metadata_records  # noqa: E402 - path
from udfs.cluster.record_fields import RECORD_FIELDS  # noqa: E402 - path
from udfs.cluster.record_writing import (  # noqa: E402 - path
    write_client_quota,
    write_config,
    write_register_broker,
)

RECORDS = 1_000_000
BATCH_RECORDS = 10_000
PIECE_BYTES = 1 << 20
ROWS = 50_000
KIB_PER_MIB = 1024
# PartitionRecord 2: a topic's id, three replicas in sync, two directories.
PARTITION = (
    b"\x01\x03\x02"
    + bytes(4)
    + bytes(range(16))
    + 3 * (b"\x04" + bytes(12))
    + bytes(60)
)
WANTED = frozenset(one.api_key for one in RECORD_FIELDS.values())


def main():
    """Print all figures of some rounds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pass-over", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.pass_over:
        print(*pass_over(Path(given.pass_over)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot"
        size = write_snapshot(path)
        print(f"a snapshot of {RECORDS} records, {size >> 20} MiB")
        for _ in range(given.rounds):
            words = [sys.executable, __file__, "--pass-over", str(path)]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            seconds, mib, passed_over = done.stdout.split()
            print(
                f"  passed over {passed_over} in {float(seconds):.2f} s, {mib} MiB more"
            )
    report("rows made", given.rounds, ROWS, rows_maker())


def write_snapshot(path):
    """Write it; returns its bytes."""
    with path.open("wb") as file:
        file.write(control_batch(3, bytes(11)))
        for start in range(0, RECORDS, BATCH_RECORDS):
            file.write(write_batch([PARTITION] * BATCH_RECORDS, base_offset=1 + start))
        file.write(control_batch(4, bytes(3), base_offset=RECORDS + 1))
    return path.stat().st_size


def pass_over(path):
    """Return CPU-seconds, MiB beyond the start, and how many were passed over."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    before_kib = read_status_kib("VmRSS")
    begun, count, stream = time.process_time(), 0, BatchStream()
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            stream.receive_data(piece)
            while (batch := stream.next_batch()) is not None:
                count += read_records(batch, WANTED).passed_over.total()
    seconds, peak_kib = time.process_time() - begun, read_status_kib("VmHWM")
    return seconds, (peak_kib - before_kib) // KIB_PER_MIB, count


def read_status_kib(name):
    """Return a figure that the kernel keeps of this process."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields[name].split()[0])


def rows_maker():
    """Return what makes rows of configs, quotas and a few brokers."""
    configs = [(f"some.config.{n}", "value") for n in range(192)]
    broker = write_register_broker(
        broker_id=1, endpoints=[], rack="r", fenced=False, static_configs=configs
    )
    values = [
        broker
        if n % 1000 == 0
        else write_client_quota([("user", f"u{n}")], "producer_byte_rate", float(n))
        if n % 2
        else write_config(2, f"topic-{n}", "retention.ms", str(n))
        for n in range(ROWS)
    ]
    column = pa.array(values)
    return lambda: read_metadata_records(column)


def report(what, rounds, count, run):
    """Print how many of something a CPU-second is enough for."""
    rates = []
    for _ in range(rounds):
        begun = time.process_time()
        run()
        rates.append(count / (time.process_time() - begun) / 1e6)
    print(
        f"{what}: {statistics.median(rates):.2f} M/CPU-second "
        f"({min(rates):.2f} to {max(rates):.2f})"
    )


if __name__ == "__main__":
    main()
