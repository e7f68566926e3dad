"""The handshake against nodes that do what a test says."""

import time

import pytest

from pipelines.clients.handshake import Handshake
from pipelines.clients.instance_ids import make_instance_id
from pipelines.clients.kafka_client.login import Login
from pipelines.clients.kafka_client.properties import Access, parse_servers
from pipelines.clients.push_messages import ConfigEntry, NamedSoftware
from pipelines.clients.push_plan import PushPlan
from tests.unit.clients.scripted_node import (
    API_VERSIONS,
    HANG_UP,
    METADATA,
    PUSH_CONFIG,
    SILENT,
    ScriptedNode,
    pushed,
    versions,
)

WHOLE = [API_VERSIONS, API_VERSIONS, METADATA, PUSH_CONFIG]


def make_handshake(
    *nodes,
    timeout_ms=5_000,
    servers=None,
    backoff_ms=1,
    tls=None,
    start_login=None,
    **fields,
):
    software = NamedSoftware(
        client_id="app", name="n", version="1", client_instance_id=make_instance_id()
    )
    plan = PushPlan(
        access=Access(
            servers=parse_servers(servers or ",".join(node.server for node in nodes)),
            tls=tls,
            login=start_login and Login(mechanism="PLAIN", start=start_login),
        ),
        software=software,
        entries=[ConfigEntry("acks", "all", 1, True)],
        api_key=PUSH_CONFIG,
        timeout_ms=timeout_ms,
        retry_backoff_ms=backoff_ms,
        retry_backoff_max_ms=20 * backoff_ms,
    )
    return Handshake(plan, **fields)


def push(*nodes, **more):
    handshake = make_handshake(*nodes, **more)
    handshake.run()
    return handshake


def test_a_push_takes_four_round_trips_on_one_connection():
    with ScriptedNode() as node:
        assert push(node).is_pushed
        assert (node.seen, node.connections) == (WHOLE, 1)
        assert node.client_ids == {"app"}


@pytest.mark.parametrize("code", [7, 13, 89])
def test_a_retriable_error_is_tried_again(code):
    with ScriptedNode(pushed=[pushed(code), pushed(code), pushed()]) as node:
        done = push(node)
        assert node.seen == [*WHOLE, PUSH_CONFIG, PUSH_CONFIG]
    assert (done.is_pushed, done.fault) == (True, "")


@pytest.mark.parametrize("code", [10_072, 40, 35, 42, 29, -1])
def test_another_error_is_not(code):
    with ScriptedNode(pushed=[pushed(code)]) as node:
        done = push(node)
        assert node.seen == WHOLE
    assert (done.is_pushed, done.is_advertised) == (False, True)
    assert done.fault == f"error {code}"


def test_the_backoff_grows_with_jitter_up_to_its_longest():
    waits = []
    answers = [*[pushed(7)] * 8, pushed()]
    with ScriptedNode(pushed=answers) as node:
        assert push(node, backoff_ms=10, wait=waits.append).is_pushed
    grown_s = [0.01, 0.02, 0.04, 0.08, 0.16, 0.2, 0.2, 0.2]
    assert len(waits) == 8
    for waited_s, expected_s in zip(waits, grown_s, strict=True):
        assert 0.8 * expected_s <= waited_s <= 1.2 * expected_s
    assert (
        len({waited_s / grown for waited_s, grown in zip(waits, grown_s, strict=True)})
        > 1
    )


def test_the_throttle_time_is_waited_for():
    waits = []
    with ScriptedNode(pushed=[pushed(89, 700), pushed(7, 300), pushed()]) as node:
        assert push(node, wait=waits.append).is_pushed
    assert waits == [0.7, 0.3]


def test_a_throttle_time_past_the_end_is_not_waited_for():
    with ScriptedNode(pushed=[pushed(89, 60_000)]) as node:
        done = push(node)
    assert done.fault == "not done in 5000 ms; last: error 89: throttled for 60000 ms"
    assert done.is_advertised


def test_a_connection_that_breaks_is_made_again():
    with ScriptedNode(
        versions=[HANG_UP, versions()], pushed=[HANG_UP, pushed()]
    ) as node:
        done = push(node)
        assert node.connections == 3
    assert (done.is_pushed, done.fault) == (True, "")


BAD = {
    "short": b"",
    "giant": bytes(2_000_000),
    "noise": b"\0\0\xff\xff\xff\xff\xff",
    "cut": versions()[:20],
}


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
def test_an_answer_that_is_none_is_a_fault_and_no_more(answer):
    with ScriptedNode(versions=[answer]) as node:
        done = push(node, timeout_ms=1500)
    assert done.fault.startswith("not done in 1500 ms; last: answer")
    assert not done.is_advertised


@pytest.mark.parametrize("at", ["versions", "metadata", "pushed"])
def test_a_silent_node_takes_no_more_than_the_time_there_is(at):
    with ScriptedNode(**{at: [SILENT]}) as node:
        before_s = time.monotonic()
        done = push(node, timeout_ms=300)
        took_s = time.monotonic() - before_s
    assert not done.is_pushed
    assert done.fault.startswith("not done in 300 ms")
    assert took_s >= 0.2


def test_an_outage_is_told_with_its_reason():
    done = push(servers="127.0.0.1:1", timeout_ms=1500)
    assert done.fault == "not done in 1500 ms; last: Connection refused"
    assert not done.is_advertised
