import pytest

from tests.support.spark.local_session import start_quick_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One local session in UTC, with the settings that the product ships."""
    session = start_quick_session(tmp_path_factory.mktemp("warehouse"))
    yield session
    session.stop()
