"""Whatever their order, their batches and restarts, pushes give the same tables."""

import pytest

from pipelines.tables.configs import CLIENT_CONFIGS, CONFIG_DEFAULTS
from tests.long.config_shuffles import cut_off, run_shuffles
from tests.support.spark.config_records import ConfigJob, entry, make_record


@pytest.mark.long
def test_tables_follow_from_the_set_of_pushes(spark, tmp_path):
    """The long form is tests/long/config_shuffles.py."""
    faults, restarts = run_shuffles(spark, tmp_path, count=120, orders=1, batches=2)
    assert faults == []
    assert restarts > 0


@pytest.mark.long
@pytest.mark.parametrize("is_anew", [False, True])
def test_a_default_told_by_a_batch_that_was_cut_off_is_looked_at(
    spark, tmp_path, is_anew
):
    """Also where the table knows it already, from before the checkpoint was lost."""
    job = ConfigJob(spark, tmp_path)
    job.write(make_record(0, entry("acks", "all"), push_id="a"))
    told = make_record(
        1,
        entry("acks", "all", is_default=True),
        push_id="b",
        client_instance_id="AAAAAAAAAAAAAAAAAAAAAg",
    )
    cut_off(job, [told], f"after {CONFIG_DEFAULTS.name}")
    if is_anew:
        assert job.begin_anew() == 1
    job.write(told)
    rows = job.read(CLIENT_CONFIGS).select("push_id", "configs.acks.status").collect()
    assert dict(map(tuple, rows)) == {"a": "set_to_default", "b": "default"}


@pytest.mark.long
def test_of_a_record_that_kafka_holds_twice_the_first_one_counts(spark, tmp_path):
    job = ConfigJob(spark, tmp_path)
    places = (3, 1, 2)
    job.write(*(make_record(one, entry("acks", "all"), push_id="a") for one in places))
    assert job.rows(CLIENT_CONFIGS, "push_id", "offset") == [("a", 1)]
