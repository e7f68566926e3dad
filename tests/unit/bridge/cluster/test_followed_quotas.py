"""The quotas of a broker on loopback, which the test changes."""

import asyncio
import logging

import pytest
from kio.schema.describe_client_quotas.v1 import response as described
from kio.schema.errors import ErrorCode
from kio.static.primitive import f64

from pipelines.bridge.cluster.followed_quotas import QuotaFollower
from pipelines.bridge.quotas.limits import Tags
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.messages import NO_THROTTLE

KEY = "producer_byte_rate"
APIS = {18: (0, 4), 48: (0, 1)}
NONE = ErrorCode.none


class Quotas:
    """What the broker answers."""

    def __init__(self):
        self.by_user = {"alice": 5.0}
        self.error = NONE

    def __call__(self, _request):
        return described.DescribeClientQuotasResponse(
            throttle_time=NO_THROTTLE,
            error_code=self.error,
            error_message=None,
            entries=None
            if self.error is not NONE
            else tuple(
                described.EntryData(
                    entity=(
                        described.EntityData(entity_type="user", entity_name=name),
                    ),
                    values=(described.ValueData(key=KEY, value=f64(value)),),
                )
                for name, value in self.by_user.items()
            ),
        )


def follow(make_answers, make_broker, test):
    """Run a test with the answers, the quotas and a follower of them."""

    async def run():
        answers, quotas, put, faults = make_answers(APIS), Quotas(), [], []
        answers.others = quotas
        async with make_broker(answers) as broker:
            place = f"127.0.0.1:{broker.port}"
            access = read_access(
                {"bootstrap.servers": place, "security.protocol": "PLAINTEXT"}
            )
            client = ClusterClient(access, client_id="bridge-1")
            follower = QuotaFollower(
                client.link, put.append, lambda: faults.append(1), poll_ms=100
            )
            try:
                await test(answers, quotas, follower, put, faults)
            finally:
                await client.close()

    asyncio.run(run())


def test_what_is_set_is_in_force_and_told_when_it_changes(make_answers, make_broker):
    async def test(_answers, quotas, follower, put, faults):
        for _ in range(3):
            await follower.look()
        assert len(put) == 1
        assert put[0].allow("User:alice", "c", KEY) == (Tags("alice", ""), 5.0)
        # In another order they are the same.
        quotas.by_user = {"bob": 7.0, "alice": 5.0}
        await follower.look()
        quotas.by_user = {"alice": 5.0, "bob": 7.0}
        await follower.look()
        assert len(put) == 2
        quotas.by_user = {}
        await follower.look()
        assert put[2].allow("User:alice", "c", KEY) is None
        assert faults == []

    follow(make_answers, make_broker, test)


def test_a_long_answer_is_read_as_well(make_answers, make_broker):
    async def test(_answers, quotas, follower, put, _faults):
        quotas.by_user = {f"user-{number}": 1.0 + number for number in range(5_000)}
        await follower.look()
        assert put[0].allow("User:user-4999", None, KEY).limit == 5_000

    follow(make_answers, make_broker, test)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ErrorCode.cluster_authorization_failed, "DESCRIBE_CONFIGS on the cluster"),
        (None, "API key 48"),
    ],
)
def test_a_cluster_that_has_never_answered_is_named_once(
    make_answers, make_broker, caplog, error, says
):
    async def test(answers, quotas, follower, put, faults):
        if error is None:
            answers.offered = {18: (0, 4)}
        else:
            quotas.error = error
        for _ in range(3):
            await follower.look()
        assert not follower.has_read
        assert says in follower.fault
        assert len(faults) == 3
        (said,) = [one.getMessage() for one in caplog.records]
        assert said.startswith("none is enforced: ")
        assert says in said
        assert put == []

    caplog.set_level(logging.WARNING)
    follow(make_answers, make_broker, test)


def test_a_cluster_that_says_no_later_leaves_in_force_what_it_said(
    make_answers, make_broker, caplog
):
    async def test(_answers, quotas, follower, put, faults):
        await follower.look()
        quotas.error = ErrorCode.cluster_authorization_failed
        for _ in range(3):
            await follower.look()
        quotas.error = NONE
        await follower.look()
        said = [one.getMessage() for one in caplog.records]
        assert [one.partition(":")[0] for one in said] == ["quotas stay as they are"]
        assert len(put) == 1
        assert len(faults) == 3
        assert not follower.fault

    caplog.set_level(logging.WARNING)
    follow(make_answers, make_broker, test)
