from pipelines.bridge.proxy.rules.states import TRANSITIONS, Event, State
from tests.support.state_tables import find_dead_ends, find_unused, reach

ENDED = {State.GONE, State.TURNED_AWAY}


def test_every_state_is_reached_and_every_event_happens():
    assert reach(TRANSITIONS, State.NEW) == set(State)
    assert find_unused(TRANSITIONS, Event) == set()


def test_a_pair_may_lose_both_sides_from_wherever_it_is():
    assert find_dead_ends(TRANSITIONS) == ENDED
    for state in set(State) - {State.NEW} - ENDED:
        assert TRANSITIONS[state, Event.LOSE_BOTH] is State.GONE
        assert TRANSITIONS[state, Event.DRAIN] is State.DRAINING


def test_a_broker_that_comes_too_late_changes_nothing():
    assert TRANSITIONS[State.GONE, Event.LOSE_BROKER] is State.GONE


def test_a_client_may_end_and_a_pair_be_drained_at_any_time_and_twice():
    for state in set(State) - {State.NEW}:
        for event in (Event.CLIENT_ENDS, Event.DRAIN):
            target = TRANSITIONS[state, event]
            assert TRANSITIONS[target, event] is target
