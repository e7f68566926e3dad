"""Real sockets on loopback; only Kafka's answer is given by the test."""

import asyncio
import contextlib
import socket
import struct

from kio.schema.api_versions.v0.request import ApiVersionsRequest as OldVersions
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.errors import ErrorCode
from kio.schema.get_telemetry_subscriptions.v0.request import (
    GetTelemetrySubscriptionsRequest,
)
from kio.schema.metadata.v13.request import MetadataRequest

from pipelines.bridge.front.transport import MAX_OPEN_REQUESTS

MAX_REQUEST_BYTES = 2_000
GET = GetTelemetrySubscriptionsRequest(client_instance_id=None)
SOFTWARE = ApiVersionsRequest(client_software_name="app", client_software_version="1.2")
METADATA = MetadataRequest(
    topics=(), allow_auto_topic_creation=False,
    include_topic_authorized_operations=False,
)  # fmt: skip
NONE = ErrorCode.none


def test_no_more_requests_are_open_than_one_connection_may_have(
    frame, push_request, run, serving
):
    async def test():
        async with serving() as (bridge, client):
            ids = await client.subscribe(frame)
            count = 3 * MAX_OPEN_REQUESTS
            client.send(frame, *[push_request(*ids)] * count)
            waiting = [await bridge.published.get() for _ in range(MAX_OPEN_REQUESTS)]
            client.send(frame, OldVersions())
            await client.writer.drain()
            assert bridge.published.empty()
            for done in range(count):
                _, acknowledge = waiting.pop(0)
                acknowledge(True)
                number, _ = await client.receive()
                assert number == done + 1
                if done + MAX_OPEN_REQUESTS < count:
                    waiting.append(await bridge.published.get())
            assert (await client.receive())[0] == count + 1

    run(test)


def test_connection_goes_on_after_api_versions_that_cannot_be_read(frame, run, serving):
    async def test():
        async with serving() as (bridge, client):
            unreadable = struct.pack(">hhihx", 18, 5, 0, -1) + b"\0\0"
            client.writer.write(struct.pack(">i", len(unreadable)) + unreadable)
            client.sent.append(OldVersions())
            _, told = await client.receive()
            assert told.error_code is ErrorCode.unsupported_version
            ((own,),) = (told.api_keys,)
            assert (own.api_key, own.min_version, own.max_version) == (18, 0, 4)
            assert (await client.ask(frame, SOFTWARE)).error_code is NONE
            assert bridge.counters.malformed_requests == 0

    run(test)


def test_many_quick_requests_in_one_piece_are_answered_in_order(frame, run, serving):
    async def test():
        async with serving() as (_, client):
            client.send(frame, *[OldVersions()] * 5_000)
            numbers = [(await client.receive())[0] for _ in range(5_000)]
            assert numbers == list(range(5_000))

    run(test)


def test_peer_that_does_not_read_is_not_read_from_while_others_are(frame, run, serving):
    async def test():
        async with serving() as (bridge, client):
            requests, sent = frame(OldVersions()) * 10_000, 0
            with socket.socket() as deaf:
                deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                deaf.connect(client.address)
                deaf.setblocking(False)
                await client.ask(frame, OldVersions())
                transport = bridge.connections[1]._transport
                while transport.is_reading():
                    with contextlib.suppress(BlockingIOError):
                        sent += deaf.send(requests[sent % len(requests) :])
                    await client.ask(frame, OldVersions())
                    assert sent < 500_000_000
                assert transport.get_write_buffer_size() < 1_000_000
                assert bridge.counters.open_connections == 2

    run(test)


def test_acknowledgement_for_a_closed_connection_is_nothing(
    frame, push_request, run, serving
):
    async def test():
        async with serving() as (bridge, client):
            ids = await client.subscribe(frame)
            client.send(frame, push_request(*ids))
            _, acknowledge = await bridge.published.get()
            # With a reset: a peer that merely stops sending still gets its reply.
            client.writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            client.writer.transport.abort()
            await bridge.lost.get()
            assert len(bridge.instances) == 0
            acknowledge(True)
            assert bridge.counters.accepted_pushes == 1
            assert bridge.counters.open_connections == 0

    run(test)


def test_idle_connection_drains_at_once_and_a_busy_one_behind_its_push(
    frame, push_request, run, serving
):
    async def test():
        async with serving() as (bridge, client):
            ids = await client.subscribe(frame)
            client.send(frame, push_request(*ids))
            _, acknowledge = await bridge.published.get()
            other = type(client)(*await asyncio.open_connection(*client.address))
            other.send(frame, OldVersions())
            await other.receive()
            for connection in bridge.connections:
                connection.drain()
            assert await other.is_closed()
            assert bridge.counters.open_connections == 1
            acknowledge(False)
            _, response = await client.receive()
            assert response.error_code is ErrorCode.throttling_quota_exceeded
            assert await client.is_closed()
            other.writer.close()

    run(test)
