"""A real client hears an error code and pushes again.

`python tests/long/error_codes.py` is the long form of this.
"""

import asyncio

import pytest

from tests.long.error_codes import run
from tests.support.bridge.error_code_cases import CASES, JAVA, LIBRDKAFKA


@pytest.mark.parametrize(
    "name",
    [pytest.param("PushTelemetry 117", marks=pytest.mark.long), "PushTelemetry 76"],
)
def test_client_pushes_again_after_the_error(name):
    assert name in {case.name for case in CASES}
    (result,) = asyncio.run(run([LIBRDKAFKA], name, lambda _: None))
    assert result.is_right
    assert result.next_request == "GetTelemetrySubscriptions"


def test_clients_whose_connections_begin_with_version_5_push():
    """As those of Java 4.4 and franz-go do; here a relay raises the version."""
    results = asyncio.run(run([LIBRDKAFKA, JAVA], "ApiVersions 0", lambda _: None))
    assert {result.client for result in results} == {LIBRDKAFKA, JAVA}
    for result in results:
        assert result.is_right
        assert result.next_request == "GetTelemetrySubscriptions"
