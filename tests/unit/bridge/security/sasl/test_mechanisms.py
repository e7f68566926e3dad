"""One client, one mechanism: tokens in, verdicts out."""

import pytest
from kio.schema.errors import ErrorCode
from scramp import ScramClient

from pipelines.bridge.security.sasl.steps import Accepted, Answer, Refused
from tests.unit.bridge.security.sasl.client_side import PASSWORD, PLAIN, go, oauth

NONE, FAILED = ErrorCode.none, ErrorCode.sasl_authentication_failed


@pytest.mark.parametrize("version", [0, 1, 2])
def test_plain_with_the_password_is_the_user(server, shake, send, read_reply, version):
    client = server.connect()
    shaken = client.receive_frame(shake("PLAIN"))
    assert isinstance(shaken, Answer)
    body = read_reply(shaken.reply, 17, 1)
    assert body.error_code is NONE
    assert "PLAIN" in body.mechanisms
    step = go(client, [send(PLAIN, version)])
    assert isinstance(step, Accepted)
    assert step.principal == "User:alice"
    assert step.lifetime_ms is None
    body = read_reply(step.reply, 36, version)
    assert (body.error_code, body.auth_bytes) == (NONE, b"")


@pytest.mark.parametrize(
    "token",
    [b"\0alice\0wrong", b"\0nobody\0wrong", b"\0nobody\0" + PASSWORD.encode(),
     b"\0alice\xff\0x", b"\0alice\0" + PASSWORD.encode() + b" "],
)  # fmt: skip
def test_who_fails_hears_the_same_whether_the_user_exists(
    server, shake, send, read_reply, token
):
    step = go(server.connect(), [shake("PLAIN"), send(token)])
    assert isinstance(step, Refused)
    assert step.is_failed_authentication
    body = read_reply(step.reply, 36, 2)
    assert body.error_code is FAILED
    assert body.error_message == "Authentication failed: Invalid username or password"


@pytest.mark.parametrize(
    "token",
    [b"", b"\0", b"\0\0", b"alice", b"\0\0x", b"\0alice\0", b"bob" + PLAIN,
     b"\0alice\0" + b"x" * 5_000, PLAIN + b"\0"],
)  # fmt: skip
def test_a_plain_token_of_another_form_is_refused(
    server, shake, send, read_reply, token
):
    step = go(server.connect(), [shake("PLAIN"), send(token)])
    assert isinstance(step, Refused)
    assert read_reply(step.reply, 36, 2).error_code is FAILED


def test_a_plain_token_may_repeat_the_name(server, shake, send):
    step = go(server.connect(), [shake("PLAIN"), send(b"alice" + PLAIN)])
    assert isinstance(step, Accepted)


def scram(server, name, password, shake, send, read_reply, mechanism="SCRAM-SHA-256"):
    """Let scramp's client speak; return the last step and that client."""
    speaker = ScramClient([mechanism], name, password)
    client = server.connect()
    go(client, [shake(mechanism)])
    first = client.receive_frame(send(speaker.get_client_first().encode()))
    assert isinstance(first, Answer)
    speaker.set_server_first(read_reply(first.reply, 36, 2).auth_bytes.decode())
    return client.receive_frame(send(speaker.get_client_final().encode())), speaker


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_proves_both_sides(server, shake, send, read_reply, mechanism):
    step, speaker = scram(server, "alice", PASSWORD, shake, send, read_reply, mechanism)
    assert isinstance(step, Accepted)
    assert step.principal == "User:alice"
    # Raises unless the server has shown that it knows the verifier.
    speaker.set_server_final(read_reply(step.reply, 36, 2).auth_bytes.decode())


@pytest.mark.parametrize("name", ["alice", "nobody"])
def test_scram_fails_at_the_proof_whether_the_user_exists(
    server, shake, send, read_reply, name
):
    step, _ = scram(server, name, "wrong", shake, send, read_reply)
    assert isinstance(step, Refused)
    body = read_reply(step.reply, 36, 2)
    assert body.error_code is FAILED
    assert body.error_message == (
        "Authentication failed during authentication due to invalid credentials "
        "with SASL mechanism SCRAM-SHA-256"
    )


def test_a_user_without_a_verifier_of_the_mechanism_is_nobody(
    server, shake, send, read_reply
):
    step, _ = scram(server, "bob", PASSWORD, shake, send, read_reply, "SCRAM-SHA-512")
    assert isinstance(step, Refused)


def test_a_good_token_is_its_subject_until_it_ends(
    server, shake, send, read_reply, sign
):
    step = go(server.connect(), [shake("OAUTHBEARER"), send(oauth(sign()))])
    assert isinstance(step, Accepted)
    assert (step.principal, step.lifetime_ms) == ("User:alice", 60_000)
    body = read_reply(step.reply, 36, 2)
    assert body.session_lifetime.total_seconds() == 60


@pytest.mark.parametrize(
    ("authzid", "extra", "is_taken"),
    [("a=alice", "", True), ("a=bob", "", False), ("", "traceId=1\x01", True),
     ("", "auth=Bearer x\x01", False), ("", "1=2\x01", False), ("", "x", False)],
)  # fmt: skip
def test_name_and_extensions_beside_a_token(
    server, shake, send, sign, authzid, extra, is_taken
):
    token = oauth(sign(), authzid, extra)
    step = go(server.connect(), [shake("OAUTHBEARER"), send(token)])
    assert isinstance(step, Accepted) == is_taken


def test_a_bad_token_gets_rfc_7628s_answer_and_then_the_error(
    server, shake, send, read_reply, sign
):
    client = server.connect()
    bad = oauth(sign(aud="other"))
    step = go(client, [shake("OAUTHBEARER"), send(bad)])
    assert isinstance(step, Answer)
    body = read_reply(step.reply, 36, 2)
    assert (body.error_code, body.auth_bytes) == (NONE, b'{"status":"invalid_token"}')
    step = client.receive_frame(send(b"\x01"))
    assert isinstance(step, Refused)
    body = read_reply(step.reply, 36, 2)
    assert body.error_code is FAILED
    assert body.error_message == '{"status":"invalid_token"}'
    assert server.unknown_keys == 0


def test_a_good_token_after_a_bad_one_comes_too_late(server, shake, send, sign):
    frames = [shake("OAUTHBEARER"), send(oauth(sign(aud="x"))), send(oauth(sign()))]
    assert isinstance(go(server.connect(), frames), Refused)


def test_an_unknown_key_asks_for_new_ones(server, shake, send, sign):
    token = oauth(sign(headers={"kid": "new"}))
    go(server.connect(), [shake("OAUTHBEARER"), send(token)])
    assert server.unknown_keys == 1
