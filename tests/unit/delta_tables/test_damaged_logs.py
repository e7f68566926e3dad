"""What of a table's log is not as Delta wrote it."""

import pytest

from pipelines.delta_tables.damaged_logs import find_damage

COMMIT = '{"commitInfo":{}}\n{"add":{"path":"x"}}\n'


@pytest.fixture
def log(tmp_path):
    for version in range(4):
        (tmp_path / f"{version:020}.json").write_text(COMMIT)
    return tmp_path


def test_a_whole_log_is_in_order(log):
    (log / f"{2:020}.crc").write_text("{}")
    (log / "_last_checkpoint").write_text("{}")
    assert find_damage(log) is None


@pytest.mark.parametrize(
    "content", [b"", b"\n", COMMIT[:-4].encode(), b"\x00\xff\n", b"1\n"]
)
def test_a_commit_that_cannot_be_read_is_named(log, content):
    (log / f"{2:020}.json").write_bytes(content)
    assert find_damage(log) == f"{2:020}.json cannot be read"


def test_a_commit_that_is_missing_is_named(log):
    (log / f"{1:020}.json").unlink()
    assert find_damage(log) == f"{1:020}.json is missing"


@pytest.mark.parametrize("kind", ["parquet", f"{1:010}.{2:010}.parquet"])
def test_what_stands_in_a_checkpoint_needs_no_commit(log, kind):
    (log / f"{0:020}.json").unlink()
    (log / f"{1:020}.json").write_bytes(b"")
    (log / f"{1:020}.checkpoint.{kind}").touch()
    assert find_damage(log) is None
