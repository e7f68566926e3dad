"""The name and version of a client's software, as librdkafka itself tells them."""

import asyncio
import socket
import struct

import confluent_kafka
import pytest

from pipelines.clients.key_lists import PRODUCER
from pipelines.clients.software_names import name_software
from pipelines.clients.starting import prepare
from tests.unit.bridge.push_config.raw_client import read_record
from tests.unit.clients.scripted_node import ScriptedNode

NAME, VERSION = "client.software.name", "client.software.version"
GIVEN = {
    "nothing": {},
    "signs": {NAME: "my_app x", VERSION: "1.0.0+build_5"},
    "signs at the ends": {NAME: "-my-", VERSION: " --2.1-"},
    "letters of two bytes": {NAME: "aäb", VERSION: "1ü"},
    "white space": {NAME: "  x\ty"},
    "a number": {VERSION: 1.5},
    "empty": {NAME: "", VERSION: ""},
    "none": {NAME: None, VERSION: None},
}


def told_by_librdkafka(conf):
    """Return name and version in the first request of a real handle."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        server = f"127.0.0.1:{listening.getsockname()[1]}"
        quiet = {"error_cb": lambda _error: None, "log_level": 0}
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": server} | quiet | conf
        )
        accepted, _ = listening.accept()
        with accepted, accepted.makefile("rb") as stream:
            frame = stream.read(struct.unpack(">i", stream.read(4))[0])
        producer.poll(0)
    (length,) = struct.unpack_from(">h", frame, 8)
    at, texts = 10 + length + 1, []
    for _ in range(2):
        size = frame[at]
        texts.append(frame[at + 1 : at + size].decode())
        at += size
    return tuple(texts)


@pytest.mark.parametrize("conf", GIVEN.values(), ids=GIVEN)
def test_the_names_are_those_that_the_handle_tells(conf):
    assert name_software(conf) == told_by_librdkafka(conf)


def test_the_bridge_takes_what_the_application_calls_itself(serving, run, log):
    """Its keys are judged as librdkafka's, here; the bridge does not know the name."""

    async def test():
        async with serving() as (bridge, server):
            conf = {"bootstrap.servers": server, "logger": log.logger}
            named = conf | {NAME: "my_app x", VERSION: "1.0.0+build_5"}
            prepared = await asyncio.to_thread(prepare, PRODUCER, named)
            headers = bridge.headers()
            assert headers["client_software_name"] == "my-app-x"
            assert headers["client_software_version"] == "1.0.0-build-5"
            assert prepared.conf[VERSION].startswith("1.0.0-build-5-cid-")
            assert len(read_record(bridge.records[0].value)) == 11
            assert log.warnings == []

    run(test)


def test_a_node_that_refuses_is_warned_of(log):
    with ScriptedNode(versions=[struct.pack(">hB", 42, 1)]) as node:
        conf = {"bootstrap.servers": node.server, "logger": log.logger}
        assert prepare(PRODUCER, conf).client_instance_id is None
    (warning,) = log.warnings
    assert warning.endswith("failed: ApiVersions is answered with error 42")
