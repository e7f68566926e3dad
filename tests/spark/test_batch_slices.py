"""Micro-batches that are written in slices: the same rows, wherever they are cut off."""

import pytest

from pipelines.streaming import batch_slices
from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
    CONFIG_VIOLATIONS,
)
from pipelines.tables.telemetry import QUARANTINE
from tests.support.spark.config_records import ConfigJob, entry, make_record
from tests.support.spark.writer_option import writer_override

pytestmark = pytest.mark.long

KEYS = (
    (CLIENT_CONFIG_PUSHES, ("offset", "decode_status", "push_id")),
    (CLIENT_CONFIGS, ("client_instance_id", "offset", "push_id")),
    (CLIENT_CONFIG_HISTORY, ("logical_client", "config_key", "config_value")),
    (CONFIG_DEFAULTS, ("config_key", "default_value", "evidence_count")),
    (CONFIG_VIOLATIONS, ("offset", "config_key")),
    (QUARANTINE, ("offset", "reason")),
)
PUSHES = 6


class Stop(Exception):
    """What ends a batch in a test."""


def make_records():
    """Return pushes of three clients, each with a default, a secret and a change."""
    pushes = [
        make_record(
            offset,
            entry("acks", "all", is_default=True),
            entry("linger.ms", str(offset), "LONG"),
            entry("sasl.jaas.config", "hidden"),
            client_instance_id=f"{offset % 3:022}",
            client_id=f"client-{offset % 3}",
            received_at_ms=str(1_767_225_600_000 + 1000 * offset),
            push_id=f"push-{offset}",
        )
        for offset in range(PUSHES)
    ]
    return [*pushes, make_record(PUSHES, body=b"no configuration")]


def held(job):
    return {one.name: job.rows(one, *columns) for one, columns in KEYS}


@pytest.fixture(scope="module")
def at_once(spark, tmp_path_factory):
    job = ConfigJob(spark, tmp_path_factory.mktemp("once"))
    job.write(*make_records())
    return held(job)


def test_slices_make_the_rows_of_the_batch_though_cut_off(
    spark, tmp_path, monkeypatch, at_once
):
    monkeypatch.setattr(batch_slices, "GRANULE_OFFSETS", 1)
    job = ConfigJob(spark, tmp_path)
    ends = []

    def stop(point, _rows):
        if point == f"after {CLIENT_CONFIGS.name}":
            ends.append(point)
            if len(ends) == 2:
                raise Stop

    job.on_point = stop
    with pytest.raises(Stop):
        job.try_write_slices(*make_records(), slice_bytes=400)
    assert len(job.rows(CLIENT_CONFIG_PUSHES, "offset")) < PUSHES
    # Another bound would make other slices; those of the first attempt count.
    job.try_write_slices(*make_records(), slice_bytes=1)
    # Two records each, four slices; the observer is told of what is there already, too.
    assert len(ends) == 2 + 4
    assert held(job) == at_once


def test_what_a_batch_has_written_at_once_is_not_written_again_in_slices(
    spark, tmp_path, monkeypatch, at_once
):
    if writer_override().endswith("=spark"):
        pytest.skip("its batches are cut by size alone: the same ones at each attempt")
    monkeypatch.setattr(batch_slices, "GRANULE_OFFSETS", 1)
    job = ConfigJob(spark, tmp_path)

    def stop(point, _rows):
        if point == f"before {CLIENT_CONFIG_PUSHES.name}":
            raise Stop

    job.on_point = stop
    with pytest.raises(Stop):
        job.try_write(*make_records())
    job.on_point = None
    job.try_write_slices(*make_records(), slice_bytes=1_000)
    assert held(job) == at_once
