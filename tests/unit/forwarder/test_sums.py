import logging
import resource
import sqlite3
from contextlib import contextmanager

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from pipelines.errors import FullDisk, InvalidSetting
from pipelines.forwarder import sums as sums_module
from pipelines.forwarder.sums import Sums

LIMITS = {"topic": "t", "group_id": "g", "max_series": 1000, "idle_ms": 100}
ANNA, BERT, ID = b"anna", b"bert", "id-1"


def opened(path, **limits):
    return Sums(str(path), **{**LIMITS, **limits})


@pytest.fixture
def sums(tmp_path):
    one = opened(tmp_path / "sums")
    one.open_partition(0, None, ID)
    yield one
    one.close()


def delta(value, **attributes):
    metric = Metric(name="a.total")
    metric.sum.aggregation_temporality = 1
    point = metric.sum.data_points.add(time_unix_nano=9, start_time_unix_nano=5)
    setattr(point, "as_int" if isinstance(value, int) else "as_double", value)
    for name, text in attributes.items():
        point.attributes.add(key=name).value.string_value = text
    return metric


def added(sums, value, instance=ANNA, **attributes):
    metric = delta(value, **attributes)
    sums.add(sums.open_instance(0, instance), b"r", metric)
    point = metric.sum.data_points[0]
    assert metric.sum.aggregation_temporality == 2
    return point.as_int or point.as_double, point.start_time_unix_nano


def test_what_is_read_again_gives_the_same_sums(tmp_path):
    first = opened(tmp_path / "sums")
    assert first.open_partition(0, None, ID) is None
    assert added(first, 3) == (3, 5)
    first.commit({0: 1}, 0)
    assert added(first, 4) == (7, 5)
    first.close()  # as if killed between the receiver's yes and the commit
    second = opened(tmp_path / "sums")
    assert second.open_partition(0, None, ID) == 1
    assert added(second, 4) == (7, 5)
    second.abandon()
    assert added(second, 1) == (4, 5)
    assert added(second, 1, BERT) == (1, 5)
    assert added(second, 1.5) == (1.5, 5)
    assert added(second, 1, topic="t") == (1, 5)
    second.close()


def test_sums_that_others_went_past_begin_anew(sums):
    added(sums, 3)
    sums.commit({0: 1}, 0)
    assert sums.open_partition(0, 5, ID) == 5
    assert added(sums, 2) == (2, 5)


def test_open_partition_recreated_topic_starts_at_the_beginning(tmp_path, caplog):
    first = opened(tmp_path / "sums")
    first.open_partition(0, None, ID)
    added(first, 3)
    first.commit({0: 10}, 0)
    first.close()
    second = opened(tmp_path / "sums")
    with caplog.at_level(logging.WARNING):
        assert second.open_partition(0, None, "id-2") is None
    assert "old_topic_id=id-1 new_topic_id=id-2 next_offset=beginning" in caplog.text
    assert added(second, 2) == (2, 5)
    second.commit({0: 1}, 0)
    assert second.open_partition(0, None, "id-2") == 1
    assert added(second, 2) == (4, 5)
    second.close()


def test_open_partition_file_of_version_1_continues_at_its_offset(tmp_path):
    path = tmp_path / "sums"
    with sqlite3.connect(path) as file:
        file.executescript(
            "create table about (topic text, group_id text);"
            "insert into about values ('t', 'g');"
            "create table offsets (partition integer primary key, next integer);"
            "insert into offsets values (0, 7); pragma user_version = 1;"
        )
    file.close()
    for expected in (7, 8):
        sums = opened(path)
        assert sums.open_partition(0, None, ID) == expected
        sums.commit({0: 8}, 0)
        sums.close()
    sums = opened(path)
    assert sums.open_partition(0, None, "id-2") is None
    sums.close()


@contextmanager
def file_size_limit(size_bytes):
    """Let writes fail beyond a size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_sums_full_disk_raises_one_sentence_with_file_and_next_step(sums, tmp_path):
    for number in range(1000):
        added(sums, number, b"%d" % number)
    said = rf"forward\.state_location: cannot write {tmp_path}/sums \(.*\)\. Free disk"
    with file_size_limit(40_000), pytest.raises(FullDisk, match=said) as fault:
        sums.commit({0: 1}, 1)
    assert fault.value.__cause__ is None
    sums.abandon()
    assert sums.open_partition(0, None, ID) is None


def test_a_partition_that_was_given_back_is_forgotten_in_memory_alone(sums):
    added(sums, 3)
    sums.commit({0: 1}, 0)
    sums.close_partition(0)
    assert sums.series == 0
    assert sums.open_partition(0, 1, ID) == 1
    assert added(sums, 3) == (6, 5)


def test_sums_of_a_client_that_says_farewell_go_with_it(sums):
    added(sums, 3)
    sums.commit({0: 1}, 0)
    assert added(sums, 4) == (7, 5)
    sums.end_instance(0, ANNA)
    sums.commit({0: 2}, 0)
    assert sums.series == 0
    assert sums.open_partition(0, 2, ID) == 2
    assert added(sums, 1) == (1, 5)


def test_sums_of_a_client_that_is_silent_for_long_go(sums):
    added(sums, 3, ANNA)
    sums.commit({0: 1}, 1000)
    added(sums, 3, BERT)
    sums.commit({0: 2}, 1101)
    assert sums.series == 1
    assert sums.forgotten == 0
    assert added(sums, 1, ANNA) == (1, 5)


def test_of_too_many_series_those_heard_of_longest_ago_go(tmp_path):
    sums = opened(tmp_path / "sums", max_series=2)
    sums.open_partition(0, None, ID)
    added(sums, 1, ANNA)
    added(sums, 2, BERT)
    sums.commit({0: 1}, 1)
    added(sums, 1, ANNA)
    sums.commit({0: 2}, 2)
    added(sums, 4, b"cleo")
    sums.commit({0: 3}, 3)
    assert (sums.series, sums.forgotten) == (2, 1)
    sums.close()
    again = opened(tmp_path / "sums", max_series=2)
    again.open_partition(0, 3, ID)
    assert added(again, 1, ANNA) == (3, 5)
    assert added(again, 1, BERT) == (1, 5)
    again.close()


def test_a_client_that_invents_labels_loses_its_own_sums(sums, monkeypatch):
    monkeypatch.setattr(sums_module, "MOST_OF_AN_INSTANCE", 3)
    for number in range(5):
        added(sums, 1, topic=str(number))
    sums.commit({0: 1}, 1)
    assert (sums.series, sums.forgotten) == (3, 2)
    assert added(sums, 1, topic="4") == (2, 5)
    assert added(sums, 1, topic="0") == (1, 5)


def test_a_sum_never_leaves_its_type(sums):
    assert added(sums, 2**63 - 1) == (2**63 - 1, 5)
    assert added(sums, 7) == (0, 9)
    assert added(sums, 1.5, topic="d") == (1.5, 5)
    for value in (float("nan"), float("inf"), float("-inf")):
        assert added(sums, value, topic="d") == (1.5, 5)


def test_what_is_cumulative_already_stays_as_it_is(sums):
    metric = delta(3)
    metric.sum.aggregation_temporality = 2
    before = metric.SerializeToString()
    sums.add(sums.open_instance(0, ANNA), b"r", metric)
    assert metric.SerializeToString() == before


def test_deltas_of_histograms_are_left_out_and_counted(sums):
    metric = Metric(name="h")
    metric.histogram.aggregation_temporality = 1
    metric.histogram.data_points.add(count=1)
    sums.add(sums.open_instance(0, ANNA), b"r", metric)
    assert not metric.histogram.data_points
    assert sums.left_out == 1


def test_a_file_that_is_not_ours_is_named(tmp_path):
    path = tmp_path / "sums"
    first = opened(path)
    with pytest.raises(InvalidSetting, match=r"forward\.state_location: .*locked"):
        opened(path)
    first.close()
    with pytest.raises(InvalidSetting, match="has sums of topic t, group g"):
        opened(path, topic="other")
    text = tmp_path / "text"
    text.write_text("x" * 5000)
    with pytest.raises(InvalidSetting, match=r"forward\.state_location"):
        opened(text)
    with pytest.raises(InvalidSetting, match=r"forward\.state_location"):
        opened(text / "below")
    newer = sqlite3.connect(tmp_path / "newer")
    newer.execute("pragma user_version = 99")
    newer.close()
    with pytest.raises(InvalidSetting, match="of version 99"):
        opened(tmp_path / "newer")
