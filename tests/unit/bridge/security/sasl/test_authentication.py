"""The whole way of a client: frames in, replies and verdicts out."""

import struct

import pytest
from kio.schema.errors import ErrorCode

from pipelines.bridge.security.sasl.steps import (
    Accepted,
    Answer,
    PassOn,
    Refused,
    State,
)
from tests.unit.bridge.security.sasl.client_side import PLAIN, go, oauth, parsed

NONE, FAILED = ErrorCode.none, ErrorCode.sasl_authentication_failed


def test_a_client_of_old_sends_bare_tokens(server, shake):
    client = server.connect()
    go(client, [shake("PLAIN", 0)])
    step = go(client, [PLAIN])
    assert isinstance(step, Accepted)
    assert step.reply == b"\0\0\0\0"
    client = server.connect()
    go(client, [shake("PLAIN", 0)])
    step = go(client, [b"\0alice\0wrong"])
    assert isinstance(step, Refused)
    assert step.reply == b""


def test_a_mechanism_that_is_not_offered_gets_those_that_are(server, shake, read_reply):
    step = server.connect(("PLAIN",)).receive_frame(shake("GSSAPI"))
    assert isinstance(step, Refused)
    body = read_reply(step.reply, 17, 1)
    assert body.error_code is ErrorCode.unsupported_sasl_mechanism
    assert body.mechanisms == ("PLAIN",)


def test_api_versions_may_come_once_before_the_handshake(server, versions, shake, send):
    client = server.connect()
    assert isinstance(client.receive_frame(versions), PassOn)
    assert isinstance(go(client, [shake("PLAIN"), send(PLAIN)]), Accepted)
    client = server.connect()
    assert isinstance(go(client, [versions, versions]), Refused)


def test_api_versions_that_was_not_understood_may_come_again(
    server, versions, make_frame
):
    client = server.connect()
    unknown = struct.pack(">hhihx", 18, 99, 1, -1)
    invalid = make_frame(
        18, 3, client_software_name="no name!", client_software_version="1"
    )
    unreadable = struct.pack(">hhihx", 18, 4, 1, -1) + b"\0\0"
    for frame in (unknown, invalid, unreadable, versions):
        assert isinstance(client.receive_frame(frame), PassOn)


@pytest.mark.parametrize("api_key", [0, 3, 71, 72, 36, 99])
def test_nothing_else_is_read_before_authentication(server, api_key):
    frame = struct.pack(">hhih", api_key, 0, 1, -1) + b"\xff" * 40
    for client in (server.connect(), server.connect()):
        step = client.receive_frame(frame)
        assert isinstance(step, Refused)
        assert step.reply == b""
        assert not step.is_failed_authentication


def test_a_handshake_amid_tokens_is_an_illegal_state(server, shake, read_reply):
    step = go(server.connect(), [shake("SCRAM-SHA-256"), shake("PLAIN")])
    assert isinstance(step, Refused)
    assert read_reply(step.reply, 17, 1).error_code is ErrorCode.illegal_sasl_state


def test_nothing_goes_on_after_a_refusal(server, shake, send, versions):
    client = server.connect()
    go(client, [shake("PLAIN"), send(b"\0alice\0wrong")])
    for frame in (shake("PLAIN"), send(PLAIN), versions, b""):
        assert isinstance(client.receive_frame(frame), Refused)


class Expiring:
    """A client whose token ends in a minute, authenticated."""

    def __init__(self, server, shake, send, sign):
        self.client = server.connect()
        go(self.client, [shake("OAUTHBEARER"), send(oauth(sign()))])


@pytest.fixture
def expiring(server, shake, send, sign):
    return Expiring(server, shake, send, sign).client


def test_a_session_with_an_end_may_begin_again(server, expiring, shake, send, sign):
    assert isinstance(expiring.begin_again(parsed(shake("OAUTHBEARER"))), Answer)
    step = go(expiring, [send(oauth(sign(exp=server.now_ms // 1_000 + 600)))])
    assert isinstance(step, Accepted)
    assert step.lifetime_ms == 600_000


def test_kafka_allows_it_once_a_second(server, expiring, shake, send, sign):
    handshake = parsed(shake("OAUTHBEARER"))
    again = send(oauth(sign()))
    expiring.begin_again(handshake)
    go(expiring, [again])
    server.now_ms += 999
    assert expiring.begin_again(handshake) is None
    server.now_ms += 1
    assert isinstance(expiring.begin_again(handshake), Answer)


def test_a_session_without_an_end_does_not_begin_again(server, shake, send):
    client = server.connect()
    go(client, [shake("PLAIN"), send(PLAIN)])
    assert client.begin_again(parsed(shake("PLAIN"))) is None


def test_the_longest_session_may_be_set_for_all(server, shake, send, sign):
    client = server.connect(max_reauth_ms=5_000)
    assert go(client, [shake("PLAIN"), send(PLAIN)]).lifetime_ms == 5_000
    client = server.connect(max_reauth_ms=90_000)
    step = go(client, [shake("OAUTHBEARER"), send(oauth(sign()))])
    assert step.lifetime_ms == 60_000


def test_nobody_changes_into_somebody_else(expiring, shake, send, sign, read_reply):
    expiring.begin_again(parsed(shake("OAUTHBEARER")))
    step = go(expiring, [send(oauth(sign(sub="bob")))])
    assert isinstance(step, Refused)
    assert read_reply(step.reply, 36, 2).error_code is FAILED


def test_another_mechanism_is_refused_when_beginning_again(expiring, shake, send):
    assert isinstance(expiring.begin_again(parsed(shake("PLAIN"))), Answer)
    assert isinstance(go(expiring, [send(PLAIN)]), Refused)


def test_after_its_end_only_a_handshake_goes_on(expiring, shake, send, sign):
    expiring.expire()
    assert expiring.state is State.expired
    assert isinstance(expiring.receive_frame(shake("OAUTHBEARER")), Answer)
    assert isinstance(go(expiring, [send(oauth(sign()))]), Accepted)
    expiring.expire()
    push = struct.pack(">hhih", 72, 0, 1, -1) + b"\0" * 40
    assert isinstance(expiring.receive_frame(push), Refused)


def test_a_token_that_only_the_skew_keeps_alive_is_over_at_once(
    server, shake, send, sign
):
    token = oauth(sign(exp=server.now_ms // 1_000 - 5))
    step = go(server.connect(), [shake("OAUTHBEARER"), send(token)])
    assert step.lifetime_ms == 0


@pytest.mark.parametrize("exp", [(2**63 - 1) // 1_000, 9e13, 1e12])
def test_a_token_that_hardly_ends_has_a_session_that_can_be_told(
    server, shake, send, sign, read_reply, exp
):
    step = go(server.connect(), [shake("OAUTHBEARER"), send(oauth(sign(exp=exp)))])
    assert isinstance(step, Accepted)
    assert step.lifetime_ms == 100 * 365 * 24 * 3_600_000
    assert read_reply(step.reply, 36, 2).error_code is NONE
