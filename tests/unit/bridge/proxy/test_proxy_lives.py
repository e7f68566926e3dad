"""A part of the lives that `python tests/fuzz/proxy.py` lives, on both loops."""

import asyncio
import secrets

import pytest
import uvloop

from tests.fuzz import proxy_lives

LIVES = 300


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_no_frame_is_lost_harmed_or_mixed_up(run):
    seen = run(proxy_lives.run(secrets.randbelow(10**9), LIVES))
    assert sum(seen.lives.values()) == LIVES
    assert seen.lives[proxy_lives.WHOLE] > 0
    assert seen.own_answers > 0
