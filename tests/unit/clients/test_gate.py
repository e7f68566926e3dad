"""Calls side by side, and a change that waits until it is alone."""

import threading

from pipelines.clients.gate import Gate

PATIENCE_S = 10


class Caller(threading.Thread):
    """A call that stays inside until it is let go; then it calls once more."""

    def __init__(self, gate):
        super().__init__()
        self.gate, self.is_inside, self.may_go = (
            gate,
            threading.Event(),
            threading.Event(),
        )
        self.has_nested = False

    def run(self):
        with self.gate:
            self.is_inside.set()
            assert self.may_go.wait(PATIENCE_S)
            # As a callback that uses its client.
            with self.gate:
                self.has_nested = self.gate.is_in_callback()


def test_who_is_inside_goes_on_and_is_waited_for():
    gate = Gate()
    caller = Caller(gate)
    caller.start()
    assert caller.is_inside.wait(PATIENCE_S)
    threading.Timer(0.05, caller.may_go.set).start()
    with gate, gate.alone(PATIENCE_S) as is_alone:
        assert is_alone
        assert caller.has_nested
    caller.join()


def test_who_does_not_come_out_stops_the_change_and_nobody_else():
    gate = Gate()
    caller = Caller(gate)
    caller.start()
    assert caller.is_inside.wait(PATIENCE_S)
    with gate, gate.alone(0.01) as is_alone:
        assert not is_alone
        other = Caller(gate)
        other.start()
        assert other.is_inside.wait(PATIENCE_S)
    for one in (caller, other):
        one.may_go.set()
        one.join()


def test_who_comes_during_a_change_waits_for_its_end():
    gate = Gate()
    caller = Caller(gate)
    with gate:
        with gate.alone(PATIENCE_S):
            caller.start()
            assert not caller.is_inside.wait(0.05)
            with gate:
                assert gate.is_in_callback()
        assert caller.is_inside.wait(PATIENCE_S)
        caller.may_go.set()
        caller.join()


def test_one_change_at_a_time():
    gate = Gate()
    with gate, gate.alone(PATIENCE_S) as first, gate.alone(PATIENCE_S) as second:
        assert (first, second) == (True, False)
