"""The handshake over TLS, against nodes that break off, or trust or deserve no trust."""

import ssl

import pytest

from pipelines.clients.kafka_client.faults import LoginRefused
from pipelines.clients.kafka_client.tls import fault_of_tls
from tests.support.bridge.certificates import Authority
from tests.unit.clients.scripted_node import (
    METADATA,
    PUSH_CONFIG,
    ScriptedNode,
    metadata,
)
from tests.unit.clients.test_handshake import push


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("stranger"), "stranger")


def server_side(authority, *, asks=None, version=None):
    files = authority.issue("node", "CN=node")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    if asks is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(asks.path)
    if version is not None:
        context.maximum_version = version
    return context


def client_side(authority, *, shown=None):
    context = ssl.create_default_context(cafile=str(authority.path))
    if shown is not None:
        files = shown.issue("app", "CN=app")
        context.load_cert_chain(files.certificate, files.key)
    return context


@pytest.fixture(scope="module")
def trusting(authority):
    return client_side(authority)


def test_a_server_that_breaks_off_in_the_handshake_is_tried_again(authority, trusting):
    """As one that restarts, or a load balancer that has no server for a moment."""
    with ScriptedNode(tls=server_side(authority), hang_ups=2) as node:
        done = push(node, tls=trusting)
        assert node.connections == 3
    assert (done.is_pushed, done.fault) == (True, "")


def test_a_server_that_speaks_no_tls_is_not_tried_again(trusting):
    with ScriptedNode(hang_ups=9, words=b"HTTP/1.1 400 Bad Request\r\n\r\n") as node:
        done = push(node, tls=trusting)
        assert node.connections == 1
    assert done.fault == "authentication failed: TLS: WRONG_VERSION_NUMBER"


FAULTS = [
    (ssl.SSLError, "TLSV1_ALERT_INTERNAL_ERROR"),
    (ssl.SSLError, "TLSV1_ALERT_USER_CANCELLED"),
    (ssl.SSLError, None),
    (ssl.SSLEOFError, "UNEXPECTED_EOF_WHILE_READING"),
    (ssl.SSLZeroReturnError, "TLS_CONNECTION_HAS_BEEN_CLOSED"),
]


@pytest.mark.parametrize(("kind", "reason"), FAULTS)
def test_what_may_pass_is_a_fault_of_the_network(kind, reason):
    error = kind(1, "text")
    error.reason = reason
    told = f"TLS: {reason or 'the connection was closed'}"
    fault = fault_of_tls(error)
    assert (type(fault), str(fault)) == (ConnectionError, told)


@pytest.mark.parametrize(
    "reason", ["UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION", "INTERNAL_ERROR"]
)
def test_what_does_not_pass_is_a_refusal(reason):
    error = ssl.SSLError(1, "text")
    error.reason = reason
    assert isinstance(fault_of_tls(error), LoginRefused)


def test_a_server_without_trust_is_not_tried_again(stranger, trusting):
    with ScriptedNode(tls=server_side(stranger)) as node:
        done = push(node, tls=trusting)
        assert node.connections == 1
    assert done.fault == (
        "authentication failed: TLS: CERTIFICATE_VERIFY_FAILED, "
        "self-signed certificate in certificate chain"
    )


def test_a_server_without_trust_does_not_end_the_search(authority, stranger, trusting):
    with (
        ScriptedNode(tls=server_side(stranger)) as bad,
        ScriptedNode(tls=server_side(authority)) as good,
    ):
        assert all(push(bad, good, tls=trusting).is_pushed for _ in range(6))
        assert bad.seen == []


def test_a_node_without_trust_is_passed_over_for_the_one_that_is_known(
    authority, stranger, trusting
):
    with (
        ScriptedNode(tls=server_side(stranger)) as bad,
        ScriptedNode(tls=server_side(authority)) as good,
    ):
        good._answers[METADATA] = [metadata(bad.address)]
        assert push(good, tls=trusting).is_pushed
        assert bad.connections == 1
        assert good.seen.count(PUSH_CONFIG) == 1


REFUSALS = {
    "no certificate": (False, None, "TLSV13_ALERT_CERTIFICATE_REQUIRED"),
    "a strange one": (True, None, "TLSV1_ALERT_UNKNOWN_CA"),
    "none in 1.2": (False, ssl.TLSVersion.TLSv1_2, "SSLV3_ALERT_HANDSHAKE_FAILURE"),
    "a strange one in 1.2": (True, ssl.TLSVersion.TLSv1_2, "TLSV1_ALERT_UNKNOWN_CA"),
}


@pytest.mark.parametrize(
    ("is_shown", "version", "alert"), REFUSALS.values(), ids=REFUSALS
)
def test_a_server_that_does_not_trust_the_client_is_not_tried_again(
    authority, stranger, is_shown, version, alert
):
    """In TLS 1.3 the client hears of it behind its first request only."""
    context = client_side(authority, shown=stranger if is_shown else None)
    asking = server_side(authority, asks=authority, version=version)
    for _ in range(5):
        with ScriptedNode(tls=asking) as node:
            done = push(node, tls=context)
            assert node.connections == 1
        assert done.fault == f"authentication failed: TLS: {alert}"
