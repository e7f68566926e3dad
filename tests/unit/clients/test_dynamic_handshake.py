"""What is asked of dynamic configs before a handle is made, and what is pushed then."""

import struct

import pytest

from pipelines.clients.dynamic_values import APPLIED, IGNORED, DynamicConfig
from pipelines.clients.key_lists import ADMIN, CONSUMER, PRODUCER, SHARE_CONSUMER
from pipelines.clients.starting import prepare
from tests.unit.bridge.push_config.raw_client import read_record
from tests.unit.clients.scripted_node import (
    API_VERSIONS,
    DESCRIBE_CLIENT_CONFIGS,
    HANG_UP,
    METADATA,
    PUSH_CONFIG,
    SILENT,
    ScriptedNode,
    described,
    pushed,
    versions,
)

BOTH = [versions(dynamic=True)]
ALONE = [versions(serves=False, dynamic=True)]
WHOLE = [API_VERSIONS, API_VERSIONS, METADATA, DESCRIBE_CLIENT_CONFIGS, PUSH_CONFIG]
SESSION = "session.timeout.ms"


def prepared_with(node, client_type=PRODUCER, log=None, **conf):
    whole = {"bootstrap.servers": node.server, "client.id": "a"} | conf
    if log is not None:
        whole["logger"] = log.logger
    if client_type in {CONSUMER, SHARE_CONSUMER}:
        whole["group.id"] = "g"
    return prepare(client_type, whole)


def body_of(node, api_key):
    """Return the body of the last request of a kind, as it came."""
    frames = [
        frame for frame in node.frames if struct.unpack_from(">h", frame)[0] == api_key
    ]
    (length,) = struct.unpack_from(">h", frames[-1], 8)
    return frames[-1][10 + length :]


def pushed_entries(node):
    # Behind the tagged fields of the header.
    entries = read_record(body_of(node, PUSH_CONFIG)[1:])
    return {key: (value, is_default) for key, value, _, is_default in entries}


def test_one_question_goes_before_the_push_on_its_connection(log):
    with ScriptedNode(versions=BOTH, described=[described(acks="1")]) as node:
        made = prepared_with(node, log=log, acks="all")
        assert (node.seen, node.connections) == (WHOLE, 1)
        assert made.conf["acks"] == "1"
        assert pushed_entries(node)["acks"] == ("1", False)
        # No component, `acks` registered, resolved, not strict; header 1, no tags.
        asked = struct.pack(">iih", 0, 1, 4) + b"acks" + b"\x01\x00"
        assert body_of(node, DESCRIBE_CLIENT_CONFIGS) == asked
    assert made.following.told == {"acks": DynamicConfig("1", APPLIED)}
    assert ("INFO", "dynamic configs: acks=1 is applied") in log.lines
    assert log.warnings == []


def test_what_must_not_be_is_said_once_and_the_push_says_what_is_in_force(log):
    answers = [described(acks="0")]
    with ScriptedNode(versions=BOTH, described=answers) as node:
        made = prepared_with(node, log=log, **{"enable.idempotence": True})
        assert pushed_entries(node)["acks"] == ("all", True)
    why = "enable.idempotence needs acks=all"
    assert made.following.told == {"acks": DynamicConfig("0", IGNORED, why)}
    assert log.warnings == [f"dynamic configs: acks=0 is ignored: {why}"]


@pytest.mark.parametrize("client_type", [PRODUCER, CONSUMER, SHARE_CONSUMER, ADMIN])
def test_a_cluster_that_does_not_advertise_it_costs_nothing(client_type, log):
    with ScriptedNode() as node:
        made = prepared_with(node, client_type, log)
        assert node.seen == [one for one in WHOLE if one != DESCRIBE_CLIENT_CONFIGS]
    assert made.following is None
    assert log.warnings == []


def test_an_admin_client_asks_nothing():
    with ScriptedNode(versions=BOTH) as node:
        assert prepared_with(node, ADMIN).following is None
        assert DESCRIBE_CLIENT_CONFIGS not in node.seen


@pytest.mark.parametrize("code", [42, 35])
def test_a_cluster_that_says_it_has_none_is_not_asked_again(code, log):
    with ScriptedNode(versions=BOTH, described=[described(code)]) as node:
        made = prepared_with(node, log=log, acks="1")
        assert node.seen == WHOLE
        assert pushed_entries(node)["acks"] == ("1", False)
    assert made.following is None
    assert log.warnings == []


def test_another_error_is_told_and_asked_again_later(log):
    answers = [described(31, message="not yours")]
    with ScriptedNode(versions=BOTH, described=answers) as node:
        made = prepared_with(node, log=log)
        assert node.seen == WHOLE
    assert made.following is not None
    assert log.warnings == ["dynamic configs: failed: error 31: not yours"]


def test_a_store_that_is_loading_is_asked_again_on_the_same_connection(log):
    answers = [described(14), described(14), described(acks="0")]
    with ScriptedNode(versions=BOTH, described=answers) as node:
        made = prepared_with(node, log=log, **{"retry.backoff.ms": 1})
        assert (node.seen.count(DESCRIBE_CLIENT_CONFIGS), node.connections) == (3, 1)
    assert made.conf["acks"] == "0"
    assert log.warnings == []


def test_a_store_that_stays_loading_leaves_time_for_the_push(log):
    with ScriptedNode(versions=BOTH, described=[described(14)]) as node:
        made = prepared_with(node, log=log, **{"default.api.timeout.ms": 2_400})
        assert PUSH_CONFIG in node.seen
    assert made.client_instance_id is not None
    assert log.warnings == ["dynamic configs: failed: error 14"]


@pytest.mark.parametrize("answer", [SILENT, HANG_UP, b"\xff", b""])
def test_an_answer_that_does_not_come_does_not_stop_the_push(answer, log):
    limit = {"default.api.timeout.ms": 3_000}
    with ScriptedNode(versions=BOTH, described=[answer]) as node:
        made = prepared_with(node, log=log, acks="1", **limit)
        assert pushed_entries(node)["acks"] == ("1", False)
    assert made.conf["acks"] == "1"
    assert made.following.told == {}
    (warning,) = log.warnings
    assert warning.startswith("dynamic configs: failed: ")


def test_a_connection_that_breaks_once_is_made_again(log):
    answers = [HANG_UP, described(acks="0")]
    with ScriptedNode(versions=BOTH, described=answers) as node:
        made = prepared_with(node, log=log)
        assert node.connections == 2
    assert made.conf["acks"] == "0"
    assert log.warnings == []


def test_a_push_that_fails_leaves_what_was_resolved(log):
    answers = [described(acks="0")]
    with ScriptedNode(versions=BOTH, described=answers, pushed=[pushed(40)]) as node:
        made = prepared_with(node, log=log)
    assert made.conf["acks"] == "0"
    assert log.warnings == ["configuration push: failed: error 40"]


def test_without_a_push_it_is_asked_all_the_same(log):
    """And the handle does not carry an id that nobody knows."""
    answers = [described(session_timeout_ms="9000")]
    with ScriptedNode(versions=ALONE, described=answers) as node:
        more = {"enable.config.push": False}
        made = prepared_with(node, CONSUMER, log, **more)
        assert node.seen == [API_VERSIONS, METADATA, DESCRIBE_CLIENT_CONFIGS]
    assert made.conf[SESSION] == "9000"
    assert made.client_instance_id is None
    assert "client.software.version" not in made.conf
    assert log.warnings == []


def test_a_node_that_serves_it_alone_is_asked_and_not_pushed_to(log):
    answers = [described(acks="0")]
    with ScriptedNode(versions=ALONE, described=answers) as node:
        made = prepared_with(node, log=log)
        assert PUSH_CONFIG not in node.seen
    assert (made.conf["acks"], made.client_instance_id) == ("0", None)


def test_an_application_that_does_not_want_it_is_not_asked_for(log):
    with ScriptedNode(versions=BOTH, described=[described(acks="0")]) as node:
        made = prepared_with(node, log=log, **{"enable.dynamic.configs": "false"})
        assert DESCRIBE_CLIENT_CONFIGS not in node.seen
    assert "acks" not in made.conf
    assert not {"enable.dynamic.configs"} & made.conf.keys()


def test_a_bridge_with_another_number_is_asked_by_that():
    more = {
        "dynamic.configs.describe.api.key": PUSH_CONFIG,
        "enable.config.push": "false",
    }
    with ScriptedNode(pushed=[described(acks="0")]) as node:
        made = prepared_with(node, **more)
        assert node.seen[-1] == PUSH_CONFIG
    assert made.conf["acks"] == "0"
    assert not more.keys() & made.conf.keys()


def test_what_has_no_entity_has_no_values():
    nothing = described()[:8] + struct.pack(">i", 0)
    with ScriptedNode(versions=BOTH, described=[nothing]) as node:
        made = prepared_with(node, acks="1")
    assert (made.conf["acks"], made.following.told) == ("1", {})
