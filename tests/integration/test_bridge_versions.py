"""A connection that begins with ApiVersions 5, byte for byte, and one that falls back."""

import asyncio
import struct

import pytest

from pipelines.bridge.core.client_identity import uuid_text
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.bridge.config_support import read_topic
from tests.unit.bridge.push_config.raw_client import connect

# Key, version, correlation id and client id of a header 2 without tags.
HEADER = "0012 0005 00000007 0003 617070 00"
SOFTWARE = "12 6170616368652d6b61666b612d6a617661 06 342e342e30"  # apache-kafka-java
TAIL = "00 ffffffff 00"
"""No ClusterId, no NodeId, no tags: what Java 4.4 and franz-go send first."""
KNOWN_TAIL = "06 6f74686572 00000007 00"
"""Another cluster's id and node."""
PROPOSED_TAIL = "b69cc35a7a544790aa69cc2bd4ee4538 00"
"""What KIP-1324 wrote where released version 5 has ClusterId and NodeId."""
RANGE_BEFORE = "00000007 0023 00000001 0012 0000 0004"
"""The reply to version 5 in another layout: error 35 and the versions before it."""
OWN_RANGE = "00000007 0023 00000001 0012 0000 0005"
"""The reply to a version that is not served: error 35 and the range of ApiVersions."""


def frame_of(version, tail=TAIL):
    content = bytearray.fromhex(HEADER + SOFTWARE + tail)
    struct.pack_into(">h", content, 2, version)
    return struct.pack(">i", len(content)) + content


@pytest.fixture(scope="module")
def bridge(kafka):
    subscription = 'subscriptions=[{name="s",metrics=["*"],interval_ms=100,match=[]}]'
    settings = make_settings(
        kafka, subscription, "proxy.enabled=true", "proxy.base_port=0"
    )
    with running_bridge(settings) as (server, endpoint):
        yield server, endpoint, settings.topics.telemetry


async def ask(client, frame):
    """Send bytes; return the whole reply, without its size."""
    client.writer.write(frame)
    (size,) = struct.unpack(">i", await client.reader.readexactly(4))
    return await client.reader.readexactly(size)


async def begin_and_push(endpoint, *frames):
    """Begin a connection with these frames, then push once; return the replies."""
    host, port = endpoint.rsplit(":", 1)
    client = await connect(host, int(port))
    replies = [await ask(client, frame) for frame in frames]
    given = await client.subscribe()
    assert given.error_code == 0
    assert await client.push_telemetry(given) == 0
    client.close()
    return replies, given.instance_id


def read_software(kafka, topic, instance_id):
    """Return what the record of a client instance says of its software."""
    for record in read_topic(kafka, topic):
        headers = {name: value.decode() for name, value in record.headers()}
        if record.key().decode() == headers["client_instance_id"] == instance_id:
            return headers["client_software_name"], headers["client_software_version"]
    return None


@pytest.mark.parametrize("tail", [TAIL, KNOWN_TAIL], ids=["unset", "set"])
def test_version_5_is_answered_as_version_4_and_the_session_goes_on(
    kafka, bridge, tail
):
    server, endpoint, topic = bridge
    replies, instance_id = asyncio.run(begin_and_push(endpoint, frame_of(5, tail)))
    as_version_4 = asyncio.run(begin_and_push(endpoint, frame_of(4, "00")))[0]
    assert replies == as_version_4
    assert replies[0][:6] == bytes.fromhex("00000007 0000")
    software = read_software(kafka, topic, uuid_text(instance_id))
    assert software == ("apache-kafka-java", "4.4.0")
    assert server.counters.malformed_requests == 0


def test_client_of_a_version_beyond_falls_back_on_its_connection(kafka, bridge):
    server, endpoint, topic = bridge
    replies, instance_id = asyncio.run(
        begin_and_push(endpoint, frame_of(99), frame_of(5))
    )
    assert replies[0] == bytes.fromhex(OWN_RANGE)
    assert replies[1][:6] == bytes.fromhex("00000007 0000")
    software = read_software(kafka, topic, uuid_text(instance_id))
    assert software == ("apache-kafka-java", "4.4.0")
    assert server.counters.unsupported_requests == 0


@pytest.mark.parametrize("is_proxied", [False, True])
def test_client_of_another_version_5_falls_back_on_its_connection(bridge, is_proxied):
    server, endpoint, _ = bridge
    place = server.proxy.bootstrap_servers if is_proxied else endpoint
    replies, _ = asyncio.run(
        begin_and_push(place, frame_of(5, PROPOSED_TAIL), frame_of(4, "00"))
    )
    assert replies[0] == bytes.fromhex(RANGE_BEFORE)
    assert replies[1][:6] == bytes.fromhex("00000007 0000")
    assert server.counters.malformed_requests == 0
