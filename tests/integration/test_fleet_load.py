"""The fleet of tests/bench/fleet.py pushes what it says, as often as it says."""

from contextlib import closing

import uvloop

from tests.bench.fleet_load import KINDS, Plan, replay
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.bridge.push_reader import PushReader

PLAN = Plan(instances=60, pushes_per_s=20, seconds=6, connections_per_kind=2)
SHORTEST_MS = 100
"""What a busy machine leaves of the interval: it sends a push late, the next in time."""


def test_a_fleet_of_all_kinds_pushes_each_interval(kafka):
    settings = make_settings(
        kafka,
        f'subscriptions=[{{name="s",metrics=["*"],interval_ms={SHORTEST_MS},match=[]}}]',
    )
    with running_bridge(settings) as (_, endpoint):
        port = int(endpoint.rpartition(":")[2])
        told = uvloop.run(replay("127.0.0.1", port, PLAN))
    assert (told["errors"], told["refused"], told["pushes"]) == (
        {0: PLAN.pushes},
        0,
        PLAN.pushes,
    )
    with closing(PushReader(kafka, settings.topics.telemetry)) as reader:
        reader.read_to_end()
    clients = reader.clients.values()
    assert [len(one.bodies) for one in clients] == [2] * PLAN.instances
    assert all(len(one.values("client_instance_id")) == 1 for one in clients)
    found = {
        (headers["client_software_name"], headers["client_software_version"])
        for one in clients
        for headers in one.headers
    }
    assert found == {(kind.software, kind.version) for kind in KINDS}
    # Decoded, or it fails.
    assert all(one.metrics(SHORTEST_MS) for one in clients)
