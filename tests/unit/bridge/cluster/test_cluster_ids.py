"""The id of the clients' cluster, learnt from a broker on loopback."""

import asyncio

import pytest
from kio.schema.metadata.v12.response import MetadataResponse
from kio.static.primitive import i32

from pipelines.bridge.cluster import part as cluster_part
from pipelines.kafka_wire.messages import NO_THROTTLE
from tests.unit.bridge.cluster.test_following import make_part

METADATA = 3


class Cluster:
    """Says its id where it is asked, and how often it was."""

    def __init__(self, listing, cluster_id):
        self.cluster_id, self.asked = cluster_id, asyncio.Queue()
        self._listing = listing

    def __call__(self, request):
        if request.__api_key__ != METADATA:
            return self._listing()
        assert request.topics == ()
        self.asked.put_nowait(self.cluster_id)
        return MetadataResponse(
            throttle_time=NO_THROTTLE, cluster_id=self.cluster_id,
            controller_id=i32(1), topics=(), brokers=(),
        )  # fmt: skip


@pytest.mark.parametrize("source", ["both", "cluster", "conf"])
def test_it_is_known_at_the_start_whoever_is_asked_for_subscriptions(
    make_answers, make_broker, listing, source
):
    async def run():
        answers = make_answers({3: (12, 12), 18: (0, 4), 32: (1, 4), 74: (0, 1)})
        answers.others = Cluster(listing, "the cluster")
        async with make_broker(answers) as broker:
            part = make_part(broker.port, f"bridge.subscriptions_source={source}")
            assert part.known.cluster_id is None
            await part.prepare()
            await part.close()
            return part.known.cluster_id

    assert asyncio.run(run()) == "the cluster"


def test_it_is_asked_for_until_it_is_known_and_then_now_and_then(
    make_answers, make_broker, listing, monkeypatch
):
    monkeypatch.setattr(cluster_part, "_LOOK_AGAIN_S", 0.01)

    async def run():
        answers = make_answers({3: (12, 12), 18: (0, 4)})
        answers.others = cluster = Cluster(listing, None)
        async with make_broker(answers) as broker, asyncio.timeout(60):
            part = make_part(broker.port, "bridge.subscriptions_source=conf")
            await part.prepare()
            following = asyncio.create_task(part.run())
            seen = [part.known.cluster_id]
            for cluster_id in ("first", "second"):
                cluster.cluster_id = cluster_id
                while await cluster.asked.get() != cluster_id:
                    pass
                # By the next question the answer to this one is known.
                await cluster.asked.get()
                seen.append(part.known.cluster_id)
            following.cancel()
            await part.close()
            return seen

    assert asyncio.run(run()) == [None, "first", "second"]


def test_a_cluster_that_does_not_say_it_keeps_nobody_from_starting(
    make_answers, make_broker, listing
):
    async def run():
        # Without Metadata.
        answers = make_answers({18: (0, 4), 32: (1, 4), 74: (0, 1)})
        answers.others = Cluster(listing, "never")
        async with make_broker(answers) as broker:
            part = make_part(broker.port)
            await part.prepare()
            await part.close()
            return part.known.cluster_id

    assert asyncio.run(run()) is None
