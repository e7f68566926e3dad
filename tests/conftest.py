"""For every test: no example of hypothesis has to be quick, since a machine may stand.

Tests of jobs write tables as `--writer` says.
"""

from hypothesis import HealthCheck, settings

from tests.support.spark.writer_option import WRITERS, choose_writer

settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")


def pytest_addoption(parser):
    parser.addoption(
        "--writer", choices=WRITERS, default="auto", help="tables.writer of jobs"
    )


def pytest_configure(config):
    choose_writer(config.getoption("--writer"))
