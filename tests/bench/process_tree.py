"""CPU time of a process and of all its descendants, read from /proc."""

import os
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
BROKER = "kafka.Kafka"


def cpu_seconds(root: int) -> float:
    """Return user and system seconds of a process tree, brokers left out.

    What has ended counts through its parent, once the parent has waited for it.
    """
    parents, ticks = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        fields = stat.rpartition(")")[2].split()
        pid = int(folder.name)
        parents[pid] = -1 if BROKER.encode() in command else int(fields[1])
        ticks[pid] = sum(map(int, fields[11:15]))
    return sum(ticks[p] for p in ticks if _descends(p, root, parents)) / TICKS_PER_S


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        if pid == root:
            return True
        pid = parents[pid]
    return False
