from collections import deque

import pytest

from pipelines.bridge.front.turn_queue import TURN_S, TurnQueue


class Loop:
    """An event loop that takes one turn when told."""

    def __init__(self):
        self.ready = deque()
        self.now_s = 0.0
        self.queue = TurnQueue(self.ready.append, lambda: self.now_s)

    def turn(self):
        for _ in range(len(self.ready)):
            self.ready.popleft()()


def test_steps_are_done_in_order_and_a_turn_has_an_end():
    loop, done = Loop(), []

    def step(number):
        loop.now_s += TURN_S / 2
        done.append(number)

    for number in range(5):
        loop.queue.push(lambda number=number: step(number))
    assert len(loop.ready) == 1
    turns = []
    while loop.ready:
        loop.turn()
        turns.append(list(done))
    assert turns == [[0, 1], [0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert len(loop.queue) == 0


def test_what_a_step_pushes_waits_for_the_next_turn():
    loop, done = Loop(), []
    loop.queue.push(lambda: loop.queue.push(lambda: done.append("late")))
    loop.turn()
    assert done == []
    loop.turn()
    assert done == ["late"]


def test_a_step_that_fails_does_not_stop_those_behind_it():
    loop, done = Loop(), []
    loop.queue.push(lambda: 1 // 0)
    loop.queue.push(lambda: done.append("next"))
    with pytest.raises(ZeroDivisionError):
        loop.turn()
    loop.turn()
    assert done == ["next"]
