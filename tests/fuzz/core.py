"""The whole protocol core without sockets, and what must hold of it at every frame."""

import gc
import random
import struct
import time
from collections import Counter

from kio.index import UnknownAPIKey, UnknownEntity, load_response_schema
from kio.serial import entity_reader

from pipelines.bridge.protocol.metadata import AdvertisedNode
from pipelines.bridge.server import BridgeServer
from pipelines.bridge.telemetry.subscriptions import parse_subscription
from pipelines.settings import load_settings
from pipelines.settings.secret_references import SecretReader
from tests.fuzz.connection import Broken, FuzzedConnection, Seen
from tests.fuzz.mutations import mutate, with_size
from tests.fuzz.tokens import NUMBER, TokenWriter
from tests.support.bridge.wired_handlers import wire_handlers

NODE = AdvertisedNode(node_id=1, host="h", port=1, cluster_id="c")
SEEDS_PER_VERSION = 60
MAX_FRAME_S = 0.1
CONNECTIONS_PER_MARK = 64
MAX_PENDING = 100
MAX_KNOWN_BODIES = 20_000
MAX_FRAMES_PER_CONNECTION = 30
FRAMES_AT_ONCE = (1, 1, 2, 5)
API_VERSIONS, GET, PUSH = 18, 71, 72
LAST_API_VERSIONS_LAYOUT = 4
UNSUPPORTED_VERSION = b"\x00\x23"
_SETTINGS = (
    "bridge.telemetry_max_bytes=500",
    "bridge.max_client_instances=2000",
    "bridge.max_request_bytes=4000",
    "client_config.enabled=true",
    "client_config.max_bytes=1500",
    "dynamic_configs.enabled=true",
    'subscriptions=[{name="s",metrics=["*"],interval_ms=100,match=[]}]',
)


class FuzzedCore:
    """Feeds mutated connections to what the bridge's own wiring serves."""

    def __init__(self, seed):
        self._chance = random.Random(seed)  # noqa: S311 - to be repeatable
        self.seen = Seen()
        settings = load_settings("local", _SETTINGS)
        self._server = BridgeServer(settings, SecretReader(environ={}))
        self._now_ms = 1_700_000_000_000
        self.handlers = wire_handlers(
            self._server, NODE, self._publish, lambda: self._now_ms
        )
        self._pending = []
        self._cpu_mark_s = 0.0
        self._known_bodies = set()
        self._clients = [(bytes(16), 0)]
        self._seeds = self._make_seeds()

    def _make_seeds(self):
        seeds = {}
        for api in self.handlers.apis.values():
            for version in api.versions:
                writer = TokenWriter(api, version, self._chance)
                made = [writer.make() for _ in range(SEEDS_PER_VERSION)]
                seeds[api.api_key, version] = made
        return seeds

    def run(self, frames):
        """Feed so many frames.

        Raises: Broken, with the bytes of the connection; or what escaped, the same.
        """
        wanted = self.seen.frames + frames
        # A full collection of all that other tests have left takes longer than a frame may.
        gc.freeze()
        try:
            while self.seen.frames < wanted:
                self._run_connection()
        finally:
            gc.unfreeze()
        self.seen.counts = Counter(self._server.counters.numbers())

    def _run_connection(self):
        chance, received = self._chance, []
        if self.seen.connections % CONNECTIONS_PER_MARK == 0:
            self._cpu_mark_s = time.thread_time()
        self.seen.connections += 1
        self._now_ms += chance.choice([0, 1, 60, 100, 100_000])
        one = FuzzedConnection(self, self.seen.connections)
        try:
            while not one.is_ended and len(received) < MAX_FRAMES_PER_CONNECTION:
                frames = range(chance.choice(FRAMES_AT_ONCE))
                received.append(b"".join([self._make_frame() for _ in frames]))
                self._now_ms += chance.choice([0, 100])
                self._receive(one, received[-1])
            if chance.random() < 0.7:
                self._settle(keep=0)
                one.check_is_settled()
            # What is still pending is acknowledged after the connection has closed.
            self.handlers.forget(one.connection)
            self._settle(keep=MAX_PENDING)
        except Exception as error:
            shown = " ".join(piece.hex() for piece in received)
            raise Broken(f"{type(error).__name__}: {error}; frames {shown}") from error
        if chance.random() < 0.01:
            self._change_subscriptions()

    def _receive(self, one, data):
        if self._chance.random() < 0.8:
            one.receive(data)
            return
        start = 0
        while start < len(data) and not one.is_ended:
            end = start + self._chance.choice([1, 3, 10, 40])
            one.receive(data[start:end])
            start = end

    def _make_frame(self):
        chance = self._chance
        key = chance.choice(list(self._seeds))
        if chance.random() < 0.5:
            key = chance.choice([(GET, 0), (PUSH, 0)])
        tokens = list(chance.choice(self._seeds[key]))
        if key == (PUSH, 0) and chance.random() < 0.8:
            # So that the rules accept some: the id and the subscription of a client.
            newest = chance.choice([1, 1, 4, 50])
            instance_id, subscription_id = chance.choice(self._clients[-newest:])
            start = len(tokens) - 7
            tokens[start : start + 2] = [
                (NUMBER, instance_id),
                (NUMBER, struct.pack(">i", subscription_id)),
            ]
        return with_size(mutate(tokens, chance), chance)

    def _publish(self, _record, acknowledge):
        draw = self._chance.random()
        if draw < 0.5:
            acknowledge(True)
        elif draw < 0.7:
            acknowledge(False)
        else:
            self._pending.append(acknowledge)

    def _settle(self, *, keep):
        while len(self._pending) > keep:
            where = self._chance.randrange(len(self._pending))
            self._pending.pop(where)(self._chance.random() < 0.5)

    def _change_subscriptions(self):
        registry, name = self._server.cluster.registry, f"s{self._chance.randrange(5)}"
        if self._chance.random() < 0.5:
            registry.remove(name)
        else:
            match = self._chance.choice(["", "client_id=app.*", "client_source_port=1"])
            properties = {"metrics": "a.,b.", "interval.ms": "100", "match": match}
            registry.put(parse_subscription(name, properties))

    def note_slow(self, elapsed_s):
        """Keep the slowest frame, in CPU time: others may be running here.

        Reading CPU time costs more than a frame. So it is read once for some
        connections; together they take far less than one frame may.
        """
        cpu_s = time.thread_time() - self._cpu_mark_s
        self.seen.slowest_s = max(self.seen.slowest_s, min(elapsed_s, cpu_s))
        if self.seen.slowest_s > MAX_FRAME_S:
            raise Broken(f"a frame took {self.seen.slowest_s * 1_000:.0f} ms")

    def check_reply(self, request, reply):
        """Check that a reply is the one of this request, and whole."""
        self.seen.answers[request.api_key, request.api_version] += 1
        if struct.unpack_from(">i", reply)[0] != request.correlation_id:
            raise Broken("replies are not in the order of the requests")
        body = reply[4:]
        version = request.api_version
        if request.api_key == API_VERSIONS:
            is_refused = body.startswith(UNSUPPORTED_VERSION)
            version = 0 if is_refused else min(version, LAST_API_VERSIONS_LAYOUT)
        key = request.api_key, version, body
        if key in self._known_bodies:
            return
        if len(self._known_bodies) >= MAX_KNOWN_BODIES:
            self._known_bodies.clear()
        self._known_bodies.add(key)
        self._decode(request, version, body)

    def _decode(self, request, version, body):
        try:
            schema = load_response_schema(request.api_key, version)
        except (UnknownAPIKey, UnknownEntity):
            return
        has_tags = schema.__header_schema__.__version__ == 1
        message, size = entity_reader(schema)(body, int(has_tags))
        if has_tags + size != len(body):
            raise Broken(f"{len(body)} bytes of which {size} are the reply")
        if request.api_key == GET and message.client_instance_id is not None:
            self._clients.append(
                (message.client_instance_id.bytes, message.subscription_id)
            )
            del self._clients[:-50]
