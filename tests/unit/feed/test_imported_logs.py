"""Copied logs become records of the topic: each once, and full sets where needed."""

import base64
import json
from collections import Counter

import pytest

from pipelines.feed.imported_logs import LogImport
from pipelines.feed.log_files import (
    BatchFault,
    Segment,
    find_cluster_ids,
    find_files,
    read_batches,
)
from pipelines.settings import (
    load_broker_configs,
    load_config_catalogs,
    load_settings,
)
from pipelines.settings.rules import make_published_rules
from tests.support.kafka.metadata_logs import (
    START_MS,
    control_batch,
    wrap_batch,
    write_batch,
    write_snapshot,
)
from tests.unit.udfs.cluster.golden_records import golden_records
from udfs.cluster.record_bytes import read_record, write_record
from udfs.cluster.record_writing import write_config

RULES = make_published_rules(
    load_settings("local").sensitive_keys,
    load_config_catalogs(),
    load_broker_configs(),
)
NOW_MS = 1_800_000_000_000
NO_OP, BEGIN, END, ABORT = (bytes([1, key, 0, 0]) for key in (20, 23, 24, 25))


def config(value, key="retention.ms"):
    return write_config(2, "t", key, value)


class Log:
    """Files of a log in a folder, and what an import makes of them."""

    def __init__(self, folder):
        self.folder = folder

    def add(self, base_offset, *batches):
        (self.folder / f"{base_offset:020d}.log").write_bytes(b"".join(batches))

    def snap(self, end_offset, data, epoch=1):
        name = f"{end_offset:020d}-{epoch:010d}.checkpoint"
        (self.folder / name).write_bytes(data)

    def read(self):
        """Return (key or set, value or count, offset) of each record, and faults."""
        files = find_files([self.folder])
        self.reading = LogImport(RULES, cluster_id="c", observed_at_ms=NOW_MS)
        batches = (one for each in files.segments for one in read_batches(each.path))
        self.records = list(
            self.reading.read_log(
                batches, files.snapshots, lambda one: read_batches(one.path)
            )
        )
        return [_shown(one) for one in self.records], self.reading.counts.faults


def _shown(record):
    if record.key.startswith("full_set/"):
        return "set", json.loads(record.value)["records"], record.number("offset")
    value = read_record(record.value).fields["value"]
    is_of_set = record.text("set_id") is not None
    return "of set" if is_of_set else "", value, record.number("offset")


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path)


def test_a_log_is_told_record_by_record_with_its_exact_times(log):
    log.add(
        0, control_batch(2, bytes(12)), write_batch([config("1"), NO_OP], base_offset=1)
    )
    log.add(3, write_batch([config("2")], base_offset=3, epoch=4))
    assert log.read() == ([("", "1", 1), ("", "2", 3)], {})
    headers = [dict(one.headers) for one in log.records]
    assert headers[1] == {
        "cluster_id": b"c",
        "source": b"file",
        "observed_at_ms": b"%d" % NOW_MS,
        "offset": b"3",
        "epoch": b"4",
        "timestamp_ms": b"%d" % START_MS,
    }
    assert log.records[0].key == "Config/topics/t/retention.ms"
    assert log.reading.counts.passed_over == {"NoOp": 1}
    assert log.reading.counts.published == {"Config": 2}


def topic_record(kind, number=1):
    topic_id = base64.urlsafe_b64encode(bytes(15) + bytes([number])).decode()[:22]
    return write_record(kind, 0, {"name": "t", "topic_id": topic_id})


def test_log_import_with_removed_topic_removes_its_configs(log):
    log.add(
        0,
        write_batch([topic_record("Topic"), config("1"), topic_record("RemoveTopic")]),
        write_batch([topic_record("Topic", 2)], base_offset=3),
    )
    assert log.read() == ([("", "1", 1), ("", None, 2)], {})
    assert log.reading.counts.passed_over == {"Topic": 2, "RemoveTopic": 1}


def test_snapshot_import_with_topic_removed_later_removes_its_configs(log):
    log.snap(5, write_snapshot([topic_record("Topic"), config("5")]))
    log.add(5, write_batch([topic_record("RemoveTopic")], base_offset=5))
    told, faults = log.read()
    assert told == [("of set", "5", 4), ("set", 1, 4), ("", None, 5)]
    assert faults == {}


def test_a_snapshot_alone_is_a_full_set(log):
    log.snap(
        100, write_snapshot([config("1"), NO_OP, config("2", "segment.ms")], epoch=3), 3
    )
    assert log.read() == (
        [("of set", "1", 99), ("of set", "2", 99), ("set", 2, 99)],
        {},
    )
    assert {one.text("set_id") for one in log.records} == {f"file-{NOW_MS}-100-3"}
    assert log.records[-1].key == f"full_set/file-{NOW_MS}-100-3"
    assert json.loads(log.records[-1].value)["covers"] == [
        "brokers",
        "configs",
        "quotas",
        "subscriptions",
    ]
    assert {one.number("timestamp_ms") for one in log.records} == {START_MS}


def test_a_snapshot_that_the_log_has_told_all_of_is_not_told_again(log):
    log.add(0, write_batch([config("1"), config("2")]))
    log.snap(2, write_snapshot([config("2")]))
    log.snap(0, write_snapshot([]))
    assert log.read() == ([("", "1", 0), ("", "2", 1)], {})


def test_a_log_that_begins_late_goes_on_behind_its_snapshot(log):
    log.snap(5, write_snapshot([config("5")]))
    log.add(3, write_batch([config("3"), config("4"), config("6")], base_offset=3))
    told, faults = log.read()
    assert told == [("of set", "5", 4), ("set", 1, 4), ("", "6", 5)]
    assert faults == {}


def test_a_gap_is_told_and_the_next_snapshot_is_a_full_set(log):
    log.add(0, write_batch([config("1")]))
    log.add(5, write_batch([config("6")], base_offset=5))
    log.snap(6, write_snapshot([config("6")]))
    told, faults = log.read()
    assert told == [("", "1", 0), ("", "6", 5), ("of set", "6", 5), ("set", 1, 5)]
    assert faults == {"gap": 1}


def test_records_of_two_copies_are_told_once(log):
    log.add(0, write_batch([config("1"), config("2")]))
    log.add(1, write_batch([config("2"), config("3")], base_offset=1))
    assert log.read() == ([("", "1", 0), ("", "2", 1), ("", "3", 2)], {})


def test_transactions_are_told_at_their_end_or_not_at_all(log):
    values = [BEGIN, config("1"), END, BEGIN, config("2"), ABORT, BEGIN, config("3")]
    log.add(0, write_batch(values))
    assert log.read() == ([("", "1", 1)], {"open_transaction": 1})


def test_an_unreadable_batch_is_counted_and_the_next_is_read(log):
    broken = bytearray(write_batch([config("1")]))
    broken[-1] ^= 1
    log.add(
        0,
        bytes(broken),
        wrap_batch(b"", count=0, magic=1),
        write_batch([config("2")], base_offset=1, codec_id=6),
        write_batch([config("3")], base_offset=2),
        write_batch([config("4")], base_offset=3)[:-1],
    )
    told, faults = log.read()
    assert told == [("", "3", 2)]
    assert faults == {
        "wrong_crc": 1,
        "unknown_magic": 1,
        "unknown_codec": 1,
        "cut_off": 1,
    }


def test_a_record_that_is_cut_is_counted_and_not_published(log):
    log.add(0, write_batch([config("1")[:-1], config("2"), b"\x01\x04\x01\x00"]))
    assert log.read() == ([("", "2", 1)], {"truncated": 1, "unknown_version": 1})


@pytest.mark.parametrize("kept_bytes", [-1, -80, 90])
def test_a_snapshot_without_its_end_closes_nothing(log, kept_bytes):
    log.snap(5, write_snapshot([config("1")])[:kept_bytes])
    told, faults = log.read()
    assert "set" not in [one[0] for one in told]
    assert faults["incomplete_set"] == 1


def test_a_broken_snapshot_keeps_nothing_of_the_log_back(log):
    log.snap(5, write_snapshot([config("1")])[:-1])
    log.add(3, write_batch([config("3"), config("4"), config("5")], base_offset=3))
    told, faults = log.read()
    assert told[-3:] == [("", "3", 3), ("", "4", 4), ("", "5", 5)]
    assert faults == {"cut_off": 1, "incomplete_set": 1, "gap": 1}


def test_other_bytes_end_a_file(log):
    log.add(0, write_batch([config("1")]), b"\xff" * 100)
    assert log.read() == ([("", "1", 0)], {"no_batches": 1})


def test_secrets_are_withheld_and_counted(log):
    log.add(0, write_batch([write_config(4, "", "ssl.key.password", "hunter2")]))
    assert log.read() == ([("", None, 0)], {})
    assert log.records[0].number("withheld") == 1
    assert log.reading.counts.withheld == Counter(Config=1)
    assert b"hunter2" not in log.records[0].value


def test_files_are_found_by_name_and_sorted_by_offset(tmp_path):
    names = {
        "00000000000000000100.log",
        "00000000000000000020.log",
        "00000000000000000100-0000000003.checkpoint",
        "00000000000000000009-0000000003.checkpoint",
        "00000000000000000200-0000000003.checkpoint.part",
        "00000000000000000000.log.deleted",
        "00000000000000000000.index",
        "leader-epoch-checkpoint",
        "bootstrap.checkpoint",
    }
    for name in names:
        (tmp_path / name).touch()
    files = find_files([tmp_path])
    assert files.segments == [
        Segment(20, tmp_path / "00000000000000000020.log"),
        Segment(100, tmp_path / "00000000000000000100.log"),
    ]
    assert [one[:2] for one in files.snapshots] == [(9, 3), (100, 3)]
    assert [one.name for one in files.passed_over] == [
        "00000000000000000000.log.deleted",
        "00000000000000000200-0000000003.checkpoint.part",
    ]
    segment = files.segments[0].path
    index = tmp_path / "00000000000000000000.index"
    named = find_files([segment, index, segment])
    assert (len(named.segments), named.passed_over) == (1, [index])


def test_properties_beside_and_above_say_which_cluster_it_is(tmp_path):
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    segment = folder / "00000000000000000000.log"
    segment.touch()
    assert find_cluster_ids([folder, segment]) == set()
    (tmp_path / "meta.properties").write_text("#x\nversion=1\ncluster.id=abc-DEF_1\n")
    assert find_cluster_ids([folder]) == {"abc-DEF_1"}
    assert find_cluster_ids([segment]) == {"abc-DEF_1"}


def test_a_file_of_any_size_is_read_piece_by_piece(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(write_batch([bytes(2_500_000)]) * 2)
    assert [len(one.data) > 2_500_000 for one in read_batches(path)] == [True, True]
    path.write_bytes(b"\x00" * 11)
    assert list(read_batches(path)) == [BatchFault("cut_off")]


def test_registrations_of_all_versions_pass_through_a_log(log):
    golden = {name: value for name, value in golden_records().items() if "Reg" in name}
    log.add(0, write_batch(list(golden.values())))
    batches = read_batches(find_files([log.folder]).segments[0].path)
    reading = LogImport(RULES, cluster_id="c", observed_at_ms=NOW_MS)
    records = list(reading.read_log(batches, (), read_batches))
    versions = [read_record(one.value).version for one in records]
    assert versions == [0, 1, 2, 3, 3, 4, 5, 5]
    for one, (name, value) in zip(records, golden.items(), strict=True):
        # A config without a validator, as in the proposal's example, is no secret.
        assert one.value == value, name
        assert one.number("withheld") is None
