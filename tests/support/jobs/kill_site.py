"""A whole pipeline whose parts can be killed one by one: broker, bridge, job, care."""

import os
import signal

from pipelines.embedded import EmbeddedKafka
from pipelines.streaming import batch_slices
from tests.support.bridge.bridge_process import BridgeProcess
from tests.support.jobs.command_process import CommandProcess, find_command
from tests.support.jobs.commits import CommitWatch
from tests.support.jobs.job_support import create_topic, make_settings
from tests.support.jobs.kill_processes import NEVER, Driver, kill_workers
from tests.support.kafka.java_home import find_java

TOPIC = "pushes-and-kills"
COMMANDS = MAINTENANCE, CHECKS = "maintain_tables", "check_tables"
KEYS = {
    MAINTENANCE: (
        "maintain_tables.quiet_minutes=0",
        "maintain_tables.min_spare_files=1",
    ),
    CHECKS: ("check_tables.time_bound_ms=315_360_000_000",),
}
"""So that maintenance has something to do beside a stream that never rests; points of
generated pushes are of any year."""
BROKER_ID = 1
BATCH_PUSHES = 200


class KillSite:
    """Its parts run while it is entered, and are started again where they have ended."""

    def __init__(self, folder, say, commands=COMMANDS):
        """Take a folder for all files.

        Args:
            say: Told in words what has ended by itself.
            commands: Names of those that will be run.
        Raises: LookupError where the product lacks one of them.
        """
        for name in commands:
            find_command(name)
        self.folder, self._say = folder, say
        self.tables_path = folder / "tables"
        self._kafka = EmbeddedKafka(java=find_java())
        self._driver = None
        self._drivers = 0

    def __enter__(self):
        (self.folder / "tmp").mkdir(parents=True)
        self._kafka.start()
        try:
            create_topic(self.servers, TOPIC)
            self.bridge = BridgeProcess(self.folder, self.servers, TOPIC)
            self.bridge.start()
            self.ensure_driver()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._driver is not None:
            self._driver.close()
        bridge = getattr(self, "bridge", None)
        if bridge is not None:
            bridge.close()
        self._kafka.stop()

    @property
    def servers(self):
        """The broker's address, the same after each of its ends."""
        return self._kafka.bootstrap_servers

    @property
    def settings(self):
        """Those of the job."""
        return make_settings(self.servers, TOPIC, self.folder)

    def ensure_driver(self):
        """Return the job's driver once a micro-batch runs; another one where it ended."""
        while True:
            driver = self._driver
            if driver is None or driver.process.poll() is not None:
                if driver is not None:
                    driver.close()
                self._drivers += 1
                self._driver = driver = self._start_driver(NEVER)
            if driver.wait_for_batch():
                return driver
            self._say(f"driver {self._drivers} ended with {driver.process.returncode}")

    def _start_driver(self, point):
        return Driver(
            *(self.folder, "checkpoint", self.servers, TOPIC),
            *(BATCH_PUSHES, batch_slices.SLICE_BYTES, point, 0),
        )

    def kill_driver(self, point, occurrence):
        """Let the driver end itself at a point."""
        while True:
            driver = self.ensure_driver()
            driver.arm(point, occurrence)
            assert driver.wait(), f"the driver never came to {point}"
            if driver.process.returncode == -signal.SIGKILL:
                return

    def kill_driver_now(self):
        """End the driver, Python and JVM."""
        self.ensure_driver().kill()

    def kill_workers(self, chance):
        """End Python workers of Spark until it gives up."""
        while not kill_workers(self.ensure_driver(), chance):
            pass

    def kill_bridge(self):
        """End the bridge at once; restart_bridge waits."""
        os.kill(self.bridge.pid, signal.SIGKILL)

    def restart_bridge(self):
        """Start another bridge on the same ports."""
        self.bridge.kill()
        self.bridge.start()

    def kill_broker(self):
        """End the broker at once; its data stays."""
        self._kafka.kill(BROKER_ID)

    def restart_broker(self):
        """Start the broker on its data."""
        self._kafka.restart(BROKER_ID)

    def start_command(self, name, *words):
        """Run a command over the tables of this site; it can be killed."""
        sets = (
            f"kafka.bootstrap_servers={self.servers}",
            f"topics.telemetry={TOPIC}",
            f"tables.root_path={self.tables_path}",
            f"client_telemetry_to_delta.checkpoint_location={self.folder}/checkpoint",
            *KEYS.get(name, ()),
        )
        words += tuple(word for key in sets for word in ("--set", key))
        # Checks are a command of their own here, and end in places of their own.
        words += ("--no-checks",) if name == MAINTENANCE else ()
        return CommandProcess(self.folder, name, *words)

    def run_command(self, name, *words):
        """Run it to its end; return its exit code."""
        command = self.start_command(name, *words)
        try:
            return command.wait()
        finally:
            command.kill()

    def watch_commits(self):
        """Return what tells the commits of all tables from now on."""
        return CommitWatch(self.tables_path)

    def read_to_the_end(self):
        """End the driver in order, and read what the topic holds."""
        self._driver.close()
        self._driver = self._start_driver("end")
        assert self._driver.wait(), "the job does not end"
        assert self._driver.process.returncode == 0, f"see {self.folder}/driver.log"
