"""What requests add to the metrics of their client instance, through the real wiring."""

import struct
import uuid
from functools import partial

import pytest
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)

from pipelines.bridge.core.handlers import Connection, make_identity
from pipelines.bridge.core.records import ConnectionHeaders
from pipelines.bridge.protocol.metadata import AdvertisedNode
from pipelines.bridge.server import BridgeServer
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.support.bridge.wired_handlers import wire_handlers
from tests.unit.bridge.protocol.request_reader import RequestReader

NODE = AdvertisedNode(node_id=1, host="h", port=1, cluster_id="c")
INSTANCE_ID = uuid.UUID(int=2**127 + 5)
SUBSCRIPTION = 'subscriptions=[{name="s",metrics=["*"],interval_ms=1000,match=[]}]'

GET_REPLY = struct.Struct(">h16si")
"""Behind size, correlation id, tags and throttle time."""


class Bridge:
    """The handlers of a bridge whose Kafka and clock are the test."""

    def __init__(self, frame, push_request, seats):
        self._frame, self._push_request = frame, push_request
        settings = load_settings(
            "local", [SUBSCRIPTION, f"bridge.metrics_top_instances={seats}"]
        )
        self.server = BridgeServer(settings, SecretReader(environ={}))
        self.now_ms = 1_700_000_000_000
        self.acknowledge = []
        self.handlers = wire_handlers(
            self.server, NODE, self._publish, lambda: self.now_ms
        )
        self.connection = Connection(
            connection_id=1, identity=make_identity("L", "127.0.0.1", 1)
        )

    def _publish(self, _record, acknowledge):
        self.acknowledge.append(acknowledge)

    def ask(self, body):
        stream = RequestReader(self.handlers.apis, max_request_bytes=10_000)
        stream.receive_data(self._frame(body))
        replies = []
        request = stream.next_request()
        self.handlers.handle(request, self.connection, replies.append)
        return replies

    def get(self):
        body = GetTelemetrySubscriptionsRequest(client_instance_id=INSTANCE_ID)
        (reply,) = self.ask(body)
        error_code, self_id, subscription_id = GET_REPLY.unpack_from(reply, 13)
        if error_code == 0:
            assert self_id == INSTANCE_ID.bytes
            self.subscription_id = subscription_id

    def push(self, *, is_stored, took_ms=0):
        replies = self.ask(self._push_request(INSTANCE_ID, self.subscription_id))
        if self.acknowledge:
            self.now_ms += took_ms
            self.acknowledge.pop()(is_stored)
        return replies

    def values(self):
        (seat,) = self.server.telemetry.top
        return dict(seat.values(1e9))


@pytest.fixture
def make_bridge(frame, push_request):
    return partial(Bridge, frame, push_request)


def test_stored_push_is_an_export_with_its_time(make_bridge):
    bridge = make_bridge(seats=1)
    bridge.get()
    for took_ms in (30, 50):
        bridge.push(is_stored=True, took_ms=took_ms)
        bridge.now_ms += 1_000
    seen = bridge.values()
    assert seen["plugin-export-count"] == 2
    # The first push takes the seat before it is counted.
    assert seen["plugin-export-time-avg"] == 40
    assert seen["plugin-export-time-max"] == 50
    assert seen["plugin-error-count"] == seen["throttle-count"] == 0


def test_pushes_of_a_connection_that_pushed_its_configuration_first_are_counted(
    make_bridge,
):
    bridge = make_bridge(seats=1)
    # What PushConfig leaves on the connection.
    bridge.connection.headers = ConnectionHeaders((), 0)
    bridge.get()
    bridge.push(is_stored=True, took_ms=30)
    assert bridge.values()["plugin-export-count"] == 1


def test_push_that_kafka_does_not_take_is_an_error_of_the_export(make_bridge):
    bridge = make_bridge(seats=1)
    bridge.get()
    bridge.push(is_stored=False)
    seen = bridge.values()
    assert (seen["plugin-error-count"], seen["plugin-export-count"]) == (1, 0)


def test_early_requests_are_throttled_and_counted(make_bridge):
    bridge = make_bridge(seats=1)
    bridge.get()
    bridge.get()
    bridge.push(is_stored=True)
    bridge.push(is_stored=True)
    seen = bridge.values()
    assert seen["throttle-count"] == 2
    assert seen["plugin-export-count"] == 1


def test_clock_that_steps_back_takes_no_time_away(make_bridge):
    bridge = make_bridge(seats=1)
    bridge.get()
    bridge.push(is_stored=True, took_ms=-500)
    assert bridge.values()["plugin-export-time-max"] == 0


def test_instance_without_a_seat_is_counted_in_the_sums_only(make_bridge):
    bridge = make_bridge(seats=0)
    bridge.get()
    bridge.push(is_stored=True)
    bridge.push(is_stored=True)
    assert list(bridge.server.telemetry.top) == []
    assert bridge.server.counters.accepted_pushes == 1
    assert bridge.server.counters.throttled_pushes == 1


def test_instance_is_shown_until_its_connection_closes(make_bridge):
    bridge = make_bridge(seats=1)
    bridge.get()
    bridge.push(is_stored=True)
    assert len(bridge.server.telemetry.instances) == 1
    bridge.handlers.forget(bridge.connection)
    assert list(bridge.server.telemetry.top) == []
    assert len(bridge.server.telemetry.instances) == 0
