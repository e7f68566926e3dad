import pytest

from tests.spark.local_session import start_session

# A few rows a plan: compiling each plan would take most of the time.
INTERPRETED = (
    "--conf",
    "spark.sql.codegen.wholeStage=false",
    "--conf",
    "spark.sql.codegen.factoryMode=NO_CODEGEN",
)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """One local session in UTC, with the settings that the product ships."""
    session = start_session(tmp_path_factory.mktemp("warehouse"), *INTERPRETED)
    yield session
    session.stop()
