"""A cluster of one."""

import pytest

from tests.support.kafka_answers import Answers, Broker, make_listing


@pytest.fixture
def make_answers():
    """Make a broker's answers: make_answers(offered, mechanism=…, password=…)."""
    return Answers


@pytest.fixture(scope="session")
def listing():
    """Make a ListConfigResourcesResponse: listing(*names)."""
    return make_listing


@pytest.fixture
def make_broker():
    """Make a broker to be entered: make_broker(answers, tls=None)."""
    return Broker
