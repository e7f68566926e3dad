import base64
import json

import pytest

from pipelines.bridge.proxy.rules.sasl_watch import SaslWatch, Stage


def bearer(claims, extension="", others=None):
    """Return a token; the claims of others stand before it, in an extension."""
    before = b"" if others is None else extension.encode() + auth(others) + b"\x01"
    return b"n,,\x01" + before + auth(claims) + b"\x01\x01"


def auth(claims):
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b"auth=Bearer head." + body + b".signature"


def watch(mechanism, version=1):
    one = SaslWatch("sub")
    one.begin(mechanism)
    one.agree(error_code=0, api_version=version)
    return one


ONE_STEP = [
    ("PLAIN", b"\0alice\0secret", "User:alice"),
    ("PLAIN", b"admin\0alice\0secret", "User:alice"),
    ("PLAIN", b"alice", "User:UNKNOWN"),
    ("PLAIN", b"\0\xff\0secret", "User:UNKNOWN"),
    ("OAUTHBEARER", bearer({"sub": "alice"}), "User:alice"),
    ("OAUTHBEARER", bearer({"iss": "alice"}), "User:UNKNOWN"),
    ("OAUTHBEARER", bearer({"sub": 7}), "User:UNKNOWN"),
    ("OAUTHBEARER", b"n,,\x01auth=Bearer a.b.c\x01\x01", "User:UNKNOWN"),
    ("OAUTHBEARER", bearer({"sub": "\ud800"}), "User:UNKNOWN"),
    ("OAUTHBEARER", bearer({"sub": "alice\n"}), "User:UNKNOWN"),
    ("OAUTHBEARER", bearer({"sub": ""}), "User:UNKNOWN"),
    ("PLAIN", b"\0\x1b[31malice\0secret", "User:UNKNOWN"),
    ("PLAIN", "\0a\u202eb\0secret".encode(), "User:UNKNOWN"),
    ("OAUTHBEARER", bearer({"sub": "bob"}, "foo=", {"sub": "alice"}), "User:bob"),
    ("OAUTHBEARER", bearer({"sub": "bob"}, "", {"sub": "alice"}), "User:UNKNOWN"),
    ("OAUTHBEARER", bearer({"sub": "bob"}).replace(b"Bearer", b"bEARER "), "User:bob"),
]


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(("mechanism", "token", "principal"), ONE_STEP)
def test_a_name_counts_once_the_broker_has_accepted_it(
    mechanism, token, principal, version
):
    one = watch(mechanism, version)
    assert one.expects_raw_token == (version == 0)
    one.take_token(token)
    assert one.stage is Stage.TOKENS
    accepted = one.take_answer(error_code=0, token=b"", lifetime_ms=5_000)
    assert accepted.principal == principal
    assert accepted.lifetime_ms == 5_000
    assert one.stage is Stage.ACCEPTED
    assert not one.expects_raw_token


@pytest.mark.parametrize(
    ("first", "principal"),
    [
        (b"n,,n=alice,r=abc", "User:alice"),
        (b"n,a=admin,n=alice,r=abc", "User:alice"),
        (b"n,,n=a=3Db=2Cc,r=abc", "User:a=b,c"),
        (b"n,,n=a=3D2C,r=abc", "User:a=2C"),
        (b"n,,n=TOKENID,r=abc,tokenauth=true", "User:UNKNOWN"),
        (b"n,,n=TOKENID,r=abc,tokenauth=TRUE", "User:UNKNOWN"),
        (b"n,,n=alice,r=abc,tokenauth=true,tokenauth=no", "User:alice"),
        (b"rubbish", "User:UNKNOWN"),
    ],
)
def test_scram_takes_two_steps(first, principal):
    one = watch("SCRAM-SHA-512")
    one.take_token(first)
    assert one.take_answer(error_code=0, token=b"r=abcdef,s=x,i=4096") is None
    one.take_token(b"c=biws,r=abcdef,p=proof")
    assert one.take_answer(error_code=0, token=b"v=x").principal == principal


@pytest.mark.parametrize(("mechanism", "token", "_principal"), ONE_STEP)
def test_nobody_is_anybody_when_the_broker_refuses(mechanism, token, _principal):
    one = watch(mechanism)
    one.take_token(token)
    assert one.take_answer(error_code=58, token=b"") is None
    assert one.stage is Stage.TOKENS


def test_a_bearer_token_is_refused_in_a_token():
    one = watch("OAUTHBEARER")
    one.take_token(bearer({"sub": "alice"}))
    assert one.take_answer(error_code=0, token=b'{"status":"invalid_token"}') is None
    one.take_token(b"\x01")
    assert one.take_answer(error_code=0, token=b"") is None


def test_a_mechanism_that_the_broker_lacks_begins_nothing():
    one = SaslWatch("sub")
    one.begin("PLAIN")
    one.agree(error_code=33, api_version=0)
    assert one.stage is Stage.BEGUN
    assert not one.expects_raw_token


def test_gssapi_ends_with_the_first_request_of_kafka():
    one = watch("GSSAPI", version=0)
    for token in (b"\x60ticket", b""):
        assert not one.is_request(token)
        one.take_token(token)
        assert one.take_answer(error_code=0, token=b"x") is None
    # The broker has nothing to say to the last one, and without a header it does not.
    one.take_token(b"\x05\x04wrapped")
    assert one.is_request(b"\x00\x03\x00\x09")
    assert one.stage is Stage.ACCEPTED
    assert not one.expects_raw_token


@pytest.mark.parametrize("tokens", [(), (b"\x60ticket",)])
def test_gssapi_does_not_end_before_the_broker_has_gone_on(tokens):
    one = watch("GSSAPI", version=0)
    for token in tokens:
        one.take_token(token)
    assert not one.is_request(b"\x00\x47\x00\x00")
    assert one.stage is Stage.TOKENS


def test_gssapi_that_begins_again_needs_another_ticket():
    one = watch("GSSAPI", version=0)
    one.take_token(b"\x60ticket")
    one.take_answer(error_code=0, token=b"x")
    one.begin("GSSAPI")
    one.agree(error_code=0, api_version=0)
    assert not one.is_request(b"\x00\x47\x00\x00")


def test_plain_is_accepted_in_an_empty_answer_only():
    one = watch("PLAIN", version=0)
    one.take_token(b"\0bob\0secret")
    assert one.take_answer(error_code=0, token=b"any other answer") is None


def test_gssapi_in_requests_ends_with_an_empty_answer():
    one = watch("GSSAPI")
    one.take_token(b"\x60ticket")
    assert one.take_answer(error_code=0, token=b"challenge") is None
    one.take_token(b"\x05\x04wrapped")
    assert one.take_answer(error_code=0, token=b"").principal == "User:UNKNOWN"


def test_another_name_counts_after_the_next_authentication():
    one = watch("PLAIN")
    one.take_token(b"\0alice\0secret")
    one.take_answer(error_code=0, token=b"")
    one.begin("PLAIN")
    one.agree(error_code=0, api_version=1)
    one.take_token(b"\0bob\0secret")
    assert one.take_answer(error_code=0, token=b"").principal == "User:bob"


PLAIN_TWICE = (b"\0bob\0secret", b"\0alice\0guess")
SCRAM_TWICE = (
    b"n,,n=bob,r=abc",
    b"c=biws,r=abcdef,p=proof",
    b"n,,n=alice,r=abc",
    b"c=x",
)


@pytest.mark.parametrize(
    ("mechanism", "tokens", "answered"),
    [
        ("PLAIN", PLAIN_TWICE, 1),
        ("SCRAM-SHA-256", SCRAM_TWICE, 2),
        ("OAUTHBEARER", (bearer({"sub": "bob"}), bearer({"sub": "alice"})), 1),
    ],
)
def test_a_token_that_is_sent_before_the_answer_changes_no_name(
    mechanism, tokens, answered
):
    one = watch(mechanism)
    for token in tokens:
        one.take_token(token)
    taken = [one.take_answer(error_code=0, token=b"") for _ in range(answered)]
    assert taken[-1].principal == "User:bob"
    refused = [one.take_answer(error_code=34, token=b"") for _ in tokens[answered:]]
    assert not any(refused)


def test_a_mechanism_whose_end_cannot_be_seen_is_known_as_such():
    one = watch("X-OWN")
    assert one.is_unread
    one.take_token(b"anything")
    assert one.take_answer(error_code=0, token=b"") is None
    assert not watch("PLAIN").is_unread
