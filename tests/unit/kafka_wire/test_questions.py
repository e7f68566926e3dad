"""Questions that are asked again and again, of a broker on loopback."""

import asyncio

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.schema.list_config_resources.v1.response import ListConfigResourcesResponse

from pipelines.kafka_client.async_link import AsyncLink
from pipelines.kafka_client.session import Software
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.faults import ClusterFault, MissingApi, MissingRight
from pipelines.kafka_wire.questions import Question, check_error
from tests.support.kafka_answers import OFFERED, Answers, Broker, make_listing

REQUEST = ListConfigResourcesRequest(resource_types=())


def check(answer):
    check_error(answer.error_code, "its resources", "DESCRIBE_CONFIGS on the cluster")


def ask(answers, *listings):
    """Ask once for each listing that the broker answers with; return what came."""

    async def run():
        found, question = [], Question()
        async with Broker(answers) as broker:
            access = read_access(
                {
                    "bootstrap.servers": f"127.0.0.1:{broker.port}",
                    "security.protocol": "PLAINTEXT",
                }
            )
            link = AsyncLink(access, Software(client_id="t", name="t", version="1"))
            for one in listings:
                answers.others = lambda _request, one=one: one
                try:
                    answer = await question.ask(
                        link, REQUEST, ListConfigResourcesResponse, timeout_s=5,
                        check=check,
                    )  # fmt: skip
                    found.append(answer and answer.config_resources[0].resource_name)
                except ClusterFault as fault:
                    found.append(type(fault))
            link.close()
        return found

    return asyncio.run(run())


def refuse(error_code):
    listing = make_listing("a")
    return ListConfigResourcesResponse(
        throttle_time=listing.throttle_time, error_code=error_code,
        config_resources=(),
    )  # fmt: skip


def test_answer_is_read_where_it_says_something_else():
    a, b = make_listing("a"), make_listing("b")
    assert ask(Answers(), a, a, b, b, a) == ["a", None, "b", None, "a"]


def test_error_is_told_each_time():
    refusal = refuse(ErrorCode.cluster_authorization_failed)
    assert ask(Answers(), refusal, refusal, make_listing("a")) == [
        MissingRight, MissingRight, "a",
    ]  # fmt: skip


def test_api_that_is_not_served_is_missing():
    offered = {key: one for key, one in OFFERED.items() if key != 74}
    assert ask(Answers(offered), make_listing("a")) == [MissingApi]


def test_right_that_is_missing_is_named():
    with pytest.raises(MissingRight, match="needs DESCRIBE_CONFIGS on the cluster"):
        check(refuse(ErrorCode.cluster_authorization_failed))
    with pytest.raises(ClusterFault, match="invalid_request"):
        check(refuse(ErrorCode.invalid_request))
    check(make_listing("a"))
