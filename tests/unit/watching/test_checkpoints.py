"""Files as Spark and the jobs leave them, at every point of a micro-batch."""

import json
import os
import subprocess
import sys

import pytest

from pipelines.watching.checkpoints import is_claimed, read_progress

TOPIC = "t"
HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
"""What a JVM does by tryLock(), which is the same lock of the system."""


def offsets_file(**offsets):
    """Return a file of Spark's log: version, metadata, the offsets of the source."""
    by_partition = {name.removeprefix("p"): n for name, n in offsets.items()}
    return f'v1\n{{"batchTimestampMs":1}}\n{json.dumps({TOPIC: by_partition})}'


def write(folder, name, text=""):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def start(folder, **offsets):
    by_partition = {name.removeprefix("p"): n for name, n in offsets.items()}
    text = json.dumps({"topic": TOPIC, "starting_offsets": by_partition})
    write(folder, "kafka_clientele/start.json", text)


def test_a_folder_that_no_job_has_begun_tells_nothing(tmp_path):
    assert read_progress(tmp_path / "none", TOPIC) is None
    assert read_progress(tmp_path, TOPIC) is None


def test_before_the_first_micro_batch_the_start_counts(tmp_path):
    start(tmp_path, p0=-2, p1=7)
    progress = read_progress(tmp_path, TOPIC)
    assert (progress.position, progress.committed_ms) == ({1: 7}, None)


def test_a_micro_batch_that_is_planned_is_not_read_yet(tmp_path):
    start(tmp_path, p0=-2, p1=-2)
    write(tmp_path, "sources/0/0", f'v1\n{{"{TOPIC}":{{"0":3,"1":0}}}}')
    write(tmp_path, "offsets/0", offsets_file(p0=5, p1=2))
    progress = read_progress(tmp_path, TOPIC)
    assert (progress.position, progress.committed_ms) == ({0: 3, 1: 0}, None)


def test_the_newest_committed_micro_batch_counts(tmp_path):
    start(tmp_path, p0=-2)
    for number in (8, 9, 10, 11):
        write(tmp_path, f"offsets/{number}", offsets_file(p0=number * 10))
    write(tmp_path, "offsets/.11.crc")
    for number in (8, 9, 10):
        path = write(tmp_path, f"commits/{number}", "v1\n{}")
        os.utime(path, (number, number))
    progress = read_progress(tmp_path, TOPIC)
    assert (progress.position, progress.committed_ms) == ({0: 100}, 10_000)
    write(tmp_path, "commits/11", "v1\n{}")
    assert read_progress(tmp_path, TOPIC).position == {0: 110}


def test_another_topic_of_the_same_folder_is_not_counted(tmp_path):
    start(tmp_path, p0=0)
    write(tmp_path, "offsets/0", offsets_file(p0=9))
    write(tmp_path, "commits/0", "v1\n{}")
    assert read_progress(tmp_path, "other").position == {}


@pytest.mark.skipif(sys.platform not in {"linux", "darwin"}, reason="locks differ")
def test_a_claim_is_seen_while_its_process_lives_and_is_never_taken(tmp_path):
    assert is_claimed(tmp_path, "job") is False
    path = write(tmp_path, ".job.lock", "{}")
    assert is_claimed(tmp_path, "job") is False
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert is_claimed(tmp_path, "job") is True
        # Opening and closing the file in this process ends no lock of the other one.
        assert is_claimed(tmp_path, "job") is True
        holder.kill()
        holder.wait()
        assert is_claimed(tmp_path, "job") is False


def test_what_may_not_be_read_is_not_known(tmp_path):
    (tmp_path / ".job.lock").mkdir()
    assert is_claimed(tmp_path, "job") is None
