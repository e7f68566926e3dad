"""Tokens of a real endpoint: kept, fetched again in time, and what goes wrong."""

import socket
import threading
from contextlib import contextmanager

import pytest

from pipelines.kafka_client.faults import LoginRefused, NoToken
from pipelines.kafka_client.properties import UnusableConfig, make_access
from pipelines.kafka_client.token_source import TokenSource
from tests.support.bridge.certificates import Authority
from tests.support.kafka.token_server import (
    CLIENT_ID,
    CLIENT_SECRET,
    TokenServer,
)

WAIT_S = 20.0


@pytest.fixture
def issuer(tmp_path):
    with TokenServer(tmp_path) as server:
        yield server


def make_login(url, **changes):
    names = {
        "bootstrap.servers": "a",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "OIDC",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.oauthbearer.client.id": CLIENT_ID,
        "sasl.oauthbearer.client.secret": CLIENT_SECRET,
    }
    given = {name.replace("_", "."): value for name, value in changes.items()}
    return make_access((names | given).get).login


def make_source(issuer, clock):
    """Return a source with a clock of the test's own."""
    like = make_login(issuer.url).start.__self__
    return TokenSource(
        issuer.url,
        like._credentials,
        extensions={},
        tls=None,
        now_s=lambda: clock[0],
    )


def test_a_login_shows_the_token_of_the_endpoint(issuer):
    login = make_login(
        issuer.url,
        sasl_oauthbearer_scope="topics",
        sasl_oauthbearer_extensions="logicalCluster=lkc-1",
    )
    login.prepare(WAIT_S)
    frame = next(login.start())
    assert frame.startswith(b"n,,\x01auth=Bearer ey")
    assert frame.endswith(b"\x01logicalCluster=lkc-1\x01\x01")
    assert issuer.forms == [{"grant_type": "client_credentials", "scope": "topics"}]
    assert CLIENT_SECRET not in repr(login)


def test_a_token_is_kept_for_most_of_its_life_and_fetched_again_before_its_end(issuer):
    clock = [0.0]
    source = make_source(issuer, clock)
    for now_s, fetched in ((0, 1), (239, 1), (241, 2), (480, 2), (482, 3)):
        clock[0] = now_s
        source.prepare(WAIT_S)
        assert len(issuer.forms) == fetched


def test_while_a_token_is_good_an_endpoint_may_be_away(issuer):
    clock = [0.0]
    source = make_source(issuer, clock)
    source.prepare(WAIT_S)
    issuer.stop()
    clock[0] = 299
    source.prepare(WAIT_S)
    assert next(source.log_in())
    clock[0] = 300
    with pytest.raises(NoToken, match=r"/token does not answer \(Connection refused\)"):
        source.prepare(WAIT_S)
    issuer.start()
    source.prepare(WAIT_S)
    assert len(issuer.forms) == 2


def test_a_token_that_a_broker_has_refused_is_not_used_again(issuer):
    login = make_login(issuer.url)
    login.prepare(WAIT_S)
    login.forget()
    with pytest.raises(NoToken, match="was refused"):
        login.start()
    login.prepare(WAIT_S)
    assert next(login.start())
    assert len(issuer.forms) == 2


def test_many_who_want_a_token_ask_once(issuer):
    login = make_login(issuer.url)
    threads = [threading.Thread(target=login.prepare, args=(WAIT_S,)) for _ in range(9)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(issuer.forms) == 1


def test_a_wrong_secret_is_refused_and_not_told(issuer):
    login = make_login(issuer.url, sasl_oauthbearer_client_secret="hunter2")
    with pytest.raises(
        LoginRefused, match=r"refuses the client \(invalid_client\)"
    ) as e:
        login.prepare(WAIT_S)
    assert "hunter2" not in str(e.value)


@pytest.mark.parametrize(
    ("answer", "told"),
    [((200, b"<html>"), "without a token"), ((503, b""), "HTTP 503"),
     ((200, b'{"access_token":"a","expires_in":0}'), "whose time is over")],
)  # fmt: skip
def test_what_may_pass_is_asked_again_by_the_next_login(issuer, answer, told):
    issuer.answer = answer
    login = make_login(issuer.url)
    with pytest.raises(NoToken, match=told):
        login.prepare(WAIT_S)
    issuer.answer = None
    login.prepare(WAIT_S)
    assert next(login.start())


def test_an_endpoint_that_is_silent_is_waited_for_so_long():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        login = make_login(f"http://127.0.0.1:{silent.getsockname()[1]}/t")
        with pytest.raises(NoToken, match=r"does not answer \(timed out\)"):
            login.prepare(0.2)


@contextmanager
def endpoint(answer):
    """Yield the URL of an endpoint that answers once, as it is told."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            peer, _ = server.accept()
            with peer:
                peer.recv(65_536)
                answer(peer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/t"
        thread.join()


@pytest.mark.parametrize(
    "said",
    [b"hunter2\r\n\r\n", b"HTTP/1.1 302 Found\r\nLocation: https://[hunter2\r\n\r\n"],
)
def test_what_speaks_no_http_is_not_quoted(said):
    is_no_http = pytest.raises(NoToken, match=r"does not answer \(no HTTP\)")
    with endpoint(lambda peer: peer.sendall(said)) as url, is_no_http:
        make_login(url).prepare(WAIT_S)


@pytest.mark.parametrize(
    "begun", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"]
)
def test_an_endpoint_that_trickles_is_waited_for_as_a_whole(begun):
    has_ended = threading.Event()

    def trickle(peer):
        peer.sendall(begun)
        while not has_ended.wait(0.05):
            peer.sendall(b"x")

    with endpoint(trickle) as url:
        login = make_login(url)
        with pytest.raises(NoToken, match=r"does not answer \(timed out\)"):
            login.prepare(0.3)
        has_ended.set()


def test_an_endpoint_is_trusted_by_its_own_certificates(tmp_path):
    authority, other = Authority(tmp_path), Authority(tmp_path, name="other")
    files = authority.issue("issuer", "CN=localhost")
    with TokenServer(tmp_path, files) as issuer:
        known = make_login(issuer.url, https_ca_location=str(authority.path))
        known.prepare(WAIT_S)
        inline = make_login(issuer.url, https_ca_pem=authority.path.read_text())
        inline.prepare(WAIT_S)
        strange = make_login(issuer.url, https_ca_location=str(other.path))
        with pytest.raises(LoginRefused, match=r"/token: TLS: CERTIFICATE_VERIFY_FAIL"):
            strange.prepare(WAIT_S)
    assert len(issuer.forms) == 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"sasl_oauthbearer_token_endpoint_url": "ftp://a"}, "url must be an http or"),
     ({"sasl_oauthbearer_token_endpoint_url": ""}, "url must be set"),
     ({"sasl_oauthbearer_client_id": ""}, "client.id must be set"),
     ({"sasl_oauthbearer_client_secret": ""}, "client.secret must be set"),
     ({"sasl_oauthbearer_extensions": "auth=hunter2"}, "must be name=value,name=val"),
     ({"sasl_oauthbearer_grant_type": "x"}, "is supported as client_credentials only"),
     ({"sasl_oauthbearer_metadata_authentication_type": "x"}, "as none only"),
     ({"https_ca_location": "/none"}, r"^https\.ca\.location cannot be used")],
)  # fmt: skip
def test_what_cannot_be_asked_is_named(changes, told):
    with pytest.raises(UnusableConfig, match=told) as caught:
        make_login("http://a/t", **changes)
    assert "hunter2" not in str(caught.value)
