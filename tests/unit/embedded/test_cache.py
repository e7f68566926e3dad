import os
from pathlib import Path

import pytest

from pipelines.embedded.cache import SIGTERM_EXIT_CODE, EmbeddedCache, cache_key


def record(cache, content=b"archive"):
    recording = cache.start_recording()
    Path(recording.arguments()[0].partition("=")[2]).write_bytes(content)
    return recording


def test_an_archive_is_used_once_it_was_recorded(tmp_path):
    cache = EmbeddedCache(tmp_path, "key")
    assert cache.archive_arguments() == []
    record(cache).finish(SIGTERM_EXIT_CODE)
    assert cache.archive_arguments() == [
        f"-XX:SharedArchiveFile={tmp_path}/key/classes.jsa"
    ]
    assert cache.start_recording() is None


@pytest.mark.parametrize("exit_code", [0, 1, 137])
def test_what_a_broker_left_that_did_not_end_in_order_is_not_kept(tmp_path, exit_code):
    cache = EmbeddedCache(tmp_path, "key")
    record(cache).finish(exit_code)
    assert cache.archive_arguments() == []
    assert list(tmp_path.rglob("*.part")) == []


def test_one_of_two_records_and_the_next_may_when_it_has_failed(tmp_path):
    first, second = EmbeddedCache(tmp_path, "key"), EmbeddedCache(tmp_path, "key")
    recording = record(first)
    assert second.start_recording() is None
    recording.finish(137)
    record(second).finish(SIGTERM_EXIT_CODE)
    assert first.archive_arguments() != []


def test_old_entries_go_when_a_new_archive_comes(tmp_path):
    for number in range(5):
        cache = EmbeddedCache(tmp_path, f"key-{number}")
        os.utime(tmp_path / f"key-{number}", (number, number))
    record(cache).finish(SIGTERM_EXIT_CODE)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "key-2",
        "key-3",
        "key-4",
    ]


def test_an_entry_that_others_have_removed_is_made_again(tmp_path):
    cache = EmbeddedCache(tmp_path, "key")
    (tmp_path / "key").rmdir()
    record(cache).finish(SIGTERM_EXIT_CODE)
    assert cache.archive_arguments() != []


def test_a_bootstrap_checkpoint_is_kept(tmp_path):
    cache = EmbeddedCache(tmp_path, "key")
    assert cache.load_bootstrap() is None
    cache.save_bootstrap(b"records")
    assert EmbeddedCache(tmp_path, "key").load_bootstrap() == b"records"
    assert [path.name for path in (tmp_path / "key").iterdir()] == [
        "bootstrap.checkpoint"
    ]


def test_the_key_changes_with_a_jar(tmp_path):
    java, jar = tmp_path / "java", tmp_path / "kafka_2.13.jar"
    java.write_bytes(b"java")
    jar.write_bytes(b"one")
    before = cache_key(str(java), [jar])
    assert cache_key(str(java), [jar]) == before
    jar.write_bytes(b"another")
    assert cache_key(str(java), [jar]) != before
