"""A node that answers what a test says: for what no real one can be made to do."""

import contextlib
import socket
import struct
import threading

from pipelines.kafka_client.client_configs import (
    Described,
    DescribedEntity,
    write_described,
)

SILENT, HANG_UP = object(), object()
API_VERSIONS, METADATA, PUSH_CONFIG = 18, 3, 10_071
SASL_HANDSHAKE, SASL_AUTHENTICATE, DESCRIBE_CLIENT_CONFIGS = 17, 36, 10_050
LOGGED_IN = struct.pack(">hhi", 0, -1, 0)
"""What SaslAuthenticate is answered."""


def versions(*, serves=True, highest=6, dynamic=False):
    """Return the body of an ApiVersions answer."""
    keys = [(18, 0, highest), (3, 0, 12)] + ([(PUSH_CONFIG, 0, 0)] if serves else [])
    keys += [(DESCRIBE_CLIENT_CONFIGS, 0, 0)] if dynamic else []
    entries = b"".join(struct.pack(">hhhB", *one, 0) for one in keys)
    return struct.pack(">hB", 0, len(keys) + 1) + entries + struct.pack(">iB", 0, 0)


def metadata(*addresses):
    """Return the body of a Metadata answer, version 1."""
    nodes = b"".join(
        struct.pack(">ih", 1, len(host)) + host.encode() + struct.pack(">ih", port, -1)
        for host, port in addresses
    )
    return struct.pack(">i", len(addresses)) + nodes + struct.pack(">ii", 1, 0)


def pushed(code=0, throttle_time_ms=0):
    """Return the body of a PushConfig answer, with its header's tags in front."""
    return b"\0" + struct.pack(">ihBB", throttle_time_ms, code, 0, 0)


def described(code=0, throttle_time_ms=0, message=None, **values):
    """Return the body of a DescribeClientConfigs answer; underscores are dots."""
    named = {key.replace("_", "."): value for key, value in values.items()}
    entity = DescribedEntity((("user", "alice"),), named)
    entries = None if code else [entity]
    return write_described(Described(throttle_time_ms, code, message, entries))


class ScriptedNode:
    """Listens on loopback; `answers` holds what each API is answered, in turn.

    The last answer to an API is given again and again. With `tls`, a context of a
    server, it encrypts; so many connections as `hang_ups` says are closed before. Each
    of them is told `words` before, if there are any.
    """

    def __init__(self, *, tls=None, hang_ups=0, words=b"", **answers):
        self._tls, self._hang_ups, self._words = tls, hang_ups, words
        self.seen = []
        """API keys, in the order in which they came."""
        self.client_ids = set()
        self.frames = []
        """What came, whole."""
        self.connections = 0
        self._answers = {
            API_VERSIONS: answers.get("versions", [versions()]),
            METADATA: answers.get("metadata", [metadata()]),
            PUSH_CONFIG: answers.get("pushed", [pushed()]),
            DESCRIBE_CLIENT_CONFIGS: answers.get("described", [described()]),
            SASL_HANDSHAKE: answers.get("mechanisms", [struct.pack(">hi", 0, 0)]),
            SASL_AUTHENTICATE: answers.get("logins", [LOGGED_IN]),
        }
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = self._listening.getsockname()
        self._open = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def server(self):
        return f"{self.address[0]}:{self.address[1]}"

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

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = self._listening.accept()
                self.connections += 1
                self._open.append(accepted)
                thread = threading.Thread(target=self._serve, args=(accepted,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, accepted):
        if self._hang_ups:
            self._hang_ups -= 1
            # After the client's words have come, as a load balancer without a server.
            with contextlib.suppress(OSError), accepted:
                accepted.recv(1_000)
                accepted.sendall(self._words)
            return
        if self._tls is not None:
            try:
                accepted = self._tls.wrap_socket(accepted, server_side=True)
            except OSError:
                accepted.close()
                return
        with contextlib.suppress(OSError), accepted, accepted.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                frame = stream.read(struct.unpack(">i", size)[0])
                api_key, _, correlation_id, length = struct.unpack_from(">hhih", frame)
                self.seen.append(api_key)
                self.frames.append(frame)
                self.client_ids.add(frame[10 : 10 + length].decode())
                answers = self._answers[api_key]
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                if answer is HANG_UP:
                    return
                if answer is not SILENT:
                    body = struct.pack(">i", correlation_id) + answer
                    accepted.sendall(struct.pack(">i", len(body)) + body)
