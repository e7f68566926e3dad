import pytest

from tests.support.sample_fleet import make_fleet


@pytest.fixture(scope="session")
def spark(driver):
    """The driver's own session, in UTC, with the settings that the product ships."""
    return driver


@pytest.fixture(scope="session")
def fleet(spark):
    """The sample fleet, which all tests of numbers share."""
    return make_fleet(spark)
