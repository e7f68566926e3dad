import socket
import threading

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)

from pipelines.errors import InvalidSetting
from pipelines.forwarder.receiver import (
    Answer,
    Receiver,
    pause_s,
    read_answer,
    read_login,
)
from pipelines.forwarder.targets import make_target
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader

SECRETS = SecretReader(
    environ={"TOKEN": "abc.d-9==", "BROKEN": "abc\nHost: x", "PASSWORD": "p:w"}
)
URL = "forward.endpoint=http://127.0.0.1:9/v1/metrics"


def forward_settings(*words):
    words = [URL, *(f"forward.{one}" for one in words)]
    return load_settings("local", words).forward


def make_receiver(settings):
    return Receiver(settings, SECRETS, make_target(settings))


def test_a_partial_success_is_taken_and_says_how_many_points_were_not():
    told = ExportMetricsServiceResponse()
    told.partial_success.rejected_data_points = 3
    target = make_target(forward_settings())
    rejected = target.count_rejected(200, told.SerializeToString())
    answer = read_answer(200, {}, rejected, 0)
    assert answer.is_taken
    assert answer.rejected == 3


@pytest.mark.parametrize("status", [0, 401, 404, 429, 500, 502, 503, 504])
def test_what_is_no_fault_of_the_data_is_tried_again(status):
    answer = Answer(status=status)
    assert not answer.is_taken
    assert not answer.is_refused


@pytest.mark.parametrize("status", [400, 413, 422])
def test_data_that_is_refused_is_not_sent_again(status):
    assert Answer(status=status).is_refused


@pytest.mark.parametrize(
    ("text", "wait_s"),
    [
        ("7", 7),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 50),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0),
        ("86400", 300),
        ("soon", None),
    ],
)
def test_the_receiver_says_when_to_come_back(text, wait_s):
    assert read_answer(503, {"Retry-After": text}, 0, 10).retry_after_s == wait_s


def test_pauses_grow_to_a_bound():
    unknown = Answer(status=503)
    assert 0.25 <= pause_s(0, unknown) <= 0.5
    assert 15 <= pause_s(1000, unknown) <= 30


def test_logins_are_headers():
    told = read_login(forward_settings("bearer_token=env:TOKEN"), SECRETS)
    assert told == {"Authorization": "Bearer abc.d-9=="}
    told = read_login(forward_settings("username=me", "password=env:PASSWORD"), SECRETS)
    assert told == {"Authorization": "Basic bWU6cDp3"}
    assert read_login(forward_settings(), SECRETS) == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bearer_token=env:BROKEN"], "forward.bearer_token: the secret"),
        (["bearer_token=env:TOKEN", "username=me"], "takes one of them"),
        (["username=me"], "go together"),
        (["password=env:PASSWORD"], "go together"),
        (["username=a:b", "password=env:PASSWORD"], "has no colon"),
        (["endpoint=ftp://here/v1"], "expects the receiver's URL"),
        (["endpoint="], "expects the receiver's URL"),
        (["endpoint=http://here:port/v1"], "expects the receiver's URL"),
        (["endpoint=http://here/v1 2"], "expects the receiver's URL"),
        (["endpoint=http://me:p:w@here/v1"], "has a login in it"),
        (["endpoint=https://here/", "ssl_ca_location=/none.pem"], "No such file"),
        (["endpoint=https://here/", f"ssl_ca_location={__file__}"], "in PEM"),
    ],
)
def test_a_wrong_setting_is_named_and_no_secret_is(words, said):
    with pytest.raises(InvalidSetting, match=said) as fault:
        make_receiver(forward_settings(*words))
    assert "abc" not in str(fault.value)
    assert "p:w" not in str(fault.value)
    assert fault.value.__cause__ is None


class ClosingReceiver:
    """Receiver that takes one request per connection, then closes it without a word."""

    def __init__(self, *counts):
        """Start; counts is how many requests each connection answers."""
        self.requests = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.closed = threading.Semaphore(0)
        threading.Thread(target=self._serve, args=(counts,), daemon=True).start()

    def _serve(self, counts):
        for count in counts:
            link, _ = self._server.accept()
            with link, link.makefile("rb") as lines:
                for _ in range(count):
                    while lines.readline() != b"\r\n":
                        pass
                    self.requests += 1
                    link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            self.closed.release()


def test_post_kept_connection_closed_by_receiver_connects_again():
    server = ClosingReceiver(1, 1, 0, 0)
    words = [f"endpoint=http://127.0.0.1:{server.port}/", "protocol=remote_write"]
    receiver = make_receiver(forward_settings(*words))
    for _ in range(2):
        assert receiver.post(b"").status == 200
        server.closed.acquire()
    assert receiver.post(b"").status == 0
    # A new connection that breaks is a failed request.
    assert receiver.post(b"").status == 0
    assert server.requests == 2
    receiver.close()


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("http://here:4318/v1/metrics?key=abc", "http://here:4318"),
        ("https://here/v1/metrics", "https://here:443"),
    ],
)
def test_receiver_address_has_port_and_no_query(endpoint, address):
    receiver = make_receiver(forward_settings(f"endpoint={endpoint}"))
    assert receiver.address == address
