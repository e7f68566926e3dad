"""What a pair of connections is in, and what changes that; no I/O.

What is not in the table cannot happen, or is a fault of ours.
"""

from enum import Enum, auto


class State(Enum):
    """How far a pair is."""

    NEW = auto()
    TURNED_AWAY = auto()
    OPEN = auto()
    CLIENT_OVER = auto()
    """The client sends no more; answers still come."""
    DRAINING = auto()
    """Closes as soon as nothing is owed to the client and nothing half received."""
    BROKER_OVER = auto()
    """The broker is gone; replies of ours before that are still written."""
    GONE = auto()


class Event(Enum):
    """What happens to a pair."""

    ADMIT = auto()
    TURN_AWAY = auto()
    CLIENT_ENDS = auto()
    DRAIN = auto()
    LOSE_BROKER = auto()
    LOSE_BOTH = auto()


TRANSITIONS = {
    (State.NEW, Event.ADMIT): State.OPEN,
    (State.NEW, Event.TURN_AWAY): State.TURNED_AWAY,
    (State.OPEN, Event.CLIENT_ENDS): State.CLIENT_OVER,
    (State.OPEN, Event.DRAIN): State.DRAINING,
    (State.OPEN, Event.LOSE_BROKER): State.BROKER_OVER,
    (State.OPEN, Event.LOSE_BOTH): State.GONE,
    (State.CLIENT_OVER, Event.DRAIN): State.DRAINING,
    (State.CLIENT_OVER, Event.LOSE_BROKER): State.BROKER_OVER,
    (State.CLIENT_OVER, Event.LOSE_BOTH): State.GONE,
    (State.DRAINING, Event.CLIENT_ENDS): State.DRAINING,
    (State.DRAINING, Event.DRAIN): State.DRAINING,
    (State.DRAINING, Event.LOSE_BROKER): State.BROKER_OVER,
    (State.DRAINING, Event.LOSE_BOTH): State.GONE,
    (State.BROKER_OVER, Event.CLIENT_ENDS): State.BROKER_OVER,
    (State.BROKER_OVER, Event.DRAIN): State.DRAINING,
    (State.BROKER_OVER, Event.LOSE_BOTH): State.GONE,
    # One that was being connected to when its client went.
    (State.GONE, Event.LOSE_BROKER): State.GONE,
    # asyncio says so again whenever its side is read again.
    (State.CLIENT_OVER, Event.CLIENT_ENDS): State.CLIENT_OVER,
    # What comes behind the end changes nothing.
    **{
        (state, event): state
        for state in (State.TURNED_AWAY, State.GONE)
        for event in (Event.CLIENT_ENDS, Event.DRAIN)
    },
}
