from pipelines.bridge.front.delays import Delays


class Timer:
    def __init__(self, timers, due_s, step):
        self._timers, self._due_s, self.step = timers, due_s, step

    def when(self):
        return self._due_s

    def cancel(self):
        self._timers.remove(self)


class Clock:
    """A loop whose timers the test runs."""

    def __init__(self):
        self.now_s = 0.0
        self.timers = []
        self.done = []
        self.delays = Delays(self._call_at, lambda: self.now_s, lambda step: step())

    def _call_at(self, due_s, step):
        self.timers.append(Timer(self.timers, due_s, step))
        return self.timers[-1]

    def push(self, due_s):
        return self.delays.push(due_s, lambda: self.done.append(due_s))

    def run_until(self, now_s):
        while due := [one for one in self.timers if one.when() <= now_s]:
            first = min(due, key=Timer.when)
            first.cancel()
            self.now_s = max(self.now_s, first.when())
            first.step()
        self.now_s = now_s


def test_what_waits_is_done_in_its_time_with_one_timer():
    clock = Clock()
    for due_s in range(1, 1_001):
        clock.push(float(due_s))
    assert len(clock.timers) == 1
    clock.run_until(2.5)
    assert clock.done == [1.0, 2.0]
    assert len(clock.timers) == 1
    clock.run_until(1_000.0)
    assert clock.done == [float(one) for one in range(1, 1_001)]
    assert len(clock.delays) == 0
    assert clock.timers == []


def test_what_is_due_earlier_does_not_wait_for_what_came_first():
    clock = Clock()
    for due_s in (10.0, 5.0, 1.0):
        clock.push(due_s)
        assert len(clock.timers) == 1
    clock.run_until(4.0)
    assert clock.done == [1.0]
    assert len(clock.timers) == 1
    clock.run_until(10.0)
    assert clock.done == [1.0, 5.0, 10.0]
    assert clock.timers == []


def test_a_timer_that_comes_early_is_set_again():
    clock = Clock()
    clock.push(1.0)
    timer = clock.timers.pop()
    clock.now_s = 0.999
    timer.step()
    assert clock.done == []
    clock.run_until(1.0)
    assert clock.done == [1.0]


def test_what_is_given_up_is_not_done_and_leaves_no_place():
    clock = Clock()
    kept = [clock.push(50.0 + one) for one in range(10)]
    for _ in range(10_000):
        clock.delays.give_up(clock.push(1_000.0))
    assert len(clock.delays) == len(kept)
    assert len(clock.delays._waiting) < 200
    clock.delays.give_up(kept[0])
    clock.delays.give_up(kept[0])
    clock.run_until(2_000.0)
    assert clock.done == [50.0 + one for one in range(1, 10)]
