"""How many connections a bridge takes, and whether its start warns of them."""

from dataclasses import replace

import pytest

from pipelines.bridge.front.acceptor import bound_connections
from pipelines.settings import load_settings

LIMITS = load_settings("base", []).limits


@pytest.mark.parametrize("most", [9_950, 19_900])
def test_default_of_connections_is_lowered_without_a_warning(caplog, most):
    assert bound_connections(LIMITS, most).max_connections == most
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("limits", "most"),
    [(replace(LIMITS, max_connections=30_000), 19_900), (LIMITS, 924)],
)
def test_connections_that_somebody_misses_are_warned_of(caplog, limits, most):
    assert bound_connections(limits, most).max_connections == most
    (warning,) = caplog.messages
    assert f"from {limits.max_connections} to {most}" in warning
    assert "ulimit -n" in warning


def test_limit_that_the_process_can_keep_stays_as_it_is(caplog):
    assert bound_connections(LIMITS, LIMITS.max_connections) is LIMITS
    assert caplog.messages == []
