"""Real sockets on loopback; only Kafka's answer is given by the test."""

import struct

import pytest
from kio.schema.api_versions.v0.request import ApiVersionsRequest as OldVersions
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)
from kio.schema.metadata.v13.request import MetadataRequest

MAX_REQUEST_BYTES = 2_000
GET = GetTelemetrySubscriptionsRequest(client_instance_id=None)
SOFTWARE = ApiVersionsRequest(client_software_name="app", client_software_version="1.2")
METADATA = MetadataRequest(
    topics=(), allow_auto_topic_creation=False,
    include_topic_authorized_operations=False,
)  # fmt: skip
NONE = ErrorCode.none


def test_replies_keep_their_order_behind_a_slow_acknowledgement(
    frame, push_request, run, serving
):
    async def test():
        async with serving() as (bridge, client):
            ids = await client.subscribe(frame)
            client.send(frame, push_request(*ids), OldVersions(), METADATA)
            record, acknowledge = await bridge.published.get()
            client.send(frame, push_request(*ids))
            _, acknowledge_later = await bridge.published.get()
            acknowledge_later(False)
            assert bridge.counters.accepted_pushes == 0
            acknowledge(True)
            replies = [await client.receive() for _ in range(4)]
            assert [number for number, _ in replies] == [1, 2, 3, 4]
            assert replies[0][1].error_code is NONE
            assert replies[3][1].error_code is ErrorCode.throttling_quota_exceeded
            assert record.value == b"abc"
            assert bridge.counters.accepted_pushes == 1

    run(test)


def test_records_carry_what_the_connection_said(frame, push_request, run, serving):
    async def test():
        async with serving() as (bridge, client):
            ids = await client.subscribe(frame)
            client.send(frame, push_request(*ids), client_id=None)
            before, _ = await bridge.published.get()
            client.send(frame, SOFTWARE)
            client.send(frame, push_request(*ids), client_id="other")
            after, _ = await bridge.published.get()
            before, after = dict(before.headers), dict(after.headers)
            assert "client_id" not in before
            assert before["client_software_name"] == b"unknown"
            assert before["client_software_version"] == b"unknown"
            assert before["client_source_address"] == b"127.0.0.1"
            port = client.writer.get_extra_info("sockname")[1]
            assert before["client_source_port"] == str(port).encode()
            assert after["client_id"] == b"other"
            assert after["client_software_name"] == b"app"
            assert after["client_software_version"] == b"1.2"

    run(test)


@pytest.mark.parametrize(
    "bad",
    [struct.pack(">i", -1), struct.pack(">i", MAX_REQUEST_BYTES + 1),
     struct.pack(">ihhih", 10, 17, 1, 9, -1), struct.pack(">ihhih", 10, 72, 1, 9, -1),
     struct.pack(">ih", 2, 72)],
    ids=["negative size", "too long", "SaslHandshake", "PushTelemetry 1", "cut header"],
)  # fmt: skip
def test_bad_request_closes_its_connection_after_the_replies_before_it(
    frame, push_request, bad, run, serving
):
    async def test():
        async with serving() as (bridge, client):
            ids = await client.subscribe(frame)
            client.send(frame, push_request(*ids))
            client.writer.write(bad)
            client.send(frame, OldVersions())
            _, acknowledge = await bridge.published.get()
            acknowledge(True)
            number, response = await client.receive()
            assert (number, response.error_code) == (1, NONE)
            assert await client.is_closed()
            counters = bridge.counters
            assert counters.malformed_requests + counters.unsupported_requests == 1

    run(test)


def test_peer_that_only_stopped_sending_still_gets_its_replies(
    frame, push_request, run, serving
):
    async def test():
        async with serving() as (bridge, client):
            ids = await client.subscribe(frame)
            client.send(frame, push_request(*ids))
            client.writer.write_eof()
            _, acknowledge = await bridge.published.get()
            acknowledge(True)
            assert (await client.receive())[0] == 1
            assert await client.is_closed()

    run(test)
