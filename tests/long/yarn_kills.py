"""Run every job on a real YARN and HDFS while nodes and drivers are killed in turn.

Usage: python tests/long/yarn_kills.py [--short] [--modes client cluster]
                                       [--jobs NAME …] [--seed 0] [--folder FOLDER]

One HDFS (two DataNodes), one YARN (two NodeManagers whose Python has no package), three
brokers, a bridge, clients that push, are configured and exchange records through the
proxy. Each streaming job, then maintenance and checks, is submitted by ./spark-submit.sh with
--master yarn in client and cluster deploy mode; tables and checkpoint locations are on
HDFS. While it runs, all executors of a NodeManager, a DataNode and the driver are
killed with -9, one after the other; what has ended is submitted again. A second run of
a job with another checkpoint location must be refused while the first lives.

In the end each push that was accepted must stand in the topic once, and every table on
HDFS must be, row for row, what an undisturbed run of the same jobs makes of the same
topics on this machine.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pipelines.commands.submit.arguments import find_spark_home  # noqa: E402 - path
from pipelines.errors import TablesInUse  # noqa: E402 - path
from tests.support.clients.raw_pushers import print_comparison  # noqa: E402 - path
from tests.support.hadoop.daemons import DATANODE, HadoopCluster  # noqa: E402 - path
from tests.support.hadoop.site import (  # noqa: E402 - path
    STREAMS,
    describe_topics,
    running_site,
    used,
)
from tests.support.hadoop.submitted import (  # noqa: E402 - path
    CLIENT,
    CLUSTER,
    SubmittedJob,
)
from tests.support.hadoop.table_comparison import find_differences  # noqa: E402 - path
from tests.support.jobs.kill_site import CHECKS, KEYS, MAINTENANCE  # noqa: E402 - path

TELEMETRY = next(iter(STREAMS))
CARE = {MAINTENANCE: ("--no-checks",), CHECKS: ("--all",)}
"""Commands that work on tables and end, and their words; the rows stay the same."""
SHORT_JOBS = (TELEMETRY, "client_configs_to_delta", *CARE)
VICTIMS = ("containers", "datanode", "driver")
MOST_STARTS = 8
"""Of one job in one mode; more is no longer the kills' doing."""


class Run:
    """All jobs of one run, on one site."""

    def __init__(self, hadoop, site, folder, chance):
        self._hadoop, self._site = hadoop, site
        self._folder, self._chance = folder, chance
        self._home = find_spark_home()
        self._datanode = 0
        self.kills = dict.fromkeys(VICTIMS, 0)
        self.restarts = 0

    def submit(self, name, mode, *words):
        return SubmittedJob(
            *(self._hadoop, self._home, self._folder, name, mode),
            *("--config", str(self._folder / "site.toml"), *words),
        )

    def go_on(self, mode):
        """Let the telemetry job run on while each victim is killed."""
        with contextlib.closing(self.submit(TELEMETRY, mode)) as job:
            self._start(job)
            self._wait_for_batches(job)
            assert "Using writer=files" in job.read_log(), job.log_path
            for victim in VICTIMS:
                began = time.monotonic()
                self._kill(victim, job)
                self._wait_for_batches(job)
                self._mend()
                say(
                    f"{TELEMETRY}, {mode}: {victim} killed, writes again after "
                    f"{time.monotonic() - began:.0f} s, {self._site.accepted} pushes "
                    f"accepted"
                )
            if mode == CLIENT:
                self._refuse_second_run()
            job.stop()

    def end(self, name, mode, victims):
        """Let a job take what is there, and end, though a victim is killed each time."""
        words = ["--once"] if name in STREAMS else CARE[name]
        victims = [*victims]
        with contextlib.closing(self.submit(name, mode, *words)) as job:
            began = time.monotonic()
            while True:
                self._start(job)
                if victims and job.wait_for_executors():
                    time.sleep(self._chance.uniform(0, 8))
                    victim = victims.pop(0)
                    self._kill(victim, job)
                    say(f"{name}, {mode}: {victim} killed")
                code = job.wait()
                self._mend()
                if code == 0 and not victims:
                    break
                self.restarts += code != 0
            say(f"{name}, {mode}: done after {time.monotonic() - began:.0f} s")

    def _refuse_second_run(self):
        """Start the same job with another checkpoint location: it must be refused."""
        other = f"{TELEMETRY}.checkpoint_location={self._hadoop.uri}/other"
        began = time.monotonic()
        second = self.submit(TELEMETRY, CLIENT, "--set", other, "--once")
        second.log_path = self._folder / "second.log"
        with contextlib.closing(second):
            second.start()
            code = second.wait()
            told = second.log_path.read_text().splitlines()[-1]
        assert code == TablesInUse.exit_code, told
        assert "in use by client_telemetry_to_delta on" in told, told
        say(f"a second run was refused after {time.monotonic() - began:.0f} s: {told}")

    def _start(self, job):
        assert job.starts < MOST_STARTS, f"it does not come back: see {job.log_path}"
        job.start()

    def _wait_for_batches(self, job):
        """Wait for micro-batches, and be the supervisor of what ends meanwhile."""
        while not job.wait_for_batches(2):
            say(f"{job.name}, {job.mode}: it has ended and is submitted again")
            self.restarts += 1
            self._start(job)

    def _kill(self, victim, job):
        self.kills[victim] += 1
        if victim == "driver":
            job.kill_driver()
        elif victim == "containers":
            job.kill_containers()
        else:
            self._hadoop.wait_for_replicas()
            self._hadoop.daemons[DATANODE, self._datanode].kill()

    def _mend(self):
        """Start again the DataNode that was killed; the other one is the next."""
        if not self._hadoop.daemons[DATANODE, self._datanode].is_running():
            self._hadoop.restart(DATANODE, self._datanode)
            self._datanode = 1 - self._datanode


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def write_settings(path, servers, root):
    """Write the file that all jobs are called with."""
    lines = [f'kafka.bootstrap_servers = "{servers}"', f'tables.root_path = "{root}"']
    # Several drivers run on this machine.
    lines += ["watching.jobs_http_port = 0", *KEYS[CHECKS]]
    for name in STREAMS:
        lines += [
            f'{name}.checkpoint_location = "{root}-progress/{name}"',
            f"{name}.trigger_interval_ms = 2000",
        ]
    path.write_text("\n".join([*lines, ""]))


def make_bare_python(folder):
    """Return the folder of an interpreter that has the standard library alone."""
    line = [sys.executable, "-m", "venv", "--without-pip", folder / "bare"]
    subprocess.run(line, check=True)
    return folder / "bare" / "bin"


def run(options, folder, java):
    """Run all of it; return faults in words."""
    chance = random.Random(options.seed)  # noqa: S311 - to be repeatable
    bare = make_bare_python(folder)
    (folder / "hadoop").mkdir()
    with (
        HadoopCluster(folder / "hadoop", java=java, path_first=str(bare)) as hadoop,
        running_site(folder, java) as (site, proxied),
    ):
        say(f"HDFS at {hadoop.uri}, YARN, three brokers and a bridge are there")
        root = f"{hadoop.uri}/tables"
        write_settings(folder / "site.toml", site.kafka.bootstrap_servers, root)
        jobs = Run(hadoop, site, folder, chance)
        with used(site, proxied):
            site.alter()
            site.wait_for_topics()
            say(f"replicas by partition: {describe_topics(site.kafka)}")
            run_jobs(options, jobs, site)
        # What came after the last run of each job is read by all, undisturbed.
        streams = [name for name in options.jobs if name in STREAMS]
        for name in streams:
            jobs.end(name, options.modes[-1], ())
        print_comparison(site.outcomes, comparison := site.compare())
        say(f"records: {site.count_records()}")
        say(f"kills: {jobs.kills}; submitted again: {jobs.restarts}")
        faults = [] if comparison.is_exact else ["the topic is not exact"]
        os.environ.update(hadoop.client_environ)
        return faults + find_differences(folder, root, streams, say)


def run_jobs(options, jobs, site):
    """Run each job in each mode, while victims are killed."""
    turn = 0
    for mode in options.modes:
        if TELEMETRY in options.jobs:
            jobs.go_on(mode)
        for name in options.jobs:
            if name == TELEMETRY:
                continue
            site.alter()
            if name == CHECKS and TELEMETRY in options.jobs:
                # Other jobs have had their turns for longer than a table may be quiet.
                jobs.end(TELEMETRY, mode, ())
            jobs.end(name, mode, [VICTIMS[turn % len(VICTIMS)]])
            turn += 1


def main():
    """Print what was found; exit with 1 where a promise does not hold."""
    everything = (*STREAMS, *CARE)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--short", action="store_true", help="three jobs, in the last mode"
    )
    parser.add_argument(
        "--modes", nargs="+", choices=(CLIENT, CLUSTER), default=[CLIENT, CLUSTER]
    )
    parser.add_argument("--jobs", nargs="+", choices=everything)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    options.jobs = options.jobs or (SHORT_JOBS if options.short else everything)
    if options.short:
        options.modes = options.modes[-1:]
    # A plain kill of this program ends all that it has started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    folder = options.folder or Path(tempfile.mkdtemp(prefix="yarn-kills-"))
    folder.mkdir(exist_ok=True)
    home = os.environ.get("JAVA_HOME", "")
    say(f"logs are in {folder}")
    faults = run(options, folder, str(Path(home) / "bin" / "java") if home else "java")
    say("; ".join(faults) or "each accepted push exactly once, all tables as they were")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
