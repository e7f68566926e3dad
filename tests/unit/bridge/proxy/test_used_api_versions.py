"""Which versions of APIs a client uses, as frames pass, and how often that is told."""

import pytest

from pipelines.bridge.proxy.frames.traffic import MOST_API_VERSIONS
from tests.unit.bridge.proxy.test_traffic import (
    Client,
    Outlet,
    Pair,
    fetch,
    produce,
    request,
)

HEARTBEAT, JOIN_GROUP = 12, 11


@pytest.mark.parametrize("step", [None, 1, 3, 20])
def test_the_first_version_of_each_api_is_told(step):
    outlet = Outlet()
    pair = Pair(outlet)
    asked = b"".join(
        [
            request(JOIN_GROUP, 5, bytes(30)),
            produce(10),
            # A client settles on a version; another one is not looked for.
            request(HEARTBEAT, 3, bytes(20)) * 3,
            request(HEARTBEAT, 4, bytes(20)),
            fetch(11),
            produce(9) * 2,
        ]
    )
    pair.ask(asked, step)
    assert pair.to_broker == asked
    outlet.end_time()
    (said,) = outlet.said()
    (broker,) = said["brokers"]
    assert broker["api_versions"] == [[0, 10], [1, 11], [11, 5], [12, 3]]
    assert (broker["produce_requests"], broker["connections"]) == (3, 1)


def test_versions_are_told_with_all_data_and_once_without_any():
    outlet = Outlet()
    with_data, without = Pair(outlet), Pair(outlet, Client(2, broker_id=2))
    with_data.ask(produce(10))
    without.ask(request(JOIN_GROUP, 5, bytes(30)))
    outlet.end_time()
    with_data.ask(produce(10))
    without.ask(request(JOIN_GROUP, 5, bytes(30)))
    outlet.end_time()
    # A connection that is over takes its versions with it.
    with_data.watch.end()
    without.watch.end()
    outlet.end_time()
    first, second = outlet.said()
    assert [
        (one["broker_id"], one["connections"], one["api_versions"])
        for one in first["brokers"]
    ] == [(1, 1, [[0, 10]]), (2, 0, [[11, 5]])]
    assert [one["broker_id"] for one in second["brokers"]] == [1]
    assert second["brokers"][0]["api_versions"] == [[0, 10]]


def test_versions_of_all_connections_are_told_and_are_bounded():
    outlet = Outlet()
    for port, version in ((1, 9), (2, 10), (3, 10)):
        Pair(outlet, Client(port)).ask(produce(version))
    outlet.end_time()
    (said,) = outlet.said()
    assert said["brokers"][0]["api_versions"] == [[0, 9], [0, 10]]
    pair = Pair(outlet)
    strange = [request(-7, 0, b""), request(900, -1, b"")]
    many = b"".join([*strange, *(request(key, 1, b"") for key in range(20, 400))])
    pair.ask(many * 2)
    assert pair.to_broker == many * 2
    outlet.end_time()
    (_, said) = outlet.said()
    told = said["brokers"][0]["api_versions"]
    assert len(told) == MOST_API_VERSIONS
    assert all(key >= 20 and version == 1 for key, version in told)
    assert len(pair.requests._begun) == 128
