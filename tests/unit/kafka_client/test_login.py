import base64

import pytest

from pipelines.bridge.security.sasl.credentials import Credentials, make_credential
from pipelines.bridge.security.sasl.mechanisms import ScramServer
from pipelines.kafka_client.faults import LoginRefused
from pipelines.kafka_client.login import (
    HASHES,
    log_in_by_oauth,
    log_in_by_plain,
    log_in_by_scram,
)

PASSWORD = "pencil, with ünïcode"


def ended(frames, frame):
    """Send the last frame; True where the client is content."""
    with pytest.raises(StopIteration):
        frames.send(frame)
    return True


def test_plain_is_one_frame():
    frames = log_in_by_plain("alice", "pässword")
    assert next(frames) == b"\0alice\0p\xc3\xa4ssword"
    assert ended(frames, b"")


def test_scram_is_that_of_the_rfc():
    frames = log_in_by_scram(
        "SCRAM-SHA-256", "user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO"
    )
    assert next(frames) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    server_nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    first = f"r={server_nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = f"c=biws,r={server_nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert frames.send(first.encode()).decode() == final
    assert ended(frames, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@pytest.mark.parametrize("mechanism", HASHES)
@pytest.mark.parametrize("name", ["alice", "a,b=c"])
@pytest.mark.parametrize("password", [PASSWORD, "p²", "\N{LATIN SMALL LIGATURE FI}"])
def test_scram_is_that_of_the_bridge(mechanism, name, password):
    """Neither side changes a password; SASLprep would make other letters of these."""
    credential = make_credential(
        name=name,
        password=password,
        mechanism=mechanism,
        iterations=4_096,
        salt=b"salt-salt-salt",
    )
    server = ScramServer(mechanism, Credentials((credential,)), "server-nonce")
    frames = log_in_by_scram(mechanism, name, password, nonce="nonce")
    challenge = server.receive(next(frames))
    accepted = server.receive(frames.send(challenge.token))
    assert accepted.name == name
    assert ended(frames, accepted.token)


SALT = base64.b64encode(b"salt-salt").decode()
BAD_FIRST = {
    "empty": "",
    "no bytes": "r=mine-more,s=*,i=4096",
    "no salt": "r=mine-more,i=4096",
    "another nonce": f"r=other,s={SALT},i=4096",
    "only our nonce": f"r=mine,s={SALT},i=4096",
    "no iterations": f"r=mine-more,s={SALT},i=0",
    "too many": f"r=mine-more,s={SALT},i=9999999999",
    "words": f"r=mine-more,s={SALT},i=many",
}


@pytest.mark.parametrize("first", BAD_FIRST.values(), ids=BAD_FIRST)
def test_a_scram_server_that_is_none_is_refused(first):
    frames = log_in_by_scram("SCRAM-SHA-512", "alice", "pencil", nonce="mine")
    next(frames)
    with pytest.raises(LoginRefused, match="SCRAM-SHA-512"):
        frames.send(first.encode())


@pytest.mark.parametrize("final", [b"", b"v=", b"v=AAAA", b"e=other-error", b"\xff"])
def test_a_server_that_does_not_know_the_password_is_refused(final):
    frames = log_in_by_scram("SCRAM-SHA-256", "alice", "pencil", nonce="mine")
    next(frames)
    frames.send(f"r=mine-more,s={SALT},i=4096".encode())
    with pytest.raises(LoginRefused, match="does not know the password"):
        frames.send(final)


def test_oauth_sends_the_token_of_the_callback():
    asked = []

    def callback(config):
        asked.append(config)
        return "to.k.en", 4711.0

    frames = log_in_by_oauth(callback, "scope=x")
    assert next(frames) == b"n,,\x01auth=Bearer to.k.en\x01\x01"
    assert asked == ["scope=x"]
    assert ended(frames, b"")


def test_oauth_sends_extensions():
    frames = log_in_by_oauth(lambda _: ("t", 1, "me", {"traceId": "7"}), "")
    assert next(frames) == b"n,,\x01auth=Bearer t\x01traceId=7\x01\x01"


def test_oauth_answers_a_refusal_as_the_rfc_has_it():
    frames = log_in_by_oauth(lambda _: ("t", 1), "")
    next(frames)
    assert frames.send(b'{"status":"invalid_token"}') == b"\x01"
    assert ended(frames, b"")


def fail(_config):
    raise RuntimeError("geheim")


@pytest.mark.parametrize("callback", [fail, lambda _: None, lambda _: (b"t", 1)])
def test_a_callback_that_fails_is_named_without_its_words(callback):
    with pytest.raises(LoginRefused, match=r"oauth_cb failed \(\w+\)"):
        next(log_in_by_oauth(callback, ""))
