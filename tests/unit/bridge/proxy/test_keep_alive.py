"""Who is looked at when, and in whose name a broker is asked something."""

import struct
from itertools import pairwise

import pytest

from pipelines.bridge.proxy.rules.keep_alive import KeepAlive
from tests.unit.bridge.proxy.test_client_requests import (
    GET,
    GET_FRAME,
    PUSH,
    PUSH_FRAME,
    Client,
    answer_at_once,
)

INTERVAL_S = 10.0


class Pair:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.looks = []

    def keep_alive(self, now_s, interval_s):
        assert interval_s == INTERVAL_S
        self.looks.append(now_s)
        return self.answers.pop(0) if self.answers else True


class Looks:
    """A list and its clock."""

    def __init__(self):
        self.now_s = 100.0
        self.pairs = KeepAlive(INTERVAL_S, lambda: self.now_s)

    def go_on(self, seconds):
        """Let time pass, tick by tick; return how often others had their turn."""
        end_s, turns = self.now_s + seconds, 0
        while self.now_s < end_s:
            self.now_s += self.pairs.tick_s
            turns += sum(1 for _ in self.pairs.look())
        return turns


def test_two_looks_and_their_delays_fit_into_an_interval():
    looks, pair = Looks(), Pair()
    looks.pairs.add(pair)
    looks.pairs.add(pair)
    looks.go_on(4 * INTERVAL_S)
    gaps = [later - sooner for sooner, later in pairwise(pair.looks)]
    assert len(gaps) >= 7
    assert all(2 * gap <= INTERVAL_S for gap in gaps)


def test_a_pair_that_is_of_no_use_is_not_looked_at_again_until_it_is():
    looks, pair = Looks(), Pair(True, False)
    looks.pairs.add(pair)
    looks.go_on(3 * INTERVAL_S)
    assert len(pair.looks) == 2
    assert len(looks.pairs) == 0
    looks.pairs.add(pair)
    looks.go_on(INTERVAL_S)
    assert len(pair.looks) > 2
    looks.pairs.forget(pair)
    looks.pairs.forget(pair)
    assert len(looks.pairs) == 0


def test_data_has_its_turn_between_many_pairs():
    looks = Looks()
    pairs = [Pair() for _ in range(500)]
    for pair in pairs:
        looks.pairs.add(pair)
    assert looks.go_on(INTERVAL_S / 2) == 10
    assert all(len(pair.looks) == 1 for pair in pairs)


def speak(client, now_s):
    written = []
    return client.requests.speak_up(now_s, written.append), written


@pytest.mark.parametrize(("key", "frame"), [(GET, GET_FRAME), (PUSH, PUSH_FRAME)])
@pytest.mark.parametrize(("interval_ms", "until_s"), [(None, 610), (2_000, 14)])
def test_a_push_is_due_for_two_intervals(key, frame, interval_ms, until_s):
    client = Client(answer_at_once)
    assert not client.requests.is_expected(client.now_s, INTERVAL_S)
    client.connection.push_interval_ms = interval_ms
    client.ask(key, frame)
    asked_s = client.now_s
    assert client.requests.is_expected(asked_s + until_s, INTERVAL_S)
    assert not client.requests.is_expected(asked_s + until_s + 0.1, INTERVAL_S)


def test_without_a_login_a_broker_may_be_asked_at_any_time():
    client = Client(answer_at_once)
    is_asked, written = speak(client, client.now_s)
    assert is_asked
    assert len(written) == len(client.line) == 1
    assert client.line[0].take(b"anything") is None


@pytest.mark.parametrize(
    ("lifetime_ms", "last_s"), [(0, 10**6), (10_000, 9), (3_600_000, 3_595)]
)
def test_nothing_is_asked_before_a_login_nor_near_the_end_of_its_session(
    lifetime_ms, last_s
):
    client = Client(answer_at_once, has_sasl=True)
    assert speak(client, client.now_s) == (False, [])
    client.pass_on(17, 1, b"\0\x05PLAIN", b"\0\0" + bytes(4))
    assert speak(client, client.now_s) == (False, [])
    token = b"\0alice\0secret"
    accepted = b"\0\0" + b"\xff\xff" + bytes(4) + struct.pack(">q", lifetime_ms)
    body = struct.pack(">i", len(token)) + token
    client.pass_on(36, 1, body, accepted)
    began_s = client.now_s
    assert speak(client, began_s + last_s - 0.1)[0]
    if lifetime_ms:
        assert not speak(client, began_s + last_s)[0]
    # Amid the next login nobody else may say anything.
    client.pass_on(17, 1, b"\0\x05PLAIN", b"\0\0" + bytes(4))
    assert speak(client, began_s) == (False, [])
    assert len(client.line) == 1
