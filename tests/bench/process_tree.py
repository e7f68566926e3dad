"""CPU time of a process and of all its descendants, read from /proc."""

import os
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
BROKER = "kafka.Kafka"


def cpu_seconds(root: int) -> float:
    """Return user and system seconds of a process tree, brokers left out.

    What has ended counts through its parent, once the parent has waited for it.
    """
    ticks = 0
    for pid in list_tree(root):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(
                encoding="utf-8", errors="replace"
            )
        except OSError:
            continue  # it has ended meanwhile
        ticks += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / TICKS_PER_S


def list_tree(root: int) -> dict[int, bytes]:
    """Return the processes of a tree with their command lines, brokers left out."""
    parents, lines = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        pid = int(folder.name)
        is_broker = BROKER.encode() in line
        parents[pid] = -1 if is_broker else int(stat.rpartition(")")[2].split()[1])
        lines[pid] = line
    return {pid: lines[pid] for pid in lines if _descends(pid, root, parents)}


def _descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        if pid == root:
            return True
        pid = parents[pid]
    return False
