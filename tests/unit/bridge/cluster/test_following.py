"""The follower against a broker on loopback whose resources the test changes."""

import asyncio
import logging

import pytest
from kio.schema.describe_configs.v4.response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kio.schema.errors import ErrorCode

from pipelines.bridge.cluster import following
from pipelines.bridge.cluster.followed_subscriptions import FollowedSubscriptions
from pipelines.bridge.cluster.following import SubscriptionFollower
from pipelines.bridge.cluster.part import ClusterPart
from pipelines.bridge.server import BridgeServer
from pipelines.bridge.telemetry.selections import SubscriptionRegistry
from pipelines.errors import InvalidSetting
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.messages import NO_THROTTLE
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader

OWN = '{name="own",metrics=["own."],interval_ms=500,match=[]}'
CLUSTER = {"theirs": {"metrics": "theirs."}}


class Resources:
    """The CLIENT_METRICS resources of a broker."""

    def __init__(self, resources, listing):
        self.by_name = resources
        self.error = ErrorCode.none
        self.listings = None
        self._listing = listing

    def __call__(self, request):
        if request.__api_key__ == 74:
            if self.listings is not None:
                self.listings.put_nowait(request)
            if self.error is not ErrorCode.none:
                return type(self._listing())(
                    throttle_time=NO_THROTTLE, error_code=self.error,
                    config_resources=(),
                )  # fmt: skip
            return self._listing(*self.by_name)
        return DescribeConfigsResponse(
            throttle_time=NO_THROTTLE,
            results=tuple(self._describe(one) for one in request.resources),
        )

    def _describe(self, resource):
        assert resource.resource_type == 16
        return DescribeConfigsResult(
            error_code=ErrorCode.none, error_message=None, resource_type=16,
            resource_name=resource.resource_name,
            configs=tuple(
                DescribeConfigsResourceResult(
                    name=key, value=value, read_only=False, is_sensitive=False,
                    synonyms=(), documentation=None,
                    config_source=5 if value == "default" else 7,
                )
                for key, value in self.by_name[resource.resource_name].items()
            ),
        )  # fmt: skip


@pytest.fixture
def resources(listing):
    return Resources(dict(CLUSTER), listing)


def make_part(port, *changes):
    settings = load_settings(
        "local",
        [
            f"subscriptions=[{OWN}]",
            "bridge.subscriptions_poll_ms=100",
            "bridge.quotas_enforced=false",
            *changes,
        ],
    )
    return ClusterPart(settings, connect_to(port))


def make_bridge(kafka, upstream, *changes):
    """Return a bridge whose clients use another cluster than its records are in."""
    settings = load_settings(
        "local",
        [
            f"subscriptions=[{OWN}]",
            f"kafka.bootstrap_servers=127.0.0.1:{kafka.port}",
            f"upstream.bootstrap_servers=127.0.0.1:{upstream.port}",
            "bridge.listen_port=0",
            *changes,
        ],
    )
    return BridgeServer(settings, SecretReader(environ={}))


def connect_to(port):
    return {
        "bootstrap.servers": f"127.0.0.1:{port}", "security.protocol": "PLAINTEXT",
    }  # fmt: skip


def metrics(part, identity, instance_id):
    return set(part.registry.select(identity, instance_id).requested_metrics)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [("both", {"own.", "theirs."}), ("cluster", {"theirs."}), ("conf", {"own."})],
)
def test_source_says_whose_subscriptions_are_in_force(
    make_answers, make_broker, resources, identity, instance_id, source, wanted
):
    async def run():
        answers = make_answers()
        answers.others = resources
        async with make_broker(answers) as broker:
            part = make_part(broker.port, f"bridge.subscriptions_source={source}")
            await part.prepare()
            await part.close()
            asked = {one.__api_key__ for one in answers.requests}
            found = metrics(part, identity, instance_id)
            return found, broker.connections, asked

    seen, connections, asked = asyncio.run(run())
    assert seen == wanted
    # For the id of the cluster alone where its subscriptions do not count.
    assert connections == 1
    assert asked == {18, 32, 74} - ({32, 74} if source == "conf" else set())


def test_change_of_the_cluster_is_followed(
    make_answers, make_broker, resources, identity, instance_id
):
    async def run():
        answers = make_answers()
        answers.others = resources
        async with make_broker(answers) as broker:
            part = make_part(broker.port)
            await part.prepare()
            following = asyncio.create_task(part.run())
            resources.by_name["new"] = {"metrics": "new.", "interval.ms": "700"}
            resources.listings = asyncio.Queue()
            async with asyncio.timeout(5):
                # The second look comes when the first one is in force.
                await resources.listings.get()
                await resources.listings.get()
            following.cancel()
            await part.close()
            return metrics(part, identity, instance_id)

    assert asyncio.run(run()) == {"own.", "theirs.", "new."}


@pytest.mark.parametrize("fault", ["old", "forbidden"])
def test_cluster_that_says_no_leaves_what_was_in_force_and_is_named_once(
    make_answers, make_broker, resources, identity, instance_id, caplog, fault
):
    async def run():
        answers = make_answers()
        answers.others = resources
        async with make_broker(answers) as broker:
            part = make_part(broker.port)
            await part.prepare()
            await part._client.close()
            if fault == "old":
                answers.offered = {18: (0, 3), 32: (1, 4)}
            resources.error = ErrorCode.cluster_authorization_failed
            for _ in range(3):
                await part._follower.try_read()
            said = [one.getMessage() for one in caplog.records]
            await part._client.close()
            answers.offered = {18: (0, 3), 32: (1, 4), 74: (0, 1)}
            resources.error = ErrorCode.none
            await part._follower.try_read()
            await part.close()
            return said, metrics(part, identity, instance_id)

    caplog.set_level(logging.WARNING)
    said, in_force = asyncio.run(run())
    reasons = {"old": "API key 74", "forbidden": "DESCRIBE_CONFIGS on the cluster"}
    assert len(said) == 1
    assert reasons[fault] in said[0]
    assert in_force == {"own.", "theirs."}


def test_cluster_that_is_away_leaves_what_it_said_last(
    make_answers, make_broker, resources, identity, instance_id, caplog
):
    async def run():
        registry = SubscriptionRegistry()
        followed = FollowedSubscriptions(registry, [])
        answers = make_answers()
        answers.others = resources
        async with make_broker(answers) as broker:
            client = ClusterClient(read_access(connect_to(broker.port)), client_id="b")
            follower = SubscriptionFollower(client, followed, poll_ms=100)
            await follower.read()
        follower._timeout_s = 0.3
        await follower.try_read()
        await follower.try_read()
        await client.close()
        return registry.select(identity, instance_id).requested_metrics

    caplog.set_level(logging.WARNING)
    assert asyncio.run(run()) == ("theirs.",)
    assert "does not answer" in caplog.text
    assert len(caplog.records) <= 2  # one for each reason, not for each look


def test_bridge_that_has_only_the_cluster_does_not_start_without_it(
    make_answers, make_broker
):
    async def run():
        async with make_broker(make_answers({18: (0, 3)})) as broker:
            part = make_part(broker.port, "bridge.subscriptions_source=cluster")
            with pytest.raises(ClusterFault, match=r"bridge\.subscriptions_source"):
                await part.prepare()
            await part.close()

    asyncio.run(run())


def test_older_cluster_leaves_the_subscriptions_of_conf(
    make_answers, make_broker, identity, instance_id, caplog
):
    async def run():
        async with make_broker(make_answers({18: (0, 3)})) as broker:
            part = make_part(broker.port)
            await part.prepare()
            await part.close()
            return metrics(part, identity, instance_id)

    assert asyncio.run(run()) == {"own."}
    assert "only the subscriptions of conf/ count" in caplog.text


def test_resource_that_cannot_be_used_is_logged_by_name_without_its_values(
    make_answers, make_broker, resources, identity, instance_id, caplog
):
    async def run():
        answers = make_answers()
        answers.others = resources
        resources.by_name["bad"] = {"match": "client_id=(?!secret).*"}
        async with make_broker(answers) as broker:
            part = make_part(broker.port)
            await part.prepare()
            await part.close()
            return metrics(part, identity, instance_id)

    assert asyncio.run(run()) == {"own.", "theirs."}
    assert "subscription 'bad' of the cluster is skipped: lookaround" in caplog.text
    assert "secret" not in caplog.text


def test_resource_of_which_only_defaults_are_shown_is_none(
    make_answers, make_broker, resources, identity, instance_id, caplog
):
    async def run():
        answers = make_answers()
        answers.others = resources
        resources.by_name["own"] = {"interval.ms": "default", "metrics": "default"}
        async with make_broker(answers) as broker:
            part = make_part(broker.port)
            await part.prepare()
            await part.close()
            return metrics(part, identity, instance_id)

    assert asyncio.run(run()) == {"own.", "theirs."}
    assert "skipped" not in caplog.text


@pytest.mark.parametrize("has_rights", [True, False])
def test_the_cluster_that_clients_use_is_followed_and_conf_counts_without_rights(
    make_answers, make_broker, resources, identity, instance_id, caplog, has_rights
):
    async def run():
        answers = make_answers()
        answers.others = resources
        if not has_rights:
            resources.error = ErrorCode.cluster_authorization_failed
        async with make_broker(make_answers()) as kafka, make_broker(answers) as broker:
            part = make_bridge(kafka, broker).cluster
            await part.prepare()
            await part._follower.try_read()
            await part.close()
            assert kafka.connections == 0
            return metrics(part, identity, instance_id)

    caplog.set_level(logging.WARNING)
    in_force = asyncio.run(run())
    said = [
        one.getMessage() for one in caplog.records if one.name == following.__name__
    ]
    if has_rights:
        assert in_force == {"own.", "theirs."}
        assert said == []
    else:
        assert in_force == {"own."}
        (warning,) = said
        assert warning.startswith("only the subscriptions of conf/ count: ")
        assert "[upstream]" in warning
        assert "DESCRIBE_CONFIGS on the cluster" in warning


def test_a_bridge_that_has_only_the_clients_cluster_does_not_start_without_rights_there(
    make_answers, make_broker, resources
):
    async def run():
        answers = make_answers()
        answers.others = resources
        resources.error = ErrorCode.cluster_authorization_failed
        async with make_broker(make_answers()) as kafka, make_broker(answers) as broker:
            bridge = make_bridge(
                kafka, broker, "bridge.subscriptions_source=cluster",
                "bridge.http_port=-1",
            )  # fmt: skip
            with pytest.raises(ClusterFault, match=rf"{broker.port} \(\[upstream\]\)"):
                await bridge.serve(asyncio.Event(), pytest.fail)
            await bridge.cluster.close()

    asyncio.run(run())


@pytest.mark.parametrize("principal", ["admin", "User:", ":admin", ""])
def test_admin_principal_that_is_none_is_named(principal):
    with pytest.raises(InvalidSetting, match=r"bridge\.admin_principals"):
        make_part(1, f"bridge.admin_principals=['{principal}']")


def test_follower_that_is_told_asks_nothing_and_puts_in_force_what_it_hears(
    make_answers, make_broker, resources, identity, instance_id, caplog
):
    async def run():
        answers = make_answers()
        answers.others = resources
        async with make_broker(answers) as broker:
            part = make_part(broker.port)
            # Another told the id of the cluster, too.
            part.known.note("cluster")
            part.follower.is_told = True
            task = asyncio.create_task(part.run())
            part.follower.take_fault(ClusterFault("away"))
            part.follower.take_fault(ClusterFault("away"))
            part.follower.take({"told": {"metrics": "told."}})
            # Three times as long as between two looks.
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(broker.has_connection.wait(), 0.3)
            task.cancel()
            await part.close()
            return metrics(part, identity, instance_id), broker.connections

    caplog.set_level(logging.INFO)
    seen, connections = asyncio.run(run())
    assert seen == {"own.", "told."}
    assert connections == 0
    assert caplog.text.count("away") == 1
    assert "followed again" in caplog.text
