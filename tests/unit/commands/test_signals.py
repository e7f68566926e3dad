"""A signal that comes while a JVM starts waits until the JVM can be ended."""

import logging
import signal

import pytest

from pipelines.commands import session
from pipelines.commands.session import held_signals


@pytest.fixture
def usual():
    """Python's own answer to Ctrl-C, whatever this process was started with."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)
    logging.disable(logging.NOTSET)


def test_a_signal_waits_for_the_end_of_the_block(usual):
    done = []

    def start_jvm():
        with held_signals():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")

    with pytest.raises(KeyboardInterrupt):
        start_jvm()
    assert done == ["the rest of the block"]
    assert signal.getsignal(signal.SIGINT) is usual


def test_what_the_block_raises_and_the_usual_handlers_stay(usual):
    with pytest.raises(OSError, match="no JVM"), held_signals():
        raise OSError("no JVM")
    assert signal.getsignal(signal.SIGINT) is usual


class CutOffSession:
    """A session of Spark whose JVM answers what was asked before."""

    @property
    def sparkContext(self):  # noqa: N802 - Spark's
        raise TypeError("an answer to something else")

    def stop(self):
        raise TypeError("an answer to something else")


@pytest.mark.usefixtures("usual")
def test_what_a_cut_off_jvm_answers_does_not_take_the_place_of_the_interrupt(
    monkeypatch,
):
    monkeypatch.setattr(session, "start_session", lambda _name: CutOffSession())
    monkeypatch.setattr(session, "leave_interrupts_to_python", lambda _spark: None)
    with (
        pytest.raises(KeyboardInterrupt),
        session.submitted_session("job", is_verbose=False),
    ):
        raise KeyboardInterrupt
