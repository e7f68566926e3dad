"""Keys from a URL: a real HTTP server on loopback."""

import ssl

import pytest

from pipelines.bridge.security.key_sets import (
    MAX_KEY_SET_BYTES,
    UnreadableKeys,
    is_url,
    load_key_set,
)
from tests.unit.bridge.security.issuer import issuer


def test_a_file_is_read_as_it_is(tmp_path):
    path = tmp_path / "keys"
    path.write_bytes(b"{}")
    assert load_key_set(str(path), "") == b"{}"
    assert not is_url(str(path))
    with pytest.raises(UnreadableKeys, match="No such file"):
        load_key_set(str(tmp_path / "none"), "")
    path.write_bytes(b" " * (MAX_KEY_SET_BYTES + 1))
    with pytest.raises(UnreadableKeys, match="more than"):
        load_key_set(str(path), "")


def test_a_url_of_this_machine_is_asked():
    with issuer({"/keys?v=1": (200, b'{"keys": []}', {})}) as port:
        url = f"http://127.0.0.1:{port}/keys?v=1"
        assert is_url(url)
        assert load_key_set(url, "") == b'{"keys": []}'


def test_https_needs_an_authority_that_is_trusted(certificate, authority, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.certificate, certificate.key)
    with issuer({"/": (200, b"{}", {})}, context) as port:
        url = f"https://localhost:{port}"
        assert load_key_set(url, str(authority.path)) == b"{}"
        with pytest.raises(UnreadableKeys, match="does not answer"):
            load_key_set(url, "")
        with pytest.raises(UnreadableKeys, match="oauth_jwks_ca_location"):
            load_key_set(url, str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/gone", "answers 404"), ("/moved", "answers 302"), ("/huge", "more than")],
)
def test_another_answer_is_named(path, reason):
    answers = {
        "/gone": (404, b"", {}),
        "/moved": (302, b"", {"Location": "http://127.0.0.1/"}),
        "/huge": (200, b" " * (MAX_KEY_SET_BYTES + 1), {}),
    }
    with issuer(answers) as port, pytest.raises(UnreadableKeys, match=reason):
        load_key_set(f"http://127.0.0.1:{port}{path}", "")


@pytest.mark.parametrize(
    "url",
    ["http://issuer.example/keys", "ftp://127.0.0.1/keys", "file:///etc/passwd",
     "https://127.0.0.1:x/keys", "http://127.0.0.1:1/keys"],
)  # fmt: skip
def test_a_place_that_is_not_safe_or_not_there_is_refused(url):
    with pytest.raises(UnreadableKeys):
        load_key_set(url, "")
