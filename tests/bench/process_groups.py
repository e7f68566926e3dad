"""CPU time and memory of some processes and their descendants, told apart by kind."""

import contextlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.bench.process_tree import TICKS_PER_S

KIB_PER_MIB = 1024
JOB = "job"
"""Of this root the JVM, its driver in Python and Python's workers are told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """What each group of processes has taken up to now."""

    cpu_s: Mapping[str, float]
    """User and system, of those that have ended as well."""
    peak_mib: Mapping[str, int]
    """Greatest resident set of each process that lives, summed up."""
    machine_s: float
    """What all processes of the machine have taken, these and others."""

    def cpu_since(self, before: "Groups") -> dict[str, float]:
        """Return what has been taken since."""
        return {name: self.cpu_s[name] - before.cpu_s[name] for name in self.cpu_s}


def read_groups(roots: Mapping[str, int]) -> Groups:
    """Look at processes.

    Args:
        roots: Name of a group to the id of its first process.
    """
    parents, taken = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with contextlib.suppress(OSError):  # it has ended meanwhile
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            status = (folder / "status").read_text(encoding="utf-8", errors="replace")
            command = (folder / "cmdline").read_bytes()
            fields = stat.rpartition(")")[2].split()
            stated = dict(line.split(":", 1) for line in status.splitlines())
            pid = int(folder.name)
            parents[pid] = int(fields[1])
            ticks = sum(map(int, fields[11:15]))
            peak_kib = int(stated.get("VmHWM", "0 kB").split()[0])
            taken[pid] = command, ticks / TICKS_PER_S, peak_kib // KIB_PER_MIB
    names = {pid: name for name, pid in roots.items()}
    cpu_s, peak_mib = (
        Counter(dict.fromkeys(roots, 0.0)),
        Counter(dict.fromkeys(roots, 0)),
    )
    for pid, (command, seconds, mib) in taken.items():
        root = _find_root(pid, names, parents)
        if root is not None:
            name = _kind(command) if names[root] == JOB else names[root]
            cpu_s[name] += seconds
            peak_mib[name] += mib
    return Groups(cpu_s=cpu_s, peak_mib=peak_mib, machine_s=_read_machine_s())


def _read_machine_s() -> float:
    words = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()
    user, nice, system, _idle, _waiting, *interrupts = map(int, words[1:8])
    return (user + nice + system + sum(interrupts)) / TICKS_PER_S


def _find_root(
    pid: int, names: Mapping[int, str], parents: Mapping[int, int]
) -> int | None:
    while pid not in names:
        if pid not in parents:
            return None
        pid = parents[pid]
    return pid


def _kind(command: bytes) -> str:
    if b"pyspark.daemon" in command:
        return "job, workers"
    return "job, JVM" if os.fsencode("org.apache.spark") in command else "job, driver"
