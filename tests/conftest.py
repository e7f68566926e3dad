"""For every test: no example of hypothesis has to be quick, since a machine may stand.

Tests of jobs write tables as `--writer` says, in one driver a process.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

import pipelines.quality  # noqa: F401 - before great-expectations, see there
from tests.support.shards import parse_shard, split_items
from tests.support.spark.empty_tables import share_patterns
from tests.support.spark.local_session import start_quick_session
from tests.support.spark.writer_option import WRITERS, choose_writer

settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")
# Spark keeps a producer for ten minutes, and its brokers end with their test.
FORGETFUL = (
    *("--conf", "spark.kafka.producer.cache.timeout=1s"),
    *("--conf", "spark.kafka.producer.cache.evictorThreadRunInterval=1s"),
)
# One driver serves hundreds of tests: over 1 GB is in use at its end.
ROOMY = ("--driver-memory", "3g")


def pytest_addoption(parser):
    parser.addoption(
        "--writer", choices=WRITERS, default="auto", help="tables.writer of jobs"
    )
    parser.addoption("--shard", help="INDEX/NUMBER: run one shard of the test files")
    parser.addoption(
        "--report-pictures", help="folder for screenshots of the report, for its page"
    )


def pytest_configure(config):
    choose_writer(config.getoption("--writer"))


# Markers deselect first, so that shards contain the tests that would run.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    text = config.getoption("--shard")
    if text is not None:
        items[:], others = split_items(items, *parse_shard(text))
        config.hook.pytest_deselected(items=others)


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """A driver in this process: what it has compiled and loaded is dear."""
    warehouse = tmp_path_factory.mktemp("warehouse")
    if os.environ.get("PYTEST_XDIST_WORKER"):
        # Beside the folders of all processes of this run.
        shared = tmp_path_factory.getbasetemp().parent / "empty-tables"
        shared.mkdir(exist_ok=True)
        share_patterns(shared)
    session = start_quick_session(warehouse, *ROOMY, *FORGETFUL)
    yield session
    session.stop()
