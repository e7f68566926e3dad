"""One broker's JVM, and the shell that ends it when its owner is gone.

The shell waits for both the JVM and the end of its own standard input, a pipe whose
other end only the owner holds. However the owner dies, by kill -9 too, the system
closes that pipe; the shell then ends the JVM and removes the folder. A POSIX shell does
this alike on Linux and macOS, where prctl or kqueue would not.
"""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pipelines.errors import EmbeddedKafkaError

# What the owner writes before it closes the pipe of a broker that has ended.
_RELEASE = b"released\n"
# Programs of the base system; nothing of the owner's environment reaches a broker, for
# it may hold secrets that every process listing with environments would show.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

_SUPERVISOR = """
log=$1 folder=$2
shift 2
exec 3<&0
"$@" </dev/null 3<&- >>"$log" 2>&1 &
jvm=$!
echo "$jvm"
exec >/dev/null 2>&1
(
  if read -r _ <&3; then exit 0; fi
  trap '' TERM
  kill -TERM "$jvm"
  tenths=0
  while kill -0 "$jvm" && [ "$tenths" -lt 20 ]; do
    sleep 0.1
    tenths=$((tenths + 1))
  done
  kill -KILL "$jvm"
  if [ -n "$folder" ]; then rm -rf -- "$folder"; fi
) &
watcher=$!
exec 3<&-
wait "$jvm"
code=$?
kill -TERM "$watcher"
wait "$watcher"
exit "$code"
"""


class BrokerProcess:
    """A running broker; ends with its owner."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        working_path: Path,
        log_path: Path,
        remove_path: Path | None,
    ) -> None:
        """Start the command.

        Args:
            command: The JVM and its arguments; no secret among them.
            working_path: Folder that relative names in its configuration start from.
            log_path: File that its output is appended to.
            remove_path: Folder to remove when the owner dies without stopping it.
        Raises: EmbeddedKafkaError, when the shell or Java cannot be started.
        """
        removed = "" if remove_path is None else str(remove_path)
        supervisor = ["/bin/sh", "-c", _SUPERVISOR, "kafka", str(log_path), removed]
        try:
            # A session of its own: Ctrl-C reaches the owner, who then stops brokers in
            # order.
            self._shell = subprocess.Popen(
                [*supervisor, *command],
                cwd=working_path,
                env=_ENVIRONMENT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise EmbeddedKafkaError(
                f"embedded Kafka: {command[0]} cannot be started ({error.strerror})"
            ) from None
        self.pid = self._read_pid()
        """Process id of the JVM."""

    def _read_pid(self) -> int:
        stdout = self._shell.stdout
        if stdout is None:  # pragma: no cover - a pipe was asked for
            raise EmbeddedKafkaError("embedded Kafka: the shell has no output")
        with stdout:
            return int(stdout.readline())

    def is_running(self) -> bool:
        """Return whether the JVM lives."""
        return self._shell.poll() is None

    @property
    def exit_code(self) -> int | None:
        """Exit code as a shell has it: 128 + signal; None while running."""
        return self._shell.poll()

    def terminate(self) -> None:
        """Ask the broker to end; returns at once."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the broker as a power cut would, and wait until it is gone."""
        self._signal(signal.SIGKILL)
        self._shell.wait()
        self._release()

    def wait(self, timeout_s: float) -> int:
        """Wait for the end that terminate() asked for; past the timeout, kill.

        Returns: The exit code, as in `exit_code`.
        """
        try:
            self._shell.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
        self._release()
        return self._shell.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._shell.poll() is not None:
            return
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            # It ended a moment ago; the shell is about to follow.
            return

    def _release(self) -> None:
        """Tell the shell that nothing is left to end, then close the pipe.

        If a signal ended the shell alone, its watcher is not told and ends the JVM.
        """
        stdin = self._shell.stdin
        if stdin is None or stdin.closed:
            return
        is_shell_killed = self._shell.wait() < 0
        try:
            if not is_shell_killed:
                stdin.write(_RELEASE)
            stdin.close()
        except BrokenPipeError:
            # The shell has gone with its broker.
            return
