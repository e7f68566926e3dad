"""What a client's connection is in, and what changes that; no I/O.

What is not in a table cannot happen, or is a fault of ours.
"""

from enum import Enum, auto


class State(Enum):
    """How far a connection is."""

    NEW = auto()
    TURNED_AWAY = auto()
    OPEN = auto()
    DRAINING = auto()
    """Closes as soon as nothing is owed and nothing half received."""
    PEER_OVER = auto()
    """The peer sends no more; what came whole is answered."""
    ENDING = auto()
    """Takes no more requests, and closes behind the replies before."""
    GONE = auto()


class Event(Enum):
    """What happens to a connection."""

    ADMIT = auto()
    TURN_AWAY = auto()
    DRAIN = auto()
    PEER_ENDS = auto()
    END = auto()
    LOSE = auto()


class Proof(Enum):
    """Whether a client has proved who it is."""

    NONE = auto()
    CHECKING = auto()
    """Elsewhere; nothing is served until the verdict."""
    GIVEN = auto()


class ProofEvent(Enum):
    """What happens to a proof."""

    CHECK = auto()
    VERDICT = auto()
    ACCEPT = auto()
    SHUT = auto()


READING = (State.OPEN, State.DRAINING)
"""States in which more may come."""
SERVING = (*READING, State.PEER_OVER)
"""States in which requests are taken."""
TRANSITIONS = {
    (State.NEW, Event.ADMIT): State.OPEN,
    (State.NEW, Event.TURN_AWAY): State.TURNED_AWAY,
    (State.TURNED_AWAY, Event.LOSE): State.TURNED_AWAY,
    (State.OPEN, Event.DRAIN): State.DRAINING,
    (State.OPEN, Event.PEER_ENDS): State.PEER_OVER,
    (State.OPEN, Event.END): State.ENDING,
    (State.OPEN, Event.LOSE): State.GONE,
    (State.DRAINING, Event.DRAIN): State.DRAINING,
    (State.DRAINING, Event.PEER_ENDS): State.PEER_OVER,
    (State.DRAINING, Event.END): State.ENDING,
    (State.DRAINING, Event.LOSE): State.GONE,
    # A peer that is over is drained already.
    (State.PEER_OVER, Event.DRAIN): State.PEER_OVER,
    # TLS says so, and then TCP; asyncio does whenever it is read again.
    (State.PEER_OVER, Event.PEER_ENDS): State.PEER_OVER,
    (State.PEER_OVER, Event.END): State.ENDING,
    (State.PEER_OVER, Event.LOSE): State.GONE,
    (State.ENDING, Event.DRAIN): State.ENDING,
    (State.ENDING, Event.PEER_ENDS): State.ENDING,
    (State.ENDING, Event.END): State.ENDING,
    (State.ENDING, Event.LOSE): State.GONE,
    # What comes behind the end changes nothing.
    **{
        (state, event): state
        for state in (State.TURNED_AWAY, State.GONE)
        for event in (Event.DRAIN, Event.PEER_ENDS, Event.END)
    },
}
PROOFS = {
    (Proof.NONE, ProofEvent.CHECK): Proof.CHECKING,
    (Proof.NONE, ProofEvent.ACCEPT): Proof.GIVEN,
    (Proof.CHECKING, ProofEvent.VERDICT): Proof.NONE,
    (Proof.GIVEN, ProofEvent.SHUT): Proof.NONE,
    # A session that has ended and begins again.
    (Proof.NONE, ProofEvent.SHUT): Proof.NONE,
    # The end of a session whose next proof is being checked.
    (Proof.CHECKING, ProofEvent.SHUT): Proof.CHECKING,
}
