import socket
import struct
import threading
from contextlib import contextmanager, suppress

import pytest

from pipelines.embedded.probe import is_serving, list_brokers

HOST = "127.0.0.1"


def frame(body):
    response = struct.pack(">i", 1) + body
    return struct.pack(">i", len(response)) + response


def broker(node_id, rack):
    host = HOST.encode()
    written = struct.pack(f">ih{len(host)}si", node_id, len(host), host, 9092)
    if rack is None:
        return written + struct.pack(">h", -1)
    return written + struct.pack(f">h{len(rack)}s", len(rack), rack)


METADATA = frame(
    struct.pack(">i", 2)
    + broker(1, None)
    + broker(7, b"rack-a")
    + struct.pack(">ii", 1, 0)
)


@contextmanager
def peer_that_answers(answer):
    """A socket that takes one request and answers it with these bytes."""
    with socket.create_server((HOST, 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                with suppress(OSError):  # who asks may have given up
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def test_brokers_are_listed_with_and_without_a_rack():
    with peer_that_answers(METADATA) as port:
        assert list_brokers(HOST, port) == {1, 7}


@pytest.mark.parametrize("cut", [0, 3, 8, 15, 20, len(METADATA) - 30])
def test_a_cut_response_lists_no_broker(cut):
    with peer_that_answers(METADATA[:cut]) as port:
        assert list_brokers(HOST, port) == frozenset()


def test_an_array_longer_than_the_response_lists_no_broker():
    with peer_that_answers(frame(struct.pack(">i", 9) + broker(1, None))) as port:
        assert list_brokers(HOST, port) == frozenset()


@pytest.mark.parametrize(
    ("answer", "is_expected"),
    [
        (frame(struct.pack(">hi", 0, 0)), True),
        (frame(struct.pack(">hi", 35, 0)), False),
        (frame(b""), False),
        (b"", False),
    ],
    ids=["no error", "error code", "no body", "closed"],
)
def test_only_an_answer_without_error_is_serving(answer, is_expected):
    with peer_that_answers(answer) as port:
        assert is_serving(HOST, port, None) is is_expected


def test_a_port_that_nobody_listens_on_is_not_serving():
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
    assert not is_serving(HOST, port, None)
