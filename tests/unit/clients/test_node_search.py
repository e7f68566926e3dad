"""Which node is found and chosen, among nodes that do what a test says."""

import random
import struct
import time

import pytest

from pipelines.clients import node_search
from tests.unit.clients.scripted_node import (
    API_VERSIONS,
    HANG_UP,
    METADATA,
    PUSH_CONFIG,
    SASL_HANDSHAKE,
    SILENT,
    ScriptedNode,
    metadata,
    pushed,
    versions,
)
from tests.unit.clients.test_handshake import WHOLE, push


@pytest.fixture
def share_s():
    return 30.0


@pytest.fixture(autouse=True)
def _short_share(monkeypatch, share_s):
    """A machine that stands for a second is no silent server."""
    monkeypatch.setattr(node_search, "_SHORT_SHARE_S", share_s)


def test_a_cluster_that_does_not_know_it_costs_one_round_trip():
    with ScriptedNode(versions=[versions(serves=False)]) as node:
        done = push(node)
        assert (node.seen, node.connections) == ([API_VERSIONS], 1)
    assert not done.is_advertised
    assert done.fault == ""


def test_a_new_broker_that_is_away_for_a_moment_is_asked_again():
    """As in a rolling upgrade; the old one has answered and is not asked again."""
    with (
        ScriptedNode(versions=[versions(serves=False)]) as old,
        ScriptedNode(versions=[HANG_UP, versions()]) as new,
    ):
        for _ in range(4):
            new._answers[API_VERSIONS] = [HANG_UP, versions()]
            del old.seen[:]
            assert push(old, new).is_pushed
            assert old.seen in ([], [API_VERSIONS])


def test_an_old_cluster_with_a_broker_away_does_not_take_all_the_time():
    with ScriptedNode(versions=[versions(serves=False)]) as old:
        before_s = time.monotonic()
        done = push(servers=f"{old.server},127.0.0.1:1", timeout_ms=60_000)
        assert time.monotonic() - before_s < 30
        assert old.seen == [API_VERSIONS]
    assert not done.is_advertised
    assert done.fault == (
        "one server does not serve it, another is out of reach: Connection refused"
    )


@pytest.mark.parametrize("share_s", [1.0])
def test_an_old_cluster_with_a_silent_broker_takes_a_second():
    """In whatever order the two are asked."""
    with (
        ScriptedNode(versions=[versions(serves=False)]) as old,
        ScriptedNode(versions=[SILENT]) as silent,
    ):
        for seed in (0, 1):
            before_s = time.monotonic()
            pick = random.Random(seed)  # noqa: S311 - both orders
            done = push(old, silent, pick=pick, timeout_ms=60_000)
            assert time.monotonic() - before_s < 30
            assert done.fault == (
                "one server does not serve it, another is out of reach: "
                f"{silent.server} does not answer"
            )
        assert (old.connections, silent.connections) == (2, 2)


class InOrder(random.Random):
    def shuffle(self, _servers):
        """Leave them as they are."""


class Late:
    """A list of answers, of which each comes so late."""

    def __init__(self, answer, *, after_s):
        self._answer, self._after_s = answer, after_s

    def __len__(self):
        return 1

    def __getitem__(self, _place):
        time.sleep(self._after_s)
        return self._answer


@pytest.mark.parametrize("share_s", [1.0])
def test_a_server_that_takes_longer_than_a_second_is_asked_again():
    """Where none has answered without it: then there is nobody to hold up."""
    with (
        ScriptedNode(versions=Late(versions(), after_s=1.3)) as late,
        ScriptedNode(versions=[SILENT]) as silent,
    ):
        assert push(late, silent, timeout_ms=20_000, pick=InOrder()).is_pushed


def test_a_server_that_is_known_to_serve_it_is_tried_until_the_end():
    """Though another one does not, and this one goes away in the middle."""
    with (
        ScriptedNode(versions=[versions(serves=False)]) as old,
        ScriptedNode(pushed=[HANG_UP]) as new,
    ):
        new._answers[API_VERSIONS] = [
            versions(),
            versions(),
            *[HANG_UP] * 4,
            versions(),
        ]
        new._answers[PUSH_CONFIG] = [HANG_UP, pushed()]
        assert push(old, new).is_pushed


def test_a_broker_too_old_for_the_version_costs_one_round_trip():
    old = struct.pack(">hihhh", 35, 1, 18, 0, 2)
    with ScriptedNode(versions=[old]) as node:
        done = push(node)
        assert node.seen == [API_VERSIONS]
    assert (done.is_advertised, done.fault) == (False, "")


def test_of_old_and_new_brokers_a_new_one_is_taken():
    with (
        ScriptedNode(versions=[versions(serves=False)]) as old,
        ScriptedNode(versions=[versions(serves=False)]) as older,
        ScriptedNode() as new,
    ):
        new._answers[METADATA] = [metadata(old.address, new.address, older.address)]
        for _ in range(10):
            assert push(old, new, older).is_pushed
        assert new.seen.count(PUSH_CONFIG) == 10
        assert set(old.seen) <= {API_VERSIONS}


def test_a_random_node_of_those_that_serve_it_is_taken():
    with ScriptedNode() as first, ScriptedNode() as second, ScriptedNode() as third:
        nodes = (first, second, third)
        first._answers[METADATA] = [metadata(*(node.address for node in nodes))]
        pick = random.Random(714)  # noqa: S311 - the same nodes in each run
        for _ in range(30):
            assert push(first, pick=pick).is_pushed
        taken = [node.seen.count(PUSH_CONFIG) for node in nodes]
    assert sum(taken) == 30
    assert min(taken) > 3


def test_where_no_node_can_be_reached_the_first_one_is_taken():
    with ScriptedNode() as node:
        node._answers[METADATA] = [metadata(("127.0.0.1", 1), ("127.0.0.1", 2))]
        assert push(node).is_pushed
        assert node.seen == WHOLE


def log_in():
    yield b"secret"


@pytest.mark.parametrize("answer", [SILENT, HANG_UP, struct.pack(">hi", 33, 0)])
def test_a_node_that_cannot_be_logged_in_to_is_passed_over(answer):
    """The first one is logged in to already, and stays."""
    with ScriptedNode() as first, ScriptedNode(mechanisms=[answer]) as other:
        first._answers[METADATA] = [metadata(other.address)]
        done = push(first, start_login=log_in, timeout_ms=4_000)
        assert (done.is_pushed, done.fault) == (True, "")
        assert first.seen.count(PUSH_CONFIG) == 1
        assert other.seen == [API_VERSIONS, SASL_HANDSHAKE]


def test_of_many_nodes_a_few_are_tried():
    with ScriptedNode() as first, ScriptedNode(versions=[HANG_UP]) as away:
        first._answers[METADATA] = [metadata(*[away.address] * 50)]
        assert push(first).is_pushed
        assert away.connections <= 3


@pytest.mark.parametrize("code", [42, -1])
def test_a_node_that_refuses_the_first_request_is_not_asked_again(code):
    with ScriptedNode(versions=[struct.pack(">hB", code, 1)]) as node:
        done = push(node)
        assert node.connections == 1
    assert done.fault == f"ApiVersions is answered with error {code}"


def test_a_node_that_refuses_the_first_request_does_not_end_the_search():
    refusal = struct.pack(">hB", 42, 1)
    with ScriptedNode(versions=[refusal]) as node, ScriptedNode() as other:
        assert all(push(node, other).is_pushed for _ in range(4))


def test_a_refusal_is_not_repeated_beside_a_server_that_is_away():
    with ScriptedNode(versions=[struct.pack(">hB", 42, 1)]) as node:
        servers = f"{node.server},127.0.0.1:1"
        done = push(servers=servers, timeout_ms=2_000, backoff_ms=10)
        assert node.connections == 1
    assert done.fault == (
        "not done in 2000 ms; last: Connection refused; "
        f"{node.server} refuses: ApiVersions is answered with error 42"
    )


def test_a_refusal_is_named_beside_servers_of_an_old_cluster():
    with (
        ScriptedNode(versions=[struct.pack(">hB", 42, 1)]) as node,
        ScriptedNode(versions=[versions(serves=False)]) as old,
    ):
        done = push(servers=f"{node.server},127.0.0.1:1,{old.server}")
        assert (node.connections, old.connections) == (1, 1)
    assert done.fault == (
        "one server does not serve it, another is out of reach: Connection refused; "
        f"{node.server} refuses: ApiVersions is answered with error 42"
    )


def test_a_node_that_refuses_a_login_is_not_logged_in_to_again():
    with (
        ScriptedNode(pushed=[HANG_UP, HANG_UP, pushed()]) as first,
        ScriptedNode(mechanisms=[struct.pack(">hi", 33, 0)]) as other,
    ):
        first._answers[METADATA] = [metadata(other.address)]
        assert push(first, start_login=log_in).is_pushed
        assert first.seen.count(PUSH_CONFIG) == 3
        assert other.seen == [API_VERSIONS, SASL_HANDSHAKE]


@pytest.mark.parametrize("share_s", [1.0])
def test_a_silent_server_leaves_time_for_the_others():
    with ScriptedNode(versions=[SILENT]) as silent, ScriptedNode() as node:
        assert push(silent, node, timeout_ms=20_000).is_pushed
