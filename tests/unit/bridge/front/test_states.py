from pipelines.bridge.front.states import (
    PROOFS,
    SERVING,
    TRANSITIONS,
    Event,
    Proof,
    ProofEvent,
    State,
)
from tests.support.state_tables import find_dead_ends, find_unused, reach


def test_every_state_is_reached_and_every_event_happens():
    assert reach(TRANSITIONS, State.NEW) == set(State)
    assert find_unused(TRANSITIONS, Event) == set()
    assert reach(PROOFS, Proof.NONE) == reach(PROOFS, Proof.GIVEN) == set(Proof)
    assert find_unused(PROOFS, ProofEvent) == set()


def test_a_connection_may_be_lost_from_wherever_it_is():
    assert find_dead_ends(TRANSITIONS) == {State.GONE, State.TURNED_AWAY}
    for state in set(State) - {State.NEW, State.GONE, State.TURNED_AWAY}:
        assert TRANSITIONS[state, Event.LOSE] is State.GONE


def test_who_is_admitted_may_be_drained_at_any_time():
    for state in (*SERVING, State.ENDING):
        assert (state, Event.DRAIN) in TRANSITIONS


def test_what_takes_no_requests_never_takes_any_again():
    left = set(State) - {*SERVING, State.NEW}
    for (state, _), target in TRANSITIONS.items():
        assert state not in left or target in left


def test_a_peer_may_end_and_a_connection_be_drained_or_ended_at_any_time_and_twice():
    for state in set(State) - {State.NEW}:
        for event in (Event.PEER_ENDS, Event.DRAIN, Event.END):
            target = TRANSITIONS[state, event]
            assert TRANSITIONS[target, event] is target


def test_a_session_may_end_at_any_time():
    for proof in Proof:
        assert (proof, ProofEvent.SHUT) in PROOFS
