"""What is asked of a token endpoint, and what its answers mean."""

import base64
import json

import jwt
import pytest

from pipelines.kafka_client.faults import LoginRefused, NoToken
from pipelines.kafka_client.oidc import (
    Credentials,
    find_place,
    parse_extensions,
    read_answer,
    write_body,
    write_headers,
)

PLACE = "https://issuer.example/token"
NOW_S = 1_000.0
CLIENT = Credentials(client_id="me", client_secret="s:ecret", scope="a b")


def answer(status=200, **said):
    return read_answer(PLACE, status, json.dumps(said).encode(), NOW_S)


def test_a_request_has_the_client_in_its_header_and_the_grant_in_its_form():
    headers = write_headers(CLIENT)
    assert base64.b64decode(headers["Authorization"].split()[1]) == b"me:s:ecret"
    assert write_body(CLIENT) == b"grant_type=client_credentials&scope=a+b"
    plain = Credentials(client_id="me", client_secret="x")
    assert write_body(plain) == b"grant_type=client_credentials"
    assert "s:ecret" not in repr(CLIENT)


def test_a_token_comes_with_its_lifetime():
    token = answer(access_token="a.b.c", expires_in=300)
    assert (token.text, token.lifetime_s) == ("a.b.c", 300)
    assert "a.b.c" not in repr(token)


def test_without_a_lifetime_the_end_of_the_token_itself_counts():
    ending = jwt.encode({"exp": 1_060}, "key of thirty-two bytes or more, so")
    assert answer(access_token=ending).lifetime_s == 60
    assert answer(access_token="opaque").lifetime_s is None
    assert answer(access_token="a.b.c").lifetime_s is None
    assert answer(access_token="opaque", expires_in=None).lifetime_s is None


@pytest.mark.parametrize(
    ("status", "error", "kind", "told"),
    [(401, "invalid_client", LoginRefused, r"refuses the client \(invalid_client\)"),
     (400, "invalid_scope", LoginRefused, r"\(invalid_scope\): check its id, its sec"),
     (401, "hunter2", LoginRefused, r"answers with HTTP 401: check its URL"),
     (404, None, LoginRefused, "answers with HTTP 404"),
     (302, None, LoginRefused, "answers with HTTP 302"),
     (429, None, NoToken, "answers with HTTP 429$"),
     (503, "temporarily_unavailable", NoToken, "answers with HTTP 503$"),
     (503, {"code": 503, "message": "hunter2"}, NoToken, "answers with HTTP 503$"),
     (400, ["hunter2"], LoginRefused, "answers with HTTP 400: check")],
)  # fmt: skip
def test_a_refusal_is_final_unless_it_says_later(status, error, kind, told):
    with pytest.raises((LoginRefused, NoToken), match=told) as caught:
        answer(status, error=error, error_description="hunter2")
    assert isinstance(caught.value, kind)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>hunter2</html>", b"[]", b"{}", b'{"access_token": 7}', b"\xff",
     b'{"access_token": "two words"}', b'{"access_token": "a\\u0001auth=x"}',
     b"[" * 100_000, b'{"access_token": ""}'],
)  # fmt: skip
def test_rubbish_is_no_token_and_is_not_told(body):
    with pytest.raises(NoToken, match=f"^the token endpoint {PLACE} answers without"):
        read_answer(PLACE, 200, body, NOW_S)


@pytest.mark.parametrize("told", [10**400, float("inf"), float("nan"), True, "60", {}])
def test_a_lifetime_that_is_no_time_is_not_known(told):
    assert answer(access_token="a", expires_in=told).lifetime_s is None


@pytest.mark.parametrize("lifetime", [0, -5])
def test_a_token_that_has_ended_is_none(lifetime):
    with pytest.raises(NoToken, match="whose time is over: compare the clocks"):
        answer(access_token="a", expires_in=lifetime)
    ended = jwt.encode({"exp": 1_000 + lifetime}, "key of thirty-two bytes or more, so")
    with pytest.raises(NoToken, match="whose time is over"):
        answer(access_token=ended)


@pytest.mark.parametrize(
    ("url", "place"),
    [("https://a/t?key=hunter2#x", "https://a/t"), ("http://a:80", "http://a:80"),
     ("https://[::1]:8443/t", "https://[::1]:8443/t"), ("ftp://a/t", None),
     ("https://me:hunter2@a/t", None), ("https:///t", None), ("https://a:x/t", None),
     ("a/t", None), ("file:///etc/passwd", None), ("https://ä/t", None)],
)  # fmt: skip
def test_an_endpoint_is_named_without_what_may_be_secret(url, place):
    assert find_place(url) == place


@pytest.mark.parametrize(
    ("text", "pairs"),
    [("", {}), ("a=b,logicalCluster=lkc-1", {"a": "b", "logicalCluster": "lkc-1"}),
     ("a=b=c", {"a": "b=c"}), ("auth=x", None), ("a", None), ("1=b", None),
     ("a=\x01auth", None)],
)  # fmt: skip
def test_extensions_are_names_and_values(text, pairs):
    assert parse_extensions(text) == pairs
