"""What admins and others are answered of SCRAM credentials, and what is asked."""

import pytest
from kio.schema.describe_user_scram_credentials.v0 import request as asking
from kio.schema.describe_user_scram_credentials.v0 import response as answering
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader
from kio.static.primitive import i8, i32

from pipelines.bridge.cluster.scram_handlers import ScramHandlers
from pipelines.bridge.core.handlers import Connection, RequestHandlers, make_identity
from pipelines.bridge.protocol.requests import parse_request
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.messages import NO_THROTTLE

ADMIN, NOBODY = ["User:ANONYMOUS"], ["User:admin"]
"""Whom a bridge takes for an admin: who asks, or somebody else."""
ALL = asking.DescribeUserScramCredentialsRequest(users=None)
TWO = asking.DescribeUserScramCredentialsRequest(
    users=(asking.UserName(name="alice"), asking.UserName(name="bob"))
)
KNOWN = answering.DescribeUserScramCredentialsResponse(
    throttle_time=NO_THROTTLE,
    error_code=ErrorCode.none,
    error_message=None,
    results=(
        answering.DescribeUserScramCredentialsResult(
            user="alice",
            error_code=ErrorCode.none,
            error_message=None,
            credential_infos=(
                answering.CredentialInfo(mechanism=i8(2), iterations=i32(8_192)),
            ),
        ),
        answering.DescribeUserScramCredentialsResult(
            user="bob",
            error_code=ErrorCode.resource_not_found,
            error_message="Attempt to describe a user credential that does not exist",
            credential_infos=(),
        ),
    ),
)


class Bridge:
    """The handler, and a cluster that answers at once."""

    def __init__(self, frame, admins, answer):
        self.asked, self._frame, self._answer = [], frame, answer
        handlers = ScramHandlers(admin_principals=admins, forward=self._forward)
        self._handlers = RequestHandlers(handlers.served())

    def _forward(self, request, finish):
        self.asked.append(request)
        finish(self._answer)

    def parse(self, body, *, cut=0):
        written = self._frame(body)[4:]
        return parse_request(written[: len(written) - cut], self._handlers.apis)

    def send(self, body):
        replies = []
        connection = Connection(
            connection_id=1, identity=make_identity("L", "127.0.0.1", 1)
        )
        self._handlers.handle(self.parse(body), connection, replies.append)
        (reply,) = replies
        schema = answering.DescribeUserScramCredentialsResponse
        _, header = entity_reader(schema.__header_schema__)(reply, 4)
        response, read = entity_reader(schema)(reply, 4 + header)
        assert 4 + header + read == len(reply)
        return response


@pytest.fixture
def make_bridge(frame):
    def make(admins, answer=KNOWN):
        return Bridge(frame, admins, answer)

    return make


@pytest.mark.parametrize("body", [ALL, TWO], ids=["all", "two"])
def test_an_admin_is_answered_by_the_cluster(make_bridge, body):
    bridge = make_bridge(ADMIN)
    assert bridge.send(body) == KNOWN
    assert bridge.asked == [body]


@pytest.mark.parametrize("body", [ALL, TWO], ids=["all", "two"])
def test_others_are_refused_and_the_cluster_is_not_asked(make_bridge, body):
    bridge = make_bridge(NOBODY)
    answer = bridge.send(body)
    assert (answer.error_code, answer.error_message, answer.results) == (
        ErrorCode.cluster_authorization_failed,
        "Cluster authorization failed.",
        (),
    )
    assert bridge.asked == []


def test_a_cluster_that_is_away_is_said(make_bridge):
    answer = make_bridge(ADMIN, ClusterFault("no broker")).send(TWO)
    assert (answer.error_code, answer.error_message, answer.results) == (
        ErrorCode.request_timed_out,
        "no broker",
        (),
    )


def test_a_request_that_is_cut_or_too_long_is_malformed(make_bridge):
    bridge = make_bridge(ADMIN)
    with pytest.raises(MalformedBytes):
        bridge.parse(TWO, cut=1)
    many = tuple(asking.UserName(name=str(number)) for number in range(1_001))
    with pytest.raises(MalformedBytes):
        bridge.parse(asking.DescribeUserScramCredentialsRequest(users=many))
