"""Stop a process, and know that none of its threads goes on."""

import os
import signal
import subprocess

from tests.support.kafka.topics import wait_for


def stop_process(pid):
    """Send SIGSTOP, and wait until all threads have stopped: the signal returns before."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: _read_states(pid), lambda states: set(states) <= {"T"})


def _read_states(pid):
    """Return the first letter of each thread's state, as ps has it."""
    listed = subprocess.run(
        ["ps", "-L", "-o", "stat=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.strip()[:1] for line in listed.stdout.splitlines()]
