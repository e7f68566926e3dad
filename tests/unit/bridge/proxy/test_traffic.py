"""What clients produce and fetch, as frames pass, and how it gets to records."""

import datetime as dt
import io
import json
import struct
from dataclasses import replace

import pytest
from kio.index import load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.primitive import i32, i32Timedelta

from pipelines.bridge.core.client_identity import KnownCluster
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection, make_identity
from pipelines.bridge.core.records import PushIds, RecordOutlet
from pipelines.bridge.proxy.frames.line import Care, Line
from pipelines.bridge.proxy.frames.request_frames import RequestFrames
from pipelines.bridge.proxy.frames.response_frames import ResponseFrames
from pipelines.bridge.proxy.frames.versions import FETCH, PRODUCE, SHARE_FETCH
from pipelines.bridge.proxy.wire import traffic as module
from pipelines.bridge.proxy.wire.traffic import ClientTraffic
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules

SETTINGS = load_settings("base", [])
RULES = make_sensitive_key_rules(SETTINGS.sensitive_keys, load_config_catalogs())
START_MS = 1_800_000_000_000
INTERVAL_MS = SETTINGS.proxy.traffic_interval_ms


class Client:
    def __init__(self, port=1, broker_id=1):
        identity = make_identity("PROXY", "10.0.0.7", port)
        self.connection = Connection(
            connection_id=port, identity=replace(identity, broker_id=broker_id)
        )
        self.named = True

    def is_named(self):
        return self.named


class Outlet:
    """A clock, a Kafka that takes records or refuses them, and what counts."""

    def __init__(self):
        self.records, self.takes, self.failures = [], True, []
        self.now_ms = START_MS
        self.cluster = KnownCluster("cluster-1")
        self.counters = BridgeCounters()
        outlet = RecordOutlet(
            publish=self.publish,
            push_ids=PushIds(lambda _: 7),
            now_ms=lambda: self.now_ms,
            cluster=self.cluster,
        )
        self.traffic = ClientTraffic(
            SETTINGS, RULES, outlet, self.counters, note_failure=self.failures.append
        )

    def publish(self, record, acknowledge):
        if self.takes:
            self.records.append(record)
        acknowledge(self.takes)

    def end_time(self, after_ms=INTERVAL_MS):
        self.now_ms += after_ms
        list(self.traffic.publish_round())

    def said(self):
        return [json.loads(one.value) for one in self.records]


class Pair:
    """Frames of one client in both directions."""

    def __init__(self, outlet, client=None):
        self.watch = outlet.traffic.watch(client or Client())
        self.line = Line()
        self.to_broker, self.to_client = bytearray(), bytearray()
        self.requests = RequestFrames(
            self.line,
            cares={
                PRODUCE: Care.PRODUCE,
                FETCH: Care.FETCH,
                SHARE_FETCH: Care.REWRITE,
            },
            reader=None,
            find_address=lambda *_: ("proxy", 1),
            to_broker=self.to_broker.extend,
            max_read_bytes=1_000,
            traffic=self.watch,
        )
        self.responses = ResponseFrames(
            self.line,
            find_address=lambda *_: ("proxy", 1),
            to_client=self.to_client.extend,
            note_large=lambda: None,
        )

    def ask(self, data, step=None):
        for piece in cut(data, step):
            self.requests.receive(piece)

    def answer(self, data, step=None):
        for piece in cut(data, step):
            self.responses.receive(piece)


def cut(data, step):
    step = step or len(data)
    return [data[at : at + step] for at in range(0, len(data), step)]


def frame(payload):
    return struct.pack(">i", len(payload)) + payload


def request(api_key, version, body, client_id=b"app"):
    length = -1 if client_id is None else len(client_id)
    head = struct.pack(">hhih", api_key, version, 7, length)
    return frame(head + (client_id or b"") + body)


def produce(version, acks=1, size=50, client_id=b"app"):
    head = b"\0\0" if version >= 9 else b"\xff\xff" if version >= 3 else b""
    body = head + struct.pack(">hi", acks, 30_000) + bytes(size)
    return request(PRODUCE, version, body, client_id)


def fetch(version, client_id=b"app"):
    return request(FETCH, version, bytes(40), client_id)


def answer(api_key, version, throttle_ms, **fields):
    """Return an answer as kio writes it, and so as brokers do."""
    if version < {PRODUCE: 3, FETCH: 4}.get(api_key, 0):
        # kio has none of these.
        fields = [bytes(4), struct.pack(">i", throttle_ms) if version else b""]
        ordered = fields if api_key == PRODUCE else fields[::-1]
        return frame(struct.pack(">i", 7) + b"".join(ordered))
    schema = load_response_schema(api_key, version)
    buffer = io.BytesIO()
    header = schema.__header_schema__
    entity_writer(header)(buffer, header(correlation_id=i32(7)))
    time = dt.timedelta(milliseconds=throttle_ms)
    fields["throttle_time"] = i32Timedelta.parse(time)
    if "error_code" in schema.__dataclass_fields__:
        fields["error_code"] = ErrorCode.none
    body = schema(responses=(), **fields)
    entity_writer(schema)(buffer, body)
    return frame(buffer.getvalue())


@pytest.mark.parametrize("step", [None, 1, 3, 20])
@pytest.mark.parametrize("throttle_ms", [0, 1, 75_000])
@pytest.mark.parametrize("version", range(14))
def test_produce_is_counted_and_told_throttle_times_are(version, throttle_ms, step):
    pair = Pair(Outlet())
    asked, told = produce(version), answer(PRODUCE, version, throttle_ms)
    pair.ask(asked * 2, step)
    pair.answer(told * 2, step)
    assert (pair.to_broker, pair.to_client) == (asked * 2, told * 2)
    counts = pair.watch.counts
    assert counts.produce_requests == 2
    assert counts.produced_bytes == 2 * (len(asked) - 4)
    told_ms = throttle_ms if version >= 1 else 0
    assert counts.throttle_ms_sum == counts.produce_throttle_ms_sum == 2 * told_ms
    assert counts.throttle_ms_max == told_ms
    assert counts.throttled_answers == (2 if told_ms else 0)
    assert not pair.line


@pytest.mark.parametrize("step", [None, 1, 3, 20])
@pytest.mark.parametrize("throttle_ms", [0, 250])
@pytest.mark.parametrize("version", range(16))
def test_fetch_is_counted_by_its_answers(version, throttle_ms, step):
    pair = Pair(Outlet())
    told = answer(FETCH, version, throttle_ms)
    # Records, as far as counting is concerned.
    told = frame(told[4:] + bytes(1_000))
    asked = fetch(version)
    pair.ask(asked * 3, step)
    pair.answer(told * 3, step)
    assert (pair.to_broker, pair.to_client) == (asked * 3, told * 3)
    counts = pair.watch.counts
    assert (counts.fetch_requests, counts.produce_requests) == (3, 0)
    assert counts.fetched_bytes == 3 * (len(told) - 4)
    told_ms = throttle_ms if version >= 1 else 0
    assert (counts.throttle_ms_sum, counts.produce_throttle_ms_sum) == (3 * told_ms, 0)


@pytest.mark.parametrize("step", [None, 1, 3, 20])
@pytest.mark.parametrize("throttle_ms", [0, 250])
@pytest.mark.parametrize("version", [1, 2])
def test_share_fetch_counts_as_fetch(version, throttle_ms, step):
    pair = Pair(Outlet())
    lock = i32Timedelta.parse(dt.timedelta(seconds=30))
    told = answer(
        *(SHARE_FETCH, version, throttle_ms),
        acquisition_lock_timeout=lock,
        node_endpoints=(),
    )
    asked = request(SHARE_FETCH, version, bytes(40))
    pair.ask(asked * 2, step)
    pair.answer(told * 2, step)
    assert (pair.to_broker, pair.to_client) == (asked * 2, told * 2)
    counts = pair.watch.counts
    assert (counts.fetch_requests, counts.fetched_bytes) == (2, 2 * (len(told) - 4))
    assert (counts.throttle_ms_sum, counts.throttle_ms_max) == (
        2 * throttle_ms,
        throttle_ms,
    )


def test_an_answer_that_names_brokers_tells_its_throttle_time_as_well():
    schema = load_response_schema(PRODUCE, 10)
    node = schema.__annotations__["node_endpoints"].__args__[0]
    told = answer(
        PRODUCE,
        10,
        321,
        node_endpoints=(node(node_id=i32(1), host="broker", port=i32(9), rack=None),),
    )
    pair = Pair(Outlet())
    pair.ask(produce(10))
    pair.answer(told)
    assert pair.watch.counts.throttle_ms_sum == 321
    assert b"proxy" in pair.to_client


def test_what_is_not_answered_is_counted_when_it_is_asked():
    pair = Pair(Outlet())
    pair.ask(produce(10, acks=0))
    assert pair.watch.counts.produce_requests == 1
    assert not pair.line


def test_each_client_id_of_a_connection_counts_for_itself():
    outlet = Outlet()
    pair = Pair(outlet)
    for client_id in (b"a", b"b", b"a", None, b""):
        pair.ask(produce(10, client_id=client_id))
    pair.ask(fetch(11, client_id=b"b"))
    for _ in range(5):
        pair.answer(answer(PRODUCE, 10, 5))
    pair.answer(answer(FETCH, 11, 9))
    outlet.end_time()
    told = {
        dict(one.headers).get("client_id"): json.loads(one.value)["brokers"][0]
        for one in outlet.records
    }
    found = {
        name: (one["produce_requests"], one["fetch_requests"], one["throttle_ms_sum"])
        for name, one in told.items()
    }
    assert found == {b"a": (2, 0, 10), b"b": (1, 1, 14), None: (2, 0, 10)}


def test_client_ids_without_end_are_bounded_and_what_is_lost_is_told():
    outlet = Outlet()
    pair = Pair(outlet)
    for number in range(50):
        pair.ask(produce(10, client_id=b"c%d" % number))
    assert len(pair.watch.by_id) == 4
    outlet.end_time()
    assert len(outlet.records) == 50
    for number in range(70):
        pair.ask(produce(10, client_id=b"d%d" % number))
    outlet.end_time()
    # The first four that made room had counted nothing since the last time.
    assert len(outlet.records) == 50 + (module.MOST_RETIRED - 4) + 4
    assert outlet.counters.lost_traffic_records == 70 - module.MOST_RETIRED


def test_a_record_is_about_all_connections_of_a_client_by_broker():
    outlet = Outlet()
    pairs = [
        Pair(outlet, Client(port, broker_id))
        for port, broker_id in ((1, 1), (2, 1), (3, 2))
    ]
    for pair in pairs:
        pair.ask(produce(10))
    pairs[0].watch.end()
    outlet.end_time()
    (record,) = outlet.records
    assert record.topic == SETTINGS.topics.traffic
    assert record.key == b"User:ANONYMOUS/app"
    headers = dict(record.headers)
    assert headers["cluster_id"] == b"cluster-1"
    assert headers.keys() & module._OF_CONNECTION == set()
    (said,) = outlet.said()
    assert (said["window_start_ms"], said["window_ms"]) == (START_MS, INTERVAL_MS)
    size = len(produce(10)) - 4
    assert [
        (one["broker_id"], one["produced_bytes"], one["connections"])
        for one in said["brokers"]
    ] == [(1, 2 * size, 2), (2, size, 1)]
    # Nobody has done anything since.
    outlet.end_time()
    assert len(outlet.records) == 1
    pairs[1].ask(produce(10))
    outlet.end_time()
    (_, said) = outlet.said()
    assert said["window_start_ms"] == START_MS + 2 * INTERVAL_MS
    assert said["brokers"][0]["produced_bytes"] == size


def test_times_begin_where_the_clock_says_so():
    outlet = Outlet()
    pair = Pair(outlet)
    assert outlet.traffic.pause_ms() == INTERVAL_MS
    # The timer was early, then late.
    for after_ms in (INTERVAL_MS - 5, INTERVAL_MS + 70):
        pair.ask(produce(10))
        outlet.end_time(after_ms)
    assert outlet.traffic.pause_ms() == INTERVAL_MS - 65
    assert [(one["window_start_ms"], one["window_ms"]) for one in outlet.said()] == [
        (START_MS, INTERVAL_MS - 5),
        (START_MS + INTERVAL_MS, INTERVAL_MS + 65),
    ]
    # A clock that steps back makes no time that is empty, and no long pause.
    pair.ask(produce(10))
    outlet.end_time(-10 * INTERVAL_MS)
    assert outlet.said()[-1]["window_ms"] == INTERVAL_MS
    assert 0 < outlet.traffic.pause_ms() <= INTERVAL_MS


def test_what_kafka_does_not_take_comes_again_as_it_was():
    outlet = Outlet()
    pair = Pair(outlet)
    pair.ask(produce(10))
    outlet.takes = False
    outlet.end_time()
    outlet.takes = True
    outlet.end_time()
    (said,) = outlet.said()
    assert said["window_start_ms"] == START_MS
    assert outlet.counters.traffic_records == 1


def test_nothing_is_said_before_it_is_known_about_whom_or_which_cluster():
    outlet = Outlet()
    client = Client()
    client.named = False
    pair = Pair(outlet, client)
    pair.ask(produce(10))
    outlet.end_time()
    assert not outlet.records
    client.named, outlet.cluster.cluster_id = True, None
    outlet.end_time()
    assert not outlet.records
    outlet.cluster.note("cluster-1")
    outlet.end_time()
    assert outlet.said()[0]["brokers"][0]["produce_requests"] == 1


def test_a_client_whose_record_cannot_be_made_ends_nothing():
    outlet = Outlet()
    broken, other = Client(1), Client(2)
    broken.connection.change_identity(
        replace(broken.connection.identity, principal="User:\ud800")
    )
    for client in (broken, other):
        Pair(outlet, client).ask(produce(10))
    outlet.end_time()
    assert [one.key for one in outlet.records] == [b"User:ANONYMOUS/app"]
    assert outlet.counters.lost_traffic_records == 1
    assert [type(one) for one in outlet.failures] == [UnicodeEncodeError]


def test_clients_beyond_the_bound_are_told_of(monkeypatch):
    monkeypatch.setattr(module, "MOST_CLIENTS", 3)
    outlet = Outlet()
    pair = Pair(outlet)
    for number in range(5):
        pair.ask(produce(10, client_id=b"c%d" % number))
    outlet.end_time()
    assert len(outlet.records) == 3
    assert outlet.counters.lost_traffic_records == 2


def test_a_client_id_that_is_a_secret_is_not_written():
    outlet = Outlet()
    pair = Pair(outlet)
    secret = b"password=Fd8x0Kq3vL2"
    pair.ask(produce(10, client_id=secret))
    outlet.end_time()
    (record,) = outlet.records
    assert secret not in repr(record).encode()
