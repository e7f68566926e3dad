"""A command of the product in a process group of its own, which can be killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from pipelines.commands import COMMANDS_BY_NAME

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 600


class CommandProcess:
    """`./spark-submit.sh NAME WORDS` without its set-up: Python and its JVM."""

    def __init__(self, folder, name, *words):
        """Start it; what it prints goes to NAME.log of the folder.

        Raises: LookupError where the product has no such command.
        """
        find_command(name)
        with (folder / f"{name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pipelines", name, *words],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def is_over(self):
        """Whether it has ended."""
        return self.process.poll() is not None

    def wait(self, timeout_s=PATIENCE_S):
        """Wait for its end; return its exit code, None where it has not ended."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def kill(self):
        """End all its processes as a power cut would; return whether it still ran."""
        is_running = not self.is_over
        if is_running:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE_S)
        return is_running


def find_command(name):
    """Return a command of the registry.

    Raises: LookupError.
    """
    if name not in COMMANDS_BY_NAME:
        raise LookupError(f"the command {name} is not there")
    return COMMANDS_BY_NAME[name]
