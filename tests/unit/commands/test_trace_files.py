"""Files of traces do not gather: the newest stay, and those of running commands."""

import os
import subprocess

from pipelines.commands.trace_files import FILES_KEPT, name_trace_file, remove_old_files


def test_the_newest_files_and_those_of_running_commands_stay(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = [f"20260301T{hour:02}0000Z-{ended.pid}.log" for hour in range(24)]
    running = f"20260228T000000Z-{os.getpid()}.log"
    for name in (running, *names, "other.log"):
        (tmp_path / name).touch()
    remove_old_files(tmp_path)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [running, *names[-FILES_KEPT:], "other.log"]


def test_a_name_says_when_and_whose(tmp_path):
    name = name_trace_file()
    assert name.startswith("20")
    assert name.endswith(f"Z-{os.getpid()}.log")
    remove_old_files(tmp_path / "not there")
