"""The largest memory of the processes of a job: driver, JVM and Python workers."""

import contextlib
import threading
from collections import Counter
from pathlib import Path

from tests.bench.process_tree import BROKER

PAUSE_S = 0.1
KIB_PER_MIB = 1024
PEAK, NOW = "VmHWM", "VmRSS"
"""Fields of the kernel: the largest resident set so far, and that of this moment."""
DRIVER, JVM, WORKER = "driver", "jvm", "worker"


class MemoryWatch:
    """Looks again and again at a process and all its descendants, until it is left.

    The kernel keeps the peak of each process, so that only one that lives for less than
    the pause between two looks is overlooked.
    """

    def __init__(self, root):
        """Take the id of the process at the root; it counts as the driver."""
        self.peaks_mib = Counter({DRIVER: 0, JVM: 0, WORKER: 0})
        """Of the largest process of each kind, resident set."""
        self._root = root
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()

    def _watch(self):
        while not self._is_over.wait(PAUSE_S):
            for kind, peak_kib in list_sizes(self._root, PEAK):
                peak_mib = peak_kib // KIB_PER_MIB
                self.peaks_mib[kind] = max(self.peaks_mib[kind], peak_mib)


def list_sizes(root, field):
    """Return (kind, KiB) of each process below a root that lives now; PEAK or NOW."""
    parents, found = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError, StopIteration):  # it has ended meanwhile
            command = (folder / "cmdline").read_bytes()
            status = (folder / "status").read_text(encoding="utf-8", errors="replace")
            fields = dict(line.split(":", 1) for line in status.splitlines())
            pid = int(folder.name)
            parents[pid] = int(fields["PPid"])
            if command != (folder / "cmdline").read_bytes():
                continue  # it was a copy of its parent until it began another program
            if field in fields and BROKER.encode() not in command:
                found[pid] = _kind(command), int(fields[field].split()[0])
    return [found[pid] for pid in found if _descends(pid, root, parents)]


def _kind(command):
    if b"pyspark.daemon" in command:
        return WORKER
    return JVM if b"org.apache.spark" in command else DRIVER


def _descends(pid, root, parents):
    while pid in parents:
        if pid == root:
            return True
        pid = parents[pid]
    return False
