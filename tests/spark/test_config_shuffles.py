"""Whatever their order, their batches and restarts, pushes give the same tables."""

from tests.integration.config_shuffle_run import run_shuffles


def test_tables_follow_from_the_set_of_pushes(spark, tmp_path):
    """The long form is tests/integration/config_shuffle_run.py."""
    faults, restarts = run_shuffles(spark, tmp_path, count=120, orders=1, batches=2)
    assert faults == []
    assert restarts > 0
