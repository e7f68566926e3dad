"""When requests are looked at, what is news, and that they pass whatever they hold."""

import random
import struct

import pytest

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection, make_identity
from pipelines.bridge.protocol.errors import UnsupportedRequest
from pipelines.bridge.proxy.frames.config_watch import (
    MAX_LOOK_BYTES,
    MAX_VALUE_BYTES,
    MOST_SHOWN,
    WireWatch,
)
from pipelines.bridge.proxy.frames.line import Care, Line
from pipelines.bridge.proxy.frames.request_frames import RequestFrames
from pipelines.bridge.proxy.frames.shown_configs import Allowance, ShownConfigs
from pipelines.bridge.proxy.frames.versions import METADATA
from pipelines.bridge.proxy.wire.shown_by_clients import watched_cares
from tests.unit.bridge.protocol.test_shown_configs import EVERY, make_body

GAP = 8
JOIN_GROUP, PRODUCE, FETCH, SHARE_FETCH = 11, 0, 1, 78
NEWEST_FETCH = 15
OFFERED = [one for one in EVERY if one[0] != FETCH or one[1] <= NEWEST_FETCH]
CARES = watched_cares(
    {METADATA: Care.REWRITE, FETCH: Care.FETCH, PRODUCE: Care.PRODUCE}
)


class Client:
    def __init__(self):
        identity = make_identity("PROXY", "10.0.0.7", 5_000)
        self.connection = Connection(connection_id=1, identity=identity)
        self.is_known = True

    def is_named(self):
        return self.is_known


class Watched:
    """One client's requests, as they are passed on and looked at."""

    def __init__(self):
        self.client, self.counters, self.told = Client(), BridgeCounters(), []
        self.watch = WireWatch(
            self.client,
            gap_limit=GAP,
            counters=self.counters,
            tell=self.tell,
        )
        self.shown = ShownConfigs(self.client.connection, None, "", Allowance())
        self.passed, self.line = bytearray(), Line()
        self.frames = RequestFrames(
            self.line,
            cares=CARES,
            reader=None,
            find_address=None,
            to_broker=self.passed.extend,
            max_read_bytes=1_000,
            watch=self.watch,
        )

    def tell(self, shown):
        self.shown = shown
        self.told.append(dict(shown.configs))

    def send(self, data, step=None):
        before = len(self.passed)
        for at in range(0, len(data), step or len(data)):
            self.frames.receive(data[at : at + (step or len(data))])
        assert bytes(self.passed[before:]) == data
        return self


def make_frame(api_key, version, body, correlation_id=1, id_bytes=3):
    rest = struct.pack(">hhih", api_key, version, correlation_id, id_bytes) + body
    return struct.pack(">i", len(rest)) + rest


def make_produce(acks, client_id=b"app"):
    body = b"\xff\xff" + struct.pack(">hii", acks, 30_000, 0)
    return make_frame(PRODUCE, 3, client_id + body, id_bytes=len(client_id))


@pytest.mark.parametrize("step", [1, 7, 100, None])
@pytest.mark.parametrize(("api_key", "version"), OFFERED)
def test_requests_pass_as_they_are_however_they_come(api_key, version, step):
    watched = Watched()
    frame = make_frame(api_key, version, make_body(api_key, version))
    watched.send(frame * 3, step)
    assert len(watched.line) == 3
    if step is None or api_key not in (FETCH, PRODUCE, SHARE_FETCH):
        assert watched.told
        assert watched.shown.client_id == "app"
    assert not watched.counters.unreadable_wire_requests


def test_ever_fewer_requests_are_looked_at():
    watched, looked_at = Watched(), []
    for number in range(60):
        # Each differs from the one before it, so that a look is news.
        watched.send(make_produce(1 + number % 2, b"%03d" % number))
        if len(watched.told) > len(looked_at):
            looked_at.append(number)
    assert looked_at == [0, 2, 6, 14, 23, 32, 41, 50, 59]


def test_what_is_known_is_not_told_again():
    watched = Watched()
    for _ in range(40):
        watched.send(make_produce(1))
    assert watched.told == [{"acks": "1", "request.timeout.ms": "30000"}]
    watched.send(make_produce(1, b"another") * (GAP + 1))
    assert len(watched.told) == 2
    assert watched.shown.client_id == "another"


def test_one_connection_that_produces_and_fetches_is_told_of_once_for_each():
    watched = Watched()
    fetch = make_frame(FETCH, NEWEST_FETCH, make_body(FETCH, NEWEST_FETCH))
    for _ in range(3 * GAP):
        watched.send(make_produce(1) + fetch)
    assert [min(one) for one in watched.told] == ["acks", "client.rack"]
    assert watched.shown.client_type == "consumer"
    assert "acks" not in watched.shown.configs


def test_what_many_clients_of_one_connection_show_is_bounded():
    watched = Watched()
    for number in range(20 * GAP):
        watched.send(make_produce(1, b"%03d" % number))
    assert len(watched.watch._shown) == MOST_SHOWN


def make_batch(size, codec):
    head = struct.pack(">qiibIhiqqqhii", 0, size, 0, 2, 0, codec, 0, 1, 1, 7, 0, 0, 1)
    body = b"\xff\xff" + struct.pack(">hii", 1, 30_000, 1) + b"\0\1t"
    body += struct.pack(">iii", 1, 0, len(head)) + head
    return make_frame(PRODUCE, 3, b"app" + body)


def test_a_batch_that_was_not_compressed_is_no_change_and_a_smaller_one_neither():
    watched = Watched()
    shown = []
    for size, codec in ((500, 0), (100, 4), (2_000, 0), (1_000, 4), (10, 3)):
        watched.send(make_batch(size, codec) * (GAP + 1))
        configs = watched.shown.configs
        shown.append((configs["batch.size"], configs["compression.type"]))
    assert shown == [
        ("512", "none"), ("512", "zstd"), ("1024", "zstd"), ("1024", "zstd"),
        ("1024", "lz4"),
    ]  # fmt: skip
    assert len(watched.told) == 4


def test_a_client_that_has_not_proved_who_it_is_is_not_looked_at():
    watched = Watched()
    watched.client.is_known = False
    watched.send(make_produce(1))
    assert watched.told == []


def test_a_version_that_is_not_known_passes():
    watched = Watched().send(make_frame(JOIN_GROUP, 99, b"app" + bytes(50)))
    assert watched.told == []
    assert not watched.counters.unreadable_wire_requests


def test_what_cannot_be_read_is_counted_and_passes():
    watched = Watched().send(make_frame(JOIN_GROUP, 5, b"app\0\x40"))
    assert watched.told == []
    assert watched.counters.unreadable_wire_requests == 1


def make_join(name):
    body = b"app" + struct.pack(">h", len(name)) + name + struct.pack(">i", 9)
    return make_frame(JOIN_GROUP, 0, body + b"\0\1m\0\x08consumer" + bytes(4))


def test_of_a_value_that_is_too_long_only_a_hash_is_known():
    groups = set()
    for name in (b"g" * 2_000, b"g" * 2_001, b"g" * 1_999 + b"h"):
        watched = Watched().send(make_join(name))
        assert watched.shown.configs["session.timeout.ms"] == "9"
        group = watched.shown.configs["group.id"]
        assert group.startswith("...(sha256:")
        assert group.endswith(f", {len(name)} bytes)")
        groups.add(group)
        watched.send(make_join(name) * 9)
        assert len(watched.told) == 1
    assert len(groups) == 3
    for name in (b"g" * MAX_VALUE_BYTES, groups.pop().encode()):
        watched = Watched().send(make_join(name))
        is_whole = watched.shown.configs["group.id"] == name.decode()
        assert is_whole is name.startswith(b"g")


def test_a_long_request_is_not_held():
    body = make_body(JOIN_GROUP, 5) + bytes(2 * MAX_LOOK_BYTES)
    frame = make_frame(JOIN_GROUP, 5, body)
    watched = Watched()
    watched.frames.receive(frame[:1_000])
    assert bytes(watched.passed) == frame[:1_000]
    assert watched.shown.configs["group.id"] == "g"
    watched.frames.receive(frame[1_000:])
    assert bytes(watched.passed) == frame


def test_mutilated_requests_pass_in_any_pieces():
    chance = random.Random(5)  # noqa: S311 - to be repeatable
    bodies = {one: make_body(*one) for one in OFFERED}
    told = unreadable = 0
    for _ in range(300):
        watched, sent = Watched(), bytearray()
        for number in range(35):
            api_key, version = chance.choice(OFFERED)
            body = bytearray(bodies[api_key, version])
            # The acks of Produce decide on answers, so that its head must be good.
            first = 60 if api_key == PRODUCE else 3
            for _ in range(chance.randrange(4)):
                body[chance.randrange(first, len(body))] = chance.randrange(256)
            sent += make_frame(api_key, version, bytes(body), number)
        data = bytes(sent)
        watched.send(data, chance.choice((1, 5, 50, 500, 5_000)))
        assert len(watched.line) == 35
        told += bool(watched.told)
        unreadable += watched.counters.unreadable_wire_requests
    assert told > 290
    assert unreadable > 0


@pytest.mark.parametrize("step", [1, None])
def test_a_fetch_whose_answer_would_name_brokers_is_refused(step):
    watched = Watched()
    with pytest.raises(UnsupportedRequest):
        watched.send(make_frame(FETCH, 16, make_body(FETCH, NEWEST_FETCH)), step)
