import pytest

from tests.long import proxy_kills

KILLS = 2


@pytest.mark.long
def test_clients_recover_from_a_proxy_that_is_killed_and_lose_nothing():
    acknowledged, stored, read, _pushes = proxy_kills.run(KILLS)
    assert acknowledged
    assert set(acknowledged) <= set(stored)
    assert len(stored) == len(set(stored))
    assert read
