"""Room for answers that are held whole: bound, order, release and stalled holders."""

from pipelines.bridge.proxy.rules.answer_room import MIN_PROGRESS_BYTES, AnswerRoom

LIMIT = 1_000
STALL_S = 30


class Holder:
    def __init__(self, name):
        self.name = name
        self.granted = 0
        self.open_bytes = 10 * MIN_PROGRESS_BYTES

    def __repr__(self):
        return self.name

    def take_room(self):
        self.granted += 1


class Clock:
    s = 0.0


def make_room():
    clock = Clock()
    return clock, AnswerRoom(LIMIT, stall_s=STALL_S, now_s=lambda: clock.s)


def test_room_answers_within_the_limit_are_held_at_once():
    _, room = make_room()
    a, b = Holder("a"), Holder("b")
    room.take(a, 400)
    room.take(b, 600)
    assert (a.granted, b.granted) == (1, 1)
    assert room.held_bytes == LIMIT


def test_room_answer_beyond_the_limit_waits_until_room_is_given_back():
    _, room = make_room()
    a, b = Holder("a"), Holder("b")
    room.take(a, 600)
    room.take(b, 600)
    assert room.is_waiting(b)
    assert not b.granted
    room.take(a, 0)
    assert b.granted
    assert not room.is_waiting(b)
    assert room.held_bytes == 600


def test_room_answer_larger_than_the_limit_is_held_alone():
    _, room = make_room()
    a, b, c = Holder("a"), Holder("b"), Holder("c")
    room.take(a, 1)
    room.take(b, 5 * LIMIT)
    assert room.is_waiting(b)
    # A small answer that came later does not overtake it.
    room.take(c, 1)
    assert room.is_waiting(c)
    room.take(a, 0)
    assert b.granted
    assert room.is_waiting(c)
    room.take(b, 0)
    assert c.granted


def test_room_holder_that_leaves_the_queue_lets_the_next_one_in():
    _, room = make_room()
    a, b, c = Holder("a"), Holder("b"), Holder("c")
    room.take(a, 600)
    room.take(b, 600)
    room.take(c, 400)
    room.take(b, 0)
    assert c.granted
    assert not b.granted


def test_room_same_answer_taken_twice_counts_once():
    _, room = make_room()
    a = Holder("a")
    room.take(a, 600)
    room.take(a, 600)
    assert (a.granted, room.held_bytes) == (1, 600)
    room.take(a, 300)
    assert (a.granted, room.held_bytes) == (2, 300)


def test_find_stalled_holder_without_progress_is_found_when_others_wait():
    clock, room = make_room()
    a, b = Holder("a"), Holder("b")
    room.take(a, 600)
    assert room.find_stalled() == []
    clock.s += 2 * STALL_S
    # Nobody waits: it disturbs nobody.
    assert room.find_stalled() == []
    room.take(b, 600)
    assert room.find_stalled() == []
    clock.s += STALL_S
    a.open_bytes -= MIN_PROGRESS_BYTES - 1
    assert room.find_stalled() == [a]


def test_find_stalled_holder_with_progress_is_kept():
    clock, room = make_room()
    a, b = Holder("a"), Holder("b")
    room.take(a, 600)
    room.take(b, 600)
    for _ in range(5):
        assert room.find_stalled() == []
        clock.s += STALL_S
        a.open_bytes -= MIN_PROGRESS_BYTES
    # Its next answer begins.
    a.open_bytes *= 100
    assert room.find_stalled() == []


def test_find_stalled_holder_too_slow_for_its_answer_is_found_when_others_wait():
    clock, room = make_room()
    a, b = Holder("a"), Holder("b")
    a.open_bytes = size = 64 * MIN_PROGRESS_BYTES
    room.take(a, size)
    room.take(b, 1)
    assert room.find_stalled() == []
    clock.s += STALL_S
    a.open_bytes -= 2 * MIN_PROGRESS_BYTES
    assert room.find_stalled() == [a]
    a.open_bytes -= 2 * MIN_PROGRESS_BYTES
    assert room.find_stalled() == []
