"""Pages as bridges serve them, and peers that are none."""

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pipelines.watching.bridge_pages import ACCEPTED, look_at_bridge

METRICS = """\
# TYPE kafka_clientele_bridge_accepted_pushes_total counter
kafka_clientele_bridge_accepted_pushes_total {accepted}
# TYPE kafka_clientele_bridge_refused_pushes_total counter
kafka_clientele_bridge_refused_pushes_total{{reason="quota"}} {refused}
kafka_clientele_bridge_refused_pushes_total{{reason="throttled"}} 1.0
"""


@contextlib.contextmanager
def pages(status=200, said="ready\n", accepted=0, refused=0, metrics=METRICS):
    """Serve pages whose counts grow with each look; yield their address and counts."""
    counts = {"accepted": accepted, "refused": refused}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            is_metrics = self.path == "/metrics"
            text = metrics.format(**counts) if is_metrics else said
            self.send_response(200 if is_metrics else status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", counts
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_rates_are_what_comes_between_two_looks():
    with pages(accepted=100, refused=7) as (address, counts):

        def wait():
            counts.update(accepted=160, refused=9)
            threading.Event().wait(0.05)

        look = look_at_bridge(address, timeout_s=20, wait=wait)
    assert (look.has_answered, look.is_ready, look.said) == (True, True, "ready")
    assert (look.accepted, look.refused) == (160, 10)
    assert 0 < look.refused_per_s < look.accepted_per_s <= 1_200


def test_a_bridge_that_is_not_ready_says_why():
    with pages(503, "Kafka has not answered yet\n") as (address, _):
        look = look_at_bridge(address, timeout_s=20, wait=lambda: None)
    assert (look.has_answered, look.is_ready) == (True, False)
    assert look.said == "Kafka has not answered yet"


def test_nobody_there_is_no_bridge():
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    look = look_at_bridge(address, timeout_s=20, wait=lambda: None)
    assert (look.has_answered, look.is_ready) == (False, False)
    assert look.said == "Connection refused"
    assert look.accepted is None


def test_a_peer_that_says_nothing_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        look = look_at_bridge(address, timeout_s=0.2, wait=lambda: None)
    assert not look.has_answered
    assert look.said


def test_a_peer_that_speaks_something_else_is_no_bridge():
    with socket.create_server(("127.0.0.1", 0)) as other:

        def answer():
            connection, _ = other.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(b"\x00\x00\x00\x08garbage\n")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        look = look_at_bridge(address, timeout_s=20, wait=lambda: None)
        thread.join()
    assert not look.has_answered


@pytest.mark.parametrize(
    "metrics", ["<html>hunter2</html>", "404 page not found", ACCEPTED + " NaN\n"]
)
def test_a_page_of_something_else_is_no_bridge(metrics):
    with pages(metrics=metrics) as (address, _):
        look = look_at_bridge(address, timeout_s=20, wait=lambda: None)
    assert not look.has_answered
    assert look.said == "its /metrics is no page of a bridge"


def test_a_page_that_trickles_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as other:
        has_ended = threading.Event()

        def trickle():
            connection, _ = other.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
                while not has_ended.wait(0.02):
                    connection.sendall(b"x")

        thread = threading.Thread(target=trickle)
        thread.start()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        look = look_at_bridge(address, timeout_s=0.3, wait=lambda: None)
        has_ended.set()
        thread.join()
    assert (look.has_answered, look.said) == (False, "its page has no end")
