"""Progress of a command that takes longer than a few seconds, on standard error."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

QUIET_S = 3.0
"""A step that ends sooner is not reported."""
REPEAT_S = 30.0
"""Time between two lines about a step that is still running."""
_STARTED = time.monotonic()


def report_progress(text: str) -> None:
    """Print one line with the time since the start of this process."""
    elapsed_s = time.monotonic() - _STARTED
    print(f"[{elapsed_s:4.0f} s] {text}", file=sys.stderr, flush=True)


@contextmanager
def progress_of(
    text: str, *, quiet_s: float = QUIET_S, repeat_s: float = REPEAT_S
) -> Iterator[None]:
    """Report a step once it has run for some seconds, and again while it runs.

    Args:
        text: Names the step, and how long it usually takes.
        quiet_s: Seconds before the first line.
        repeat_s: Seconds between two lines.
    """
    has_ended = Event()

    def report() -> None:
        wait_s, mark = quiet_s, ""
        while not has_ended.wait(wait_s):
            report_progress(f"{text}{mark}")
            wait_s, mark = repeat_s, ", still running"

    thread = Thread(target=report, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
