"""Micro-batches are cut by the bytes of their records, along their offsets."""

import random

from pipelines.streaming import checkpoint_files
from pipelines.streaming.batch_slices import Granule, cut_slices, keep_slices
from tests.unit.streaming.hadoop_stub import HadoopStub


def test_keep_slices_deletes_those_of_committed_batches(monkeypatch):
    stub = HadoopStub()
    monkeypatch.setattr(checkpoint_files, "open_path", stub.open_path)
    folder = "hdfs://site/checkpoint/kafka_clientele"
    stub.files[f"{folder}/start.json"] = b"{}"
    for batch_id in (8, 9, 10):
        keep_slices(None, "hdfs://site/checkpoint", batch_id, [{0: (0, 5)}])
    assert sorted(stub.files) == [f"{folder}/slices-10.json", f"{folder}/start.json"]


def test_records_that_fit_are_one_slice():
    granules = [Granule(1, 64, 95, 30), Granule(0, 0, 31, 30), Granule(0, 32, 40, 30)]
    assert cut_slices(granules, 90) == [{0: (0, 41), 1: (64, 96)}]
    assert cut_slices([], 90) == []


def test_slices_are_bounded_and_ascend_in_each_partition():
    chance = random.Random(0)  # noqa: S311 - to be repeatable
    for _ in range(100):
        granules = [
            Granule(partition, first, first + 3, chance.randrange(50))
            for partition in range(3)
            for first in range(0, 4 * chance.randrange(20), 4)
        ]
        slices = cut_slices(granules, 100)
        covered = []
        for ranges in slices:
            of_slice = [
                one
                for one in granules
                if one.partition in ranges
                and ranges[one.partition][0] <= one.first < ranges[one.partition][1]
            ]
            assert sum(one.size_bytes for one in of_slice) <= 100
            covered += sorted(of_slice)
        assert covered == sorted(granules)


def test_what_is_too_large_by_itself_is_a_slice_of_its_own():
    granules = [Granule(0, n, n, size) for n, size in enumerate((10, 500, 10))]
    assert cut_slices(granules, 100) == [{0: (0, 1)}, {0: (1, 2)}, {0: (2, 3)}]
