"""Connections that only push outlive the idle limit of their brokers."""

import asyncio

import pytest

from tests.long import proxy_idle as idle
from tests.support.bridge.proxy_support import find_servers

IDLE_MS, SESSION_MS = 2_500, 10_000
PUSHES = {"often": 20, "seldom": 3, "rare": 2}


@pytest.fixture(scope="module")
def bridges(java):
    often = "proxy.keep_alive_interval_ms=500"
    with idle.idle_bridges(java, IDLE_MS, SESSION_MS, often) as bridges:
        yield bridges


async def live(servers):
    """Let clients push until all have pushed enough, or one is cut off."""
    site = idle.Site(*map(find_servers, servers))
    async with asyncio.timeout(idle.PATIENCE_S), site.living():
        # One that says nothing more is cut off: the limit is in force.
        await site.fallen_silent
        while any(len(one.pushed) < PUSHES[one.name] for one in site.pushing):
            done, _ = await asyncio.wait(site.tasks, timeout=0.1)
            assert not done
    return site


@pytest.mark.long
def test_no_push_is_lost_whatever_the_interval_and_the_silent_are_cut_off(bridges):
    kafka, settings, servers = bridges
    site = asyncio.run(live(servers))
    stored = idle.count_stored(kafka, settings.topics.telemetry)
    lines, lost, refused = idle.judge(site.pushing, stored)
    assert (lost, refused) == (0, 0), lines
    assert not any(one.is_cut for one in site.pushing), lines
    assert site.silent.is_cut
    assert all(one.counters.keep_alive_requests for one in servers)
