"""What admins and others are answered of quotas, and what the cluster is asked."""

from functools import partial

import pytest
from kio.index import load_response_schema
from kio.schema.alter_client_quotas.v1 import request as altering
from kio.schema.alter_client_quotas.v1 import response as altered
from kio.schema.describe_client_quotas.v1 import request as describing
from kio.schema.describe_client_quotas.v1 import response as described
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader
from kio.static.primitive import f64, i8

from pipelines.bridge.cluster.quota_handlers import QuotaHandlers
from pipelines.bridge.core.handlers import Connection, RequestHandlers, make_identity
from pipelines.bridge.protocol.requests import parse_request
from pipelines.kafka_wire.cluster_requests import KNOWN_VERSIONS, adapt, newest
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.messages import NO_THROTTLE

ADMIN, NOBODY = ["User:ANONYMOUS"], ["User:admin"]
"""Whom a bridge takes for an admin: who asks, or somebody else."""
DESCRIBE = describing.DescribeClientQuotasRequest(
    components=(
        describing.ComponentData(entity_type="user", match_type=i8(0), match="alice"),
    ),
    strict=True,
)
FORBIDDEN = (ErrorCode.cluster_authorization_failed, "Cluster authorization failed.")


def alter(*names, validate_only=False):
    op = altering.OpData(key="producer_byte_rate", value=f64(5.0), remove=False)
    return altering.AlterClientQuotasRequest(
        entries=tuple(
            altering.EntryData(
                entity=(altering.EntityData(entity_type="user", entity_name=name),),
                ops=(op,),
            )
            for name in names
        ),
        validate_only=validate_only,
    )


class Bridge:
    """The handlers, and a cluster that answers at once."""

    def __init__(self, frame, admins):
        self.asked, self.noted, self.fault = [], [], None
        self._frame = frame
        handlers = QuotaHandlers(
            admin_principals=admins,
            forward=self._answer,
            note_change=lambda *outcome: self.noted.append(outcome),
        )
        self._handlers = RequestHandlers(handlers.served())
        self._connection = Connection(
            connection_id=1, identity=make_identity("L", "127.0.0.1", 1)
        )

    def _answer(self, request, finish):
        self.asked.append(request)
        finish(self.fault or respond(request))

    def send(self, body):
        """Return the answer, in the newest version."""
        replies = []
        request = parse_request(self._frame(body)[4:], self._handlers.apis)
        self._handlers.handle(request, self._connection, replies.append)
        (reply,) = replies
        schema = load_response_schema(body.__api_key__, body.__version__)
        _, header = entity_reader(schema.__header_schema__)(reply, 4)
        response, read = entity_reader(schema)(reply, 4 + header)
        assert 4 + header + read == len(reply)
        return newest(response)


def respond(request):
    if request.__api_key__ == 48:
        return described.DescribeClientQuotasResponse(
            throttle_time=NO_THROTTLE, error_code=ErrorCode.none, error_message=None,
            entries=(),
        )  # fmt: skip
    return altered.AlterClientQuotasResponse(
        throttle_time=NO_THROTTLE,
        entries=tuple(
            altered.EntryData(
                error_code=ErrorCode.none, error_message=None,
                entity=tuple(
                    altered.EntityData(
                        entity_type=part.entity_type, entity_name=part.entity_name
                    )
                    for part in entry.entity
                ),
            )
            for entry in request.entries
        ),
    )  # fmt: skip


def outcomes(response):
    return [(one.error_code, one.error_message) for one in response.entries]


@pytest.fixture
def make_bridge(frame):
    return partial(Bridge, frame)


@pytest.mark.parametrize("body", [DESCRIBE, alter("alice", None)], ids=["show", "set"])
def test_an_admin_is_answered_by_the_cluster_in_every_version(make_bridge, body):
    for version in KNOWN_VERSIONS[body.__api_key__]:
        bridge = make_bridge(ADMIN)
        assert bridge.send(adapt(body, version)) == respond(body)
        assert bridge.asked == [body]


def test_others_are_refused_and_the_cluster_is_not_asked(make_bridge):
    bridge = make_bridge(NOBODY)
    for version in (0, 1):
        shown = bridge.send(adapt(DESCRIBE, version))
        assert (shown.error_code, shown.error_message) == FORBIDDEN
        assert shown.entries is None
        refused = bridge.send(adapt(alter("alice", "bob"), version))
        assert outcomes(refused) == [FORBIDDEN, FORBIDDEN]
    assert bridge.asked == bridge.noted == []


def test_a_cluster_that_is_away_is_said_of_each_entity(make_bridge):
    bridge = make_bridge(ADMIN)
    bridge.fault = ClusterFault("no broker")
    assert bridge.send(DESCRIBE).error_code is ErrorCode.request_timed_out
    refused = bridge.send(alter("alice", None))
    assert outcomes(refused) == [(ErrorCode.request_timed_out, "no broker")] * 2
    assert [one.entity[0].entity_name for one in refused.entries] == ["alice", None]


def test_changes_are_noted_by_path_unless_they_are_only_tried(make_bridge):
    bridge = make_bridge(ADMIN)
    bridge.send(alter("a b", None))
    bridge.send(alter("carol", validate_only=True))
    assert bridge.noted == [
        (
            "User:ANONYMOUS",
            {"users/a%20b": ErrorCode.none, "users/<default>": ErrorCode.none},
        )
    ]
