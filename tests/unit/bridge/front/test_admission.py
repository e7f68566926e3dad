"""Limits and timeouts, with a clock by hand and connections that only note."""

from dataclasses import replace

import pytest

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.front.admission import Connections
from pipelines.settings import load_settings

LIMITS = replace(
    load_settings("local").limits,
    max_connections=10,
    max_connections_per_address=4,
    max_unauthenticated_connections=3,
    max_buffered_request_bytes=1_000,
    handshake_timeout_ms=5_000,
    request_timeout_ms=7_000,
    write_timeout_ms=9_000,
    idle_timeout_ms=60_000,
)


class Peer:
    place, heard_s, held_bytes = -1, 0.0, 0

    def __init__(self, address="10.0.0.1"):
        self.address = address
        self.is_owed = self.is_aborted = False

    def abort(self):
        self.is_aborted = True

    def drain(self):
        raise NotImplementedError


class Scene:
    def __init__(self, **limits):
        self.now_s = 1_000.0
        self.counters = BridgeCounters()
        self.all = Connections(
            replace(LIMITS, **limits), self.counters, lambda: self.now_s
        )

    def admit(self, peer):
        assert self.all.admit(peer)
        return peer

    def wait(self, seconds):
        self.now_s += seconds
        self.all.sweep()


def test_one_address_does_not_take_all_connections():
    scene = Scene()
    peers = [scene.admit(Peer()) for _ in range(4)]
    assert not scene.all.admit(Peer())
    assert scene.all.admit(Peer("10.0.0.2"))
    scene.all.forget(peers[0])
    assert scene.all.admit(Peer())
    assert scene.counters.refused_connections == 1


def test_all_addresses_together_have_a_limit_too():
    scene = Scene(max_connections_per_address=0)
    peers = [scene.admit(Peer(str(number % 2))) for number in range(10)]
    assert not scene.all.admit(Peer())
    scene.all.forget(peers[9])
    assert scene.all.admit(Peer())
    assert len(scene.all) == 10


def test_connection_after_refuse_new_is_not_admitted_nor_counted_as_refused():
    scene = Scene()
    scene.admit(Peer())
    scene.all.refuse_new()
    assert not scene.all.admit(Peer("10.0.0.2"))
    assert len(scene.all) == 1
    assert scene.counters.refused_connections == 0


def test_whoever_leaves_is_forgotten_in_any_order():
    scene = Scene(max_connections_per_address=0)
    peers = [scene.admit(Peer()) for _ in range(5)]
    for index in (2, 0, 4, 1, 3):
        scene.all.forget(peers[index])
        left = {id(peer) for peer in scene.all}
        assert id(peers[index]) not in left
    assert len(scene.all) == 0


def test_the_oldest_handshake_makes_room_for_the_newest():
    scene = Scene(max_connections_per_address=0)
    peers = [scene.admit(Peer()) for _ in range(4)]
    for peer in peers:
        scene.all.begin_handshake(peer)
    assert [peer.is_aborted for peer in peers] == [True, False, False, False]
    scene.all.end_handshake(peers[1])
    another = scene.admit(Peer())
    scene.all.begin_handshake(another)
    assert not peers[2].is_aborted
    assert scene.counters.crowded_out_handshakes == 1


def test_a_handshake_must_end_in_time():
    scene = Scene()
    slow, quick = scene.admit(Peer()), scene.admit(Peer())
    scene.all.begin_handshake(slow)
    scene.all.begin_handshake(quick)
    scene.all.end_handshake(quick)
    scene.wait(4.9)
    assert not slow.is_aborted
    scene.wait(0.1)
    assert slow.is_aborted
    assert not quick.is_aborted
    assert scene.counters.handshake_timeouts == 1


def test_a_request_that_has_begun_must_become_whole_in_time():
    scene = Scene()
    trickling, advancing = scene.admit(Peer()), scene.admit(Peer())
    for second in range(7):
        scene.wait(1)
        scene.all.hold(trickling, second + 1)
        scene.all.hold(advancing, second + 1, has_advanced=True)
        assert not trickling.is_aborted
    scene.wait(1)
    assert trickling.is_aborted
    assert not advancing.is_aborted
    assert scene.counters.request_timeouts == 1


def test_a_request_that_waits_for_us_is_not_cut_off():
    scene = Scene()
    peer = scene.admit(Peer())
    scene.all.hold(peer, 10)
    peer.is_owed = True
    scene.wait(8)
    assert not peer.is_aborted
    peer.is_owed = False
    scene.wait(6.9)
    assert not peer.is_aborted
    scene.wait(0.1)
    assert peer.is_aborted


def test_half_received_requests_have_a_limit_over_all_connections():
    scene = Scene()
    first, second, third = (scene.admit(Peer()) for _ in range(3))
    scene.all.hold(first, 400)
    scene.all.hold(second, 400)
    scene.all.hold(second, 500)
    assert scene.all.held_bytes == 900
    scene.all.hold(third, 101)
    assert [one.is_aborted for one in (first, second, third)] == [True, False, False]
    assert scene.all.held_bytes == 601
    scene.all.hold(second, 0)
    assert scene.all.held_bytes == 101
    scene.all.forget(third)
    assert scene.all.held_bytes == 0
    assert scene.counters.crowded_out_requests == 1


def test_one_request_larger_than_the_limit_is_its_own_end():
    scene = Scene()
    peer = scene.admit(Peer())
    scene.all.hold(peer, 1_001)
    assert peer.is_aborted
    assert scene.all.held_bytes == 0


def test_replies_must_be_read_in_time():
    scene = Scene()
    deaf, slow = scene.admit(Peer()), scene.admit(Peer())
    scene.all.watch_reading(deaf)
    scene.all.watch_reading(slow)
    scene.wait(5)
    scene.all.end_reading(slow)
    scene.all.watch_reading(slow)
    scene.all.watch_reading(deaf)
    scene.wait(4)
    assert deaf.is_aborted
    assert not slow.is_aborted
    assert scene.counters.write_timeouts == 1


@pytest.mark.parametrize("count", [1, 3, 10])
def test_silence_is_noticed_within_a_tenth_of_the_timeout(count):
    scene = Scene(max_connections_per_address=0)
    peers = [scene.admit(Peer()) for _ in range(count)]
    for _ in range(59):
        scene.wait(1)
    assert not any(peer.is_aborted for peer in peers)
    for _ in range(8):
        scene.wait(1)
    assert all(peer.is_aborted for peer in peers)


def test_who_speaks_or_waits_for_us_is_not_silent():
    scene = Scene()
    speaking, waiting = scene.admit(Peer()), scene.admit(Peer())
    waiting.is_owed = True
    for _ in range(200):
        scene.wait(1)
        speaking.heard_s = scene.all.now_s
    assert not speaking.is_aborted
    assert not waiting.is_aborted


def test_a_client_that_pushes_every_five_minutes_is_not_silent():
    """KIP-714: the first push comes after up to 1.5 intervals."""
    limits = load_settings("local").limits
    scene = Scene(idle_timeout_ms=limits.idle_timeout_ms)
    peer = scene.admit(Peer())
    for _ in range(3):
        for _ in range(450):
            scene.wait(1)
        assert not peer.is_aborted
        peer.heard_s = scene.all.now_s


def test_a_sweep_over_nobody_does_nothing():
    scene = Scene()
    scene.wait(1_000)
    assert scene.all.now_s == 2_000.0
    assert scene.counters.numbers() == BridgeCounters().numbers()
