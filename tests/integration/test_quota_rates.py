"""Quotas of the cluster hold at a bridge; the long proof is tests/long/quota_rates.py."""

import asyncio
import time

import pytest

from tests.long import quota_rates
from tests.support.bridge.bridge_support import make_settings, running_bridge
from tests.support.kafka.topics import wait_for
from tests.support.quotas.limited_pushers import (
    SUBSCRIPTION,
    LimitedPusher,
    alter_quotas,
)

THROTTLED = 89
HALF_HOUR_MS = 1_800_000
SOON_S, LEFT_S = 20, 5
SHORT = {"quota": 20_000.0, "seconds": 9.0, "warm": 0.0}


@pytest.fixture
def quotas(kafka):
    """Set quotas for a test, {path: {key: value}}; they are removed behind it."""
    done = []

    def put(by_path):
        done.append(by_path)
        asyncio.run(alter_quotas(kafka.bootstrap_servers, by_path))

    yield put
    for by_path in done:
        put_none = {path: dict.fromkeys(keys) for path, keys in by_path.items()}
        asyncio.run(alter_quotas(kafka.bootstrap_servers, put_none))


def test_pushes_beyond_a_quota_wait_as_long_as_they_are_told(kafka, tmp_path):
    rates = quota_rates.show_endpoint(kafka, tmp_path, **SHORT)
    assert len(rates.delays) > 10
    # In nine seconds what is allowed in them, and the ten that may be used at once.
    assert min(rates.accepted.values()) > 0.8
    assert max(rates.accepted.values()) < 2.4
    # How late a request is taken, and how long data takes, is for a quiet machine.
    said = rates.faults(judges_times=False)
    assert [one for one in said if "of its quota" not in one] == []


def test_behind_the_proxy_pushes_are_refused_and_data_goes_on(kafka):
    proxied = quota_rates.show_proxy(kafka, **SHORT)
    said = proxied.faults(judges_times=False)
    assert [one for one in said if "of the quota" not in one] == []


def test_an_altered_quota_holds_at_once_and_shows_in_metrics(kafka, quotas):
    settings = make_settings(
        kafka, SUBSCRIPTION, "bridge.http_port=0", "bridge.quotas_poll_ms=100"
    )

    async def push(place, count):
        host, port = place.split(":")
        pusher = LimitedPusher("altered", 2_000)
        await pusher.connect(host, int(port))
        told = [(await pusher.push()).throttle_ms for _ in range(count)]
        await pusher.close()
        return told

    with running_bridge(settings) as (server, place):
        assert set(asyncio.run(push(place, 10))) == {0}
        quotas({"clients/altered": {"producer_byte_rate": 1_000}})
        part = server.cluster.quotas
        wait_for(lambda: part._follower._last_quotas, bool)
        assert asyncio.run(push(place, 6))[-1] == pytest.approx(1_500, abs=800)
        (use,) = part.shown_uses()
        assert use.tags == ("", "altered")
        assert use.throttles == 1
        assert use.throttle_ms == pytest.approx(1_500, abs=800)


def test_connections_held_for_a_byte_quota_close_when_their_clients_hang_up(
    kafka, quotas
):
    """Each push of 200 kB is worth half an hour of this quota."""
    quotas({"clients/held": {"producer_byte_rate": 100}})
    settings = make_settings(kafka, SUBSCRIPTION, "bridge.http_port=-1")

    async def push_and_leave(place, counters, count=60):
        host, port = place.split(":")
        pushers = [LimitedPusher("held", 200_000, instances=2) for _ in range(count)]
        for pusher in pushers:
            await pusher.connect(host, int(port))
        first = [await pusher.push() for pusher in pushers]
        later = await pushers[0].push()
        assert counters.open_connections == count
        for pusher in pushers:
            await pusher.close()
        return first, later

    with running_bridge(settings) as (server, place):
        first, later = asyncio.run(push_and_leave(place, server.counters))
        left_s = time.monotonic()
        wait_for(lambda: server.counters.open_connections, lambda count: not count)
        assert time.monotonic() - left_s < LEFT_S
        assert first[0].error_code == 0
        assert first[0].throttle_ms > HALF_HOUR_MS
        assert {one.error_code for one in first[1:]} == {THROTTLED}
        # It was held for a quota window, and then answered.
        assert (later.answered_s - later.sent_s) < SOON_S
        assert later.error_code == THROTTLED
        assert later.throttle_ms > HALF_HOUR_MS


@pytest.mark.parametrize("is_proxied", [False, True])
def test_an_address_gets_no_more_connections_than_it_may(kafka, quotas, is_proxied):
    """Of one a second, over three samples: two are taken at once, the third waits."""
    # Not that of the bridge, whose connections the broker would count.
    source = "127.0.0.2"
    quotas({f"ips/{source}": {"connection_creation_rate": 1}})
    more = ["proxy.enabled=true", "proxy.base_port=0"] if is_proxied else []
    settings = make_settings(
        kafka,
        SUBSCRIPTION,
        "bridge.http_port=-1",
        "bridge.quota_window_num=3",
        *more,
    )

    async def connect(place, counters):
        host, port = place.split(":")
        pushers = [LimitedPusher("many", 10, instances=1) for _ in range(3)]
        began_s = time.monotonic()
        delayed = []
        for pusher in pushers:
            await pusher.connect(host, int(port), source=source)
            delayed.append(counters.delayed_connections)
            await pusher.close()
        return delayed, time.monotonic() - began_s

    with running_bridge(settings) as (server, place):
        proxy = server.proxy
        target = place if proxy is None else proxy.bootstrap_servers
        delayed, took_s = asyncio.run(connect(target, server.counters))
        assert delayed == [0, 0, 1]
        assert took_s > 1.5
