"""A relay in front of a real Kafka that serves DescribeClientConfigs, as a test says.

All else passes to the broker as it is; its answers to ApiVersions list one request more.
So a client finds dynamic configs at the address where it finds its cluster.
"""

import contextlib
import socket
import struct
import threading

from pipelines.kafka_client.client_configs import (
    DESCRIBE_CLIENT_CONFIGS,
    Described,
    DescribedEntity,
    write_described,
)

API_VERSIONS, FIRST_FLEXIBLE = 18, 3
_SIZE = struct.Struct(">i")
_COUNT_AT = 6
"""Behind correlation id and error code; brokers list fewer than 127 requests."""
_ENTRY = struct.pack(">hhhB", DESCRIBE_CLIENT_CONFIGS, 0, 0, 0)


class DynamicRelay:
    """Listens on loopback, and tells every client the same values."""

    def __init__(self, bootstrap_servers):
        host, _, port = bootstrap_servers.partition(",")[0].rpartition(":")
        self._broker = host, int(port)
        self._values = {}
        self.asked = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def server(self):
        host, port = self._listening.getsockname()
        return f"{host}:{port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def set_values(self, **values):
        """Set what clients are told from now on."""
        self._values = values

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._open.append(client)
                thread = threading.Thread(target=self._serve, args=(client,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, client):
        with contextlib.suppress(OSError), client:
            broker = socket.create_connection(self._broker)
            self._open.append(broker)
            with broker, client.makefile("rb") as asks, broker.makefile("rb") as says:
                while request := _read_frame(asks):
                    api_key, version = struct.unpack_from(">hh", request)
                    if api_key == DESCRIBE_CLIENT_CONFIGS:
                        answer = request[4:8] + self._describe()
                    else:
                        broker.sendall(_SIZE.pack(len(request)) + request)
                        answer = _read_frame(says)
                    if not answer:
                        # The relay ends, or the broker.
                        return
                    if api_key == API_VERSIONS and version >= FIRST_FLEXIBLE:
                        answer = _list_one_more(answer)
                    client.sendall(_SIZE.pack(len(answer)) + answer)

    def _describe(self):
        self.asked += 1
        entity = DescribedEntity((("user", "alice"),), self._values)
        return write_described(Described(0, 0, None, [entity]))


def _read_frame(stream):
    size = stream.read(_SIZE.size)
    return stream.read(_SIZE.unpack(size)[0]) if len(size) == _SIZE.size else b""


def _list_one_more(answer):
    count = bytes([answer[_COUNT_AT] + 1])
    return answer[:_COUNT_AT] + count + _ENTRY + answer[_COUNT_AT + 1 :]
