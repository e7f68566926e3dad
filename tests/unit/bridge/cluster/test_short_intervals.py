"""A bridge in front of a real cluster with the interval of a trial."""

import asyncio

import pytest

from pipelines.bridge.cluster.part import ClusterPart
from pipelines.settings import load_settings

REMOTE = "kafka-1.invalid:9092,127.0.0.1:9"
LOCAL = "127.0.0.1:9,localhost:9,[::1]:9"


def start(servers, interval_ms):
    """Start what asks the cluster, which is not there."""
    settings = load_settings(
        "base",
        [
            f"subscriptions=[{{name='s',metrics=['*'],interval_ms={interval_ms},match=[]}}]",
            "bridge.quotas_enforced=false",
            "bridge.subscriptions_source=conf",
        ],
    )
    connection = {"bootstrap.servers": servers, "security.protocol": "PLAINTEXT"}
    part = ClusterPart(settings, connection)

    async def run():
        async with asyncio.timeout(20):
            await part.prepare()
            await part.close()

    asyncio.run(run())


def test_short_interval_of_a_remote_cluster_is_warned_of_once(caplog):
    start(REMOTE, 5_000)
    (warning,) = [one for one in caplog.messages if "subscription 's'" in one]
    assert "[kafka] push every 5 s" in warning
    assert "interval_ms to 30000" in warning


@pytest.mark.parametrize(("servers", "interval_ms"), [(REMOTE, 30_000), (LOCAL, 5_000)])
def test_usual_interval_or_a_cluster_on_this_machine_is_not_warned_of(
    caplog, servers, interval_ms
):
    start(servers, interval_ms)
    assert not [one for one in caplog.messages if "subscription 's'" in one]
