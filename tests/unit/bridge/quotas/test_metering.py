"""What pushes cost, by a clock that the test moves."""

import struct
from types import SimpleNamespace

import pytest

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection, ServedRequest, make_identity
from pipelines.bridge.protocol.push_config import PushConfigRequest, push_config_api
from pipelines.bridge.protocol.push_telemetry import PUSH_TELEMETRY_API, PushRequest
from pipelines.bridge.protocol.replies import encode_push_reply
from pipelines.bridge.protocol.requests import Request
from pipelines.bridge.quotas.limits import QuotaLimits, SetQuota
from pipelines.bridge.quotas.metering import QuotaMeter
from pipelines.bridge.quotas.rates import MAX_WAIT_MS, QuotaWindows
from pipelines.bridge.quotas.shares import MAX_CLAIMS, ClientQuotas

PUSH, CONFIG, MS = 72, 10_071, 1_000_000
BYTES, TIME = "producer_byte_rate", "request_percentage"


def quota(value, key=BYTES, **names):
    entity = tuple((kind.replace("_", "-"), name) for kind, name in names.items())
    return SetQuota(entity, key, float(value))


class Site:
    """A meter, and a handler of pushes that answers when it is told to."""

    def __init__(self, *quotas, push_key=BYTES, took_ms=0):
        self.now_ns = 10**15
        self.took_ms = took_ms
        self.counters = BridgeCounters()
        self.quotas = ClientQuotas(QuotaWindows(), push_key)
        self.quotas.update(QuotaLimits(quotas))
        self.meter = QuotaMeter(
            self.quotas, self.counters, lambda: self.now_ns, push_config_key=CONFIG
        )
        self.handled, self.waits_ms, self.is_lifted = [], [], None
        api = push_config_api(CONFIG, 100)
        self._served = {
            PUSH: self.meter.meter(
                ServedRequest(
                    api=PUSH_TELEMETRY_API, handle=self._handle, take_push=self._take
                )
            ),
            CONFIG: self.meter.meter(ServedRequest(api=api, handle=self._handle)),
        }

    def connect(self, client_id="c", user="alice", *, is_proxied=False):
        connection = Connection(
            connection_id=1, identity=make_identity("L", "10.0.0.1", 1)
        )
        connection.identity = SimpleNamespace(
            principal=f"User:{user}", client_id=client_id
        )
        if not is_proxied:
            connection.holder = SimpleNamespace(hold_back=self._hold_back)
        return connection

    def push(self, connection, size=1_000, *, fast=True):
        """Return what a push is told: (throttle time, error code)."""
        body, replies = PushRequest(b"i" * 16, 1, False, 0, bytes(size)), []
        if fast:
            self._served[PUSH].take_push(7, body, connection, replies.append)
        else:
            request = Request(PUSH, 0, 7, "c", True, body)
            self._served[PUSH].handle(request, connection, replies.append)
        (reply,) = replies
        assert struct.unpack_from(">i", reply)[0] == len(reply) - 4
        return struct.unpack_from(">ih", reply, 9)

    def push_config(self, connection, size=1_000):
        body, replies = PushConfigRequest(configs=(), body_bytes=size), []
        request = Request(CONFIG, 0, 7, "c", True, body)
        self._served[CONFIG].handle(request, connection, replies.append)
        return struct.unpack_from(">ih", replies[0], 9)

    def _hold_back(self, wait_ms, is_lifted):
        self.waits_ms.append(wait_ms)
        self.is_lifted = is_lifted

    def later(self, ms):
        self.now_ns += ms * MS

    def _handle(self, request, connection, reply):
        self._take(request.correlation_id, request.body, connection, reply)

    def _take(self, correlation_id, body, _connection, reply):
        self.handled.append(body)
        self.later(self.took_ms)
        reply(encode_push_reply(correlation_id, 0))


@pytest.mark.parametrize("fast", [True, False])
def test_bytes_beyond_the_limit_are_told_at_once_and_the_connection_is_held(fast):
    site = Site(quota(1_000, user="alice"))
    connection = site.connect()
    told = [site.push(connection, fast=fast) for _ in range(12)]
    assert told == [(0, 0)] * 10 + [(1_000, 0), (2_000, 0)]
    assert site.waits_ms == [1_000, 2_000]
    assert site.counters.quota_throttled_answers == 2


@pytest.mark.parametrize("fast", [True, False])
def test_push_after_capped_hold_is_refused_until_the_told_time_is_over(fast):
    site = Site(quota(1_000, user="alice"))
    connection = site.connect()
    assert site.push(connection, 40_000, fast=fast) == (30_000, 0)
    # A connection is held for one quota window at most, whatever is told.
    site.later(11_000)
    assert site.push(connection, fast=fast) == (19_000, 89)
    assert site.push(site.connect("c2"), fast=fast) == (19_000, 89)
    assert site.push_config(connection) == (19_000, 89)
    assert site.waits_ms == [11_000] * 4
    assert len(site.handled) == 1
    assert site.counters.quota_refused_pushes == 2
    site.later(19_000)
    assert site.push(connection, 1, fast=fast)[1] == 0
    assert len(site.handled) == 2


def test_hold_and_refusal_end_when_the_limit_changes():
    site = Site(quota(1, user="alice"))
    connection = site.connect()
    site.push(connection, 40_000)
    assert not site.is_lifted()
    assert site.push(connection)[1] == 89
    site.quotas.update(QuotaLimits([quota(1_000_000, user="alice")]))
    assert site.is_lifted()
    assert site.push(connection) == (0, 0)


@pytest.mark.parametrize("limit", ["nan", "inf", 1e-320, 0])
@pytest.mark.parametrize("key", [BYTES, TIME])
@pytest.mark.parametrize("is_proxied", [False, True])
def test_push_is_answered_whatever_number_the_quota_is(limit, key, is_proxied):
    site = Site(quota(limit, key, user="alice"), took_ms=100)
    connection = site.connect(is_proxied=is_proxied)
    told = [site.push(connection, 100_000, fast=not is_proxied) for _ in range(2)]
    # Time that a push has taken is recorded with the next answer.
    throttle_ms, error_code = told[0 if key == BYTES else 1]
    assert error_code == 0
    longest_ms = MAX_WAIT_MS if key == BYTES else QuotaWindows().window_ms
    assert throttle_ms == (longest_ms if limit == 1e-320 else 0)


def test_a_client_without_a_limit_is_not_metered():
    site = Site(quota(1, user="bob"))
    connection = site.connect()
    assert [site.push(connection, 10**6) for _ in range(3)] == [(0, 0)] * 3
    assert connection.quotas.is_free
    assert list(site.quotas.uses(0, 9)) == []


def test_clients_of_a_quota_id_share_it_and_others_do_not():
    site = Site(quota(1_000, user="alice"), quota(1_000, user="bob"))
    first, second = site.connect("c1"), site.connect("c2")
    for _ in range(5):
        assert site.push(first) == site.push(second) == (0, 0)
    assert site.push(second) == (1_000, 0)
    assert site.push(site.connect(user="bob")) == (0, 0)


def test_configurations_count_and_gets_do_not():
    site = Site(quota(1_000, user="alice"))
    connection = site.connect()
    assert site.push_config(connection, 10_000) == (0, 0)
    assert site.push_config(connection, 1_000) == (1_000, 0)


def test_an_empty_name_of_the_key_counts_no_bytes():
    site = Site(quota(1, user="alice"), push_key="")
    assert site.push(site.connect(), 10**6) == (0, 0)


def test_handling_time_counts_for_no_longer_than_a_window():
    site = Site(quota(10, TIME, user="alice"), took_ms=100)
    connection = site.connect()
    told = [site.push(connection)[0] for _ in range(30)]
    # A thread's tenth for ten seconds is one second: ten handlers of 100 ms.
    assert told[:11] == [0] * 11
    assert told[15] > 0
    assert max(told) == 1_000


def test_time_of_one_request_is_not_anothers_as_well():
    site = Site(quota(100, TIME, user="alice"))
    connection, seen = site.connect(), []

    def outer(correlation_id, _body, _connection, reply):
        site.later(10)
        site.push(connection)
        site.later(10)
        reply(encode_push_reply(correlation_id, 0))

    inner = site.meter.meter(
        ServedRequest(api=PUSH_TELEMETRY_API, handle=None, take_push=outer)
    )
    body = PushRequest(b"i" * 16, 1, False, 0, b"abc")
    site.took_ms = 5
    inner.take_push(7, body, connection, seen.append)
    assert len(seen) == 1
    # The 5 ms were recorded with the outer answer, and are nobody's a second time.
    assert connection.quotas.spent_ns == 20 * MS


def test_behind_the_proxy_pushes_are_refused_until_the_time_is_over():
    site = Site(quota(1_000, user="alice"))
    connection = site.connect(is_proxied=True)
    assert site.push(connection, 12_000, fast=False) == (2_000, 0)
    site.later(500)
    assert site.push(connection, fast=False) == (1_500, 89)
    assert site.push_config(connection) == (1_500, 89)
    assert len(site.handled) == 1
    assert site.counters.quota_refused_pushes == 1
    site.later(1_500)
    assert site.push(connection, 1, fast=False)[1] == 0
    assert len(site.handled) == 2
    assert site.waits_ms == []


def test_what_was_used_is_seen_by_its_tags():
    site = Site(quota(1_000, user="alice"))
    connection = site.connect()
    site.push(connection, 11_000)
    claim = connection.quotas
    assert claim.push.throttles == 1
    (use,) = site.quotas.uses(site.now_ns // MS, 9)
    assert use.throttle_ms == 1_000
    assert use.tags == ("alice", "")


def test_client_id_that_a_quota_names_is_told_apart_from_any_other():
    site = Site(quota(1_000, client_id="own"), quota(1_000, client_id=None))
    for client_id in ("own", "any"):
        site.push(site.connect(client_id), 10)
    uses = site.quotas.uses(site.now_ns // MS, 9)
    assert {use.tags.client_id: use.is_named for use in uses} == {
        "own": True,
        "any": False,
    }


def test_another_limit_is_in_force_with_the_next_push():
    site = Site(quota(1_000, user="alice"))
    connection = site.connect()
    site.push(connection, 10_000)
    site.quotas.update(QuotaLimits([quota(500, user="alice")]))
    assert site.push(connection, 1)[0] > 10_000
    site.quotas.update(QuotaLimits())
    assert site.push(connection, 10**6) == (0, 0)


def test_what_was_used_is_known_when_a_client_comes_back():
    site = Site(quota(1_000, user="alice"))
    assert site.push(site.connect(), 10_000) == (0, 0)
    site.quotas.update(QuotaLimits([quota(1_000, user="alice"), quota(9, user="x")]))
    assert site.push(site.connect(), 1_000) == (1_000, 0)


def test_who_had_to_wait_is_shown_first_and_then_who_uses_most():
    site = Site(*(quota(1_000, user=name) for name in "abcd"))
    for name, size in (("a", 10), ("b", 5_000), ("c", 11_000), ("d", 10)):
        site.push(site.connect(user=name), size)
    shown = site.quotas.uses(site.now_ns // MS, 3)
    assert [use.tags.user for use in shown][:2] == ["c", "b"]
    assert len(list(site.quotas.uses(site.now_ns // MS, 3))) == 3


def test_however_many_clients_come_few_are_kept():
    site = Site(quota(1_000, client_id=None))
    for number in range(MAX_CLAIMS + 500):
        site.push(site.connect(f"c{number}"), 1)
    assert len(site.quotas) == MAX_CLAIMS
