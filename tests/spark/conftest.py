import pytest


@pytest.fixture(scope="session")
def spark(driver):
    """The driver's own session, in UTC, with the settings that the product ships."""
    return driver
