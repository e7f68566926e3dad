"""What admins and others are answered, and what of it the cluster is asked."""

import struct
from functools import partial

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.describe_configs.v4.request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kio.schema.describe_configs.v4.response import (
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kio.schema.incremental_alter_configs.v1.response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kio.schema.list_config_resources.v1.request import ListConfigResourcesRequest
from kio.serial import entity_reader

from pipelines.bridge.cluster.admin_handlers import AdminHandlers
from pipelines.bridge.core.handlers import Connection, RequestHandlers, make_identity
from pipelines.bridge.protocol.requests import parse_request
from pipelines.kafka_client.primitives import MalformedBytes
from pipelines.kafka_wire.cluster_requests import (
    KNOWN_VERSIONS,
    adapt,
    newest,
)
from pipelines.kafka_wire.faults import ClusterFault
from pipelines.kafka_wire.messages import NO_THROTTLE

CLIENT_METRICS, TOPIC, BROKER = 16, 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
NONE = ErrorCode.none
FORBIDDEN = (ErrorCode.cluster_authorization_failed, "Cluster authorization failed.")
ADMIN_APIS = (32, 44, 74)


def describe(*resources):
    return DescribeConfigsRequest(
        resources=tuple(
            DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=None
            )
            for kind, name in resources
        )
    )


def alter(*resources, validate_only=False):
    return IncrementalAlterConfigsRequest(
        resources=tuple(
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=tuple(
                    AlterableConfig(name=key, config_operation=operation, value=value)
                    for operation, key, value in changes
                ),
            )
            for kind, name, changes in resources
        ),
        validate_only=validate_only,
    )


def set_one(key, value, name="s"):
    return alter((CLIENT_METRICS, name, [(SET, key, value)]))


LIST = ListConfigResourcesRequest(resource_types=(CLIENT_METRICS,))
REQUESTS = [
    describe((CLIENT_METRICS, "s")), set_one("interval.ms", "1000"), LIST,
]  # fmt: skip


class Bridge:
    """The handlers, and a cluster that answers at once."""

    def __init__(self, frame, listing, principal="User:admin"):
        self.asked = []
        self.noted = []
        self.fault = None
        self._frame, self._listing = frame, listing
        admin = AdminHandlers(
            admin_principals=["User:admin", "User:second"],
            forward=self._answer,
            note_change=lambda *outcome: self.noted.append(outcome),
        )
        self.handlers = RequestHandlers(admin.served())
        identity = make_identity("L", "127.0.0.1", 1)
        self.connection = Connection(connection_id=1, identity=identity)
        self.connection.change_identity(
            type(identity)(
                **{
                    name: getattr(identity, name)
                    for name in type(identity).__slots__
                    if name != "principal"
                },
                principal=principal,
            )
        )

    def _answer(self, request, finish):
        self.asked.append(request)
        finish(self.fault or self._respond(request))

    def _respond(self, request):
        if request.__api_key__ == 74:
            return self._listing("s", "t")
        # Another order than asked: answers are matched by name.
        known = reversed(request.resources)
        if request.__api_key__ == 32:
            return DescribeConfigsResponse(
                throttle_time=NO_THROTTLE,
                results=tuple(
                    DescribeConfigsResult(
                        error_code=NONE, error_message=None, configs=(),
                        resource_type=one.resource_type,
                        resource_name=one.resource_name,
                    )
                    for one in known
                ),
            )  # fmt: skip
        return IncrementalAlterConfigsResponse(
            throttle_time=NO_THROTTLE,
            responses=tuple(
                AlterConfigsResourceResponse(
                    error_code=NONE, error_message=None,
                    resource_type=one.resource_type, resource_name=one.resource_name,
                )
                for one in known
            ),
        )  # fmt: skip

    def send(self, body):
        replies = []
        request = parse_request(self._frame(body)[4:], self.handlers.apis)
        self.handlers.handle(request, self.connection, replies.append)
        (reply,) = replies
        schema = load_response_schema(body.__api_key__, body.__version__)
        size, correlation_id = struct.unpack_from(">ii", reply)
        assert (size, correlation_id) == (len(reply) - 4, 7)
        _, header = entity_reader(schema.__header_schema__)(reply, 4)
        offset = 4 + header
        response, read = entity_reader(schema)(reply, offset)
        assert offset + read == len(reply)
        return response

    def outcomes(self, body):
        response = self.send(body)
        answers = getattr(response, "results", None) or response.responses
        return [(one.error_code, one.error_message) for one in answers]


@pytest.fixture
def make_bridge(frame, listing):
    return partial(Bridge, frame, listing)


@pytest.mark.parametrize("body", REQUESTS, ids=lambda body: type(body).__name__)
def test_admin_is_answered_by_the_cluster_in_every_version(make_bridge, body):
    for version in KNOWN_VERSIONS[body.__api_key__]:
        bridge = make_bridge()
        response = bridge.send(adapt(body, version))
        assert bridge.asked == [body]
        assert response.__version__ == version
        assert "s" in str(response)


@pytest.mark.parametrize("principal", ["User:ANONYMOUS", "User:Admin", "User:", ""])
@pytest.mark.parametrize("body", REQUESTS[:2], ids=lambda body: type(body).__name__)
def test_others_may_neither_describe_nor_alter_and_nothing_is_forwarded(
    make_bridge, body, principal
):
    bridge = make_bridge(principal)
    for version in KNOWN_VERSIONS[body.__api_key__]:
        assert bridge.outcomes(adapt(body, version)) == [FORBIDDEN]
    assert bridge.asked == bridge.noted == []


@pytest.mark.parametrize("version", [0, 1])
def test_others_may_not_list_and_nothing_is_forwarded(make_bridge, version):
    bridge = make_bridge("User:ANONYMOUS")
    response = bridge.send(adapt(LIST, version))
    assert response.error_code is FORBIDDEN[0]
    assert response.config_resources == ()
    assert bridge.asked == []


def test_others_learn_nothing_about_resources_of_another_type(make_bridge):
    bridge = make_bridge("User:ANONYMOUS")
    assert bridge.outcomes(describe((TOPIC, "t"))) == [FORBIDDEN]
    assert bridge.outcomes(alter((TOPIC, "t", []))) == [FORBIDDEN]
    listing = bridge.send(ListConfigResourcesRequest(resource_types=(TOPIC,)))
    assert listing.error_code is FORBIDDEN[0]
    assert bridge.asked == []


@pytest.mark.parametrize("kind", [TOPIC, BROKER, 8, 32, 0, 127])
def test_other_types_are_refused_and_nothing_is_forwarded(make_bridge, kind):
    bridge = make_bridge()
    for body in (describe((kind, "1")), alter((kind, "1", [(SET, "a", "b")]))):
        ((code, text),) = bridge.outcomes(body)
        assert code is ErrorCode.invalid_request
        assert f"not of type {kind}" in text
    listing = bridge.send(ListConfigResourcesRequest(resource_types=(16, kind)))
    assert listing.error_code is ErrorCode.unsupported_version
    assert bridge.asked == []


def test_listing_of_all_types_is_of_the_one_that_is_served(make_bridge):
    bridge = make_bridge()
    listing = bridge.send(ListConfigResourcesRequest(resource_types=()))
    assert [one.resource_type for one in listing.config_resources] == [16, 16]
    assert bridge.asked == [LIST]


def test_only_what_is_allowed_of_a_mixed_request_reaches_the_cluster(make_bridge):
    bridge = make_bridge()
    body = describe((CLIENT_METRICS, "a"), (TOPIC, "b"), (CLIENT_METRICS, "c"))
    response = bridge.send(body)
    assert [one.resource_name for one in response.results] == ["a", "b", "c"]
    assert [one.error_code for one in response.results] == [
        NONE, ErrorCode.invalid_request, NONE,
    ]  # fmt: skip
    (asked,) = bridge.asked
    assert [one.resource_name for one in asked.resources] == ["a", "c"]


def test_empty_request_is_answered_without_the_cluster(make_bridge):
    bridge = make_bridge()
    assert bridge.send(describe()).results == ()
    assert bridge.send(alter()).responses == ()
    assert bridge.asked == []


@pytest.mark.parametrize(
    ("name", "key", "value", "code", "text"),
    [("", "metrics", "a", 42, "Subscription name can't be empty"),
     ("s", "random", "1", 42, "Unknown client metrics configuration: random"),
     ("s", "interval.ms", "99", 42, "Invalid value 99 for interval.ms, interval must"),
     ("s", "interval.ms", "x", 40, "Invalid value x for configuration interval.ms: "),
     ("s", "match", "client_id=[a", 40, "Illegal client matching pattern: client_id=["),
     ("s", "match", "client_id=(?!a)", 40, "Illegal client matching pattern: ")],
)  # fmt: skip
def test_value_that_cannot_be_used_is_refused_before_the_cluster_sees_it(
    make_bridge, name, key, value, code, text
):
    # The whole texts stand beside a real broker's in tests/integration.
    bridge = make_bridge()
    ((error_code, error_message),) = bridge.outcomes(set_one(key, value, name))
    assert error_code == ErrorCode(code)
    assert error_message.startswith(text)
    assert bridge.asked == []


@pytest.mark.parametrize(
    "change",
    [(DELETE, "random", None), (APPEND, "metrics", "a"), (SUBTRACT, "match", "x"),
     (SET, "metrics", None), (DELETE, "match", "client_id=[a"), (9, "metrics", "a")],
)  # fmt: skip
def test_what_only_the_cluster_can_judge_is_forwarded(make_bridge, change):
    bridge = make_bridge()
    body = alter((CLIENT_METRICS, "s", [change]))
    assert bridge.outcomes(body) == [(NONE, None)]
    assert bridge.asked == [body]


def test_changes_are_noted_with_who_and_what_came_of_it(make_bridge):
    bridge = make_bridge("User:second")
    bridge.send(
        alter(
            (CLIENT_METRICS, "a", [(SET, "metrics", "m.")]),
            (CLIENT_METRICS, "b", [(SET, "interval.ms", "1")]),
        )
    )
    bridge.send(alter((CLIENT_METRICS, "c", []), validate_only=True))
    assert bridge.noted == [
        ("User:second", {"a": NONE, "b": ErrorCode.invalid_request})
    ]


@pytest.mark.parametrize("body", REQUESTS, ids=lambda body: type(body).__name__)
def test_cluster_that_is_away_is_said(make_bridge, body):
    bridge = make_bridge()
    bridge.fault = ClusterFault("Kafka at a:1 does not answer (no answer)")
    if body is LIST:
        assert bridge.send(body).error_code is ErrorCode.request_timed_out
    else:
        assert bridge.outcomes(body) == [
            (ErrorCode.request_timed_out, str(bridge.fault))
        ]


def test_resource_that_the_cluster_leaves_out_is_an_error(make_bridge):
    bridge = make_bridge()
    bridge._respond = lambda _request: DescribeConfigsResponse(
        throttle_time=NO_THROTTLE, results=()
    )
    ((code, text),) = bridge.outcomes(describe((CLIENT_METRICS, "s")))
    assert code is ErrorCode.unknown_server_error
    assert "did not answer" in text


def test_apis_are_always_advertised(make_bridge):
    response = make_bridge("User:nobody").send(
        ApiVersionsRequest(client_software_name="a", client_software_version="1")
    )
    listed = {
        one.api_key: (one.min_version, one.max_version) for one in response.api_keys
    }
    assert {key: listed[key] for key in ADMIN_APIS} == {
        32: (1, 4), 44: (0, 1), 74: (0, 1),
    }  # fmt: skip


@pytest.mark.parametrize("body", REQUESTS, ids=lambda body: type(body).__name__)
def test_request_that_is_cut_is_malformed_wherever(make_bridge, frame, body):
    apis = make_bridge().handlers.apis
    for version in KNOWN_VERSIONS[body.__api_key__]:
        older = adapt(body, version)
        whole = frame(older)[4:]
        assert parse_request(whole + b"xyz", apis).body == newest(older)
        for cut in range(8, len(whole)):
            with pytest.raises(MalformedBytes):
                parse_request(whole[:cut], apis)


def test_request_with_more_items_than_anyone_has_is_malformed(make_bridge, frame):
    schema = load_request_schema(74, 1)
    apis = make_bridge().handlers.apis
    parse_request(frame(schema(resource_types=(16,) * 1_000))[4:], apis)
    with pytest.raises(MalformedBytes, match="too many items"):
        parse_request(frame(schema(resource_types=(16,) * 1_001))[4:], apis)
