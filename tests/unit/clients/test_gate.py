"""Calls run side by side; a change begins only when no other call can run callbacks."""

import threading

from pipelines.clients.gate import Gate

PATIENCE_S = 10


class Caller(threading.Thread):
    """A call that stays inside until it may go; then it makes a nested call."""

    def __init__(self, gate, *, is_serving):
        super().__init__()
        self.gate, self.is_serving = gate, is_serving
        self.is_inside, self.may_go = threading.Event(), threading.Event()
        self.has_nested = False

    def run(self):
        with self.gate.serving() if self.is_serving else self.gate:
            self.is_inside.set()
            assert self.may_go.wait(PATIENCE_S)
            # As a callback that uses its client.
            with self.gate:
                self.has_nested = self.gate.is_in_callback()


def start_inside(gate, *, is_serving):
    caller = Caller(gate, is_serving=is_serving)
    caller.start()
    assert caller.is_inside.wait(PATIENCE_S)
    return caller


def test_gate_serving_call_inside_is_waited_for():
    gate = Gate()
    caller = start_inside(gate, is_serving=True)
    threading.Timer(0.05, caller.may_go.set).start()
    with gate.serving(), gate.alone() as is_alone:
        assert is_alone
        assert caller.has_nested
    caller.join()


def test_gate_serving_call_that_blocks_stops_the_change_and_no_other_call(monkeypatch):
    monkeypatch.setattr("pipelines.clients.gate.PATIENCE_S", 0.05)
    gate = Gate()
    caller = start_inside(gate, is_serving=True)
    with gate.serving(), gate.alone() as is_alone:
        assert not is_alone
        others = [start_inside(gate, is_serving=kind) for kind in (True, False)]
    for one in (caller, *others):
        one.may_go.set()
        one.join()


def test_gate_change_that_waits_for_a_callback_keeps_short_calls_going(monkeypatch):
    """A callback may need a lock that is held around produce."""
    monkeypatch.setattr("pipelines.clients.gate.PATIENCE_S", PATIENCE_S)
    gate = Gate()
    caller = start_inside(gate, is_serving=True)
    outcome = []

    def change():
        with gate.serving(), gate.alone() as is_alone:
            outcome.append(is_alone)

    changing = threading.Thread(target=change)
    changing.start()
    while not gate._is_wanted:
        pass
    short = start_inside(gate, is_serving=False)
    short.may_go.set()
    short.join(PATIENCE_S)
    assert short.has_nested
    assert outcome == []
    caller.may_go.set()
    changing.join(PATIENCE_S)
    assert outcome == [True]


def test_gate_call_during_a_change_waits_for_its_end():
    for is_serving in (True, False):
        gate = Gate()
        caller = Caller(gate, is_serving=is_serving)
        with gate.serving():
            with gate.alone():
                caller.start()
                assert not caller.is_inside.wait(0.05)
                with gate:
                    assert gate.is_in_callback()
            assert caller.is_inside.wait(PATIENCE_S)
            caller.may_go.set()
            caller.join()


def test_gate_second_change_is_refused():
    gate = Gate()
    with gate.serving(), gate.alone() as first, gate.alone() as second:
        assert (first, second) == (True, False)
