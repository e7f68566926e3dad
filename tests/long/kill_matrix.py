"""Kill each part of the whole pipeline, again and again, while it is at work.

Usage: python tests/long/kill_matrix.py [--cycles 300] [--pushers 4] [--seed 0]
                                        [--victims NAME …] [--folder FOLDER]

A real broker, a bridge, clients that push real metrics, the telemetry job, maintenance
and checks of the tables, all at once. In each cycle one of them dies by kill -9: the
driver with its JVM, a Python worker, the bridge, the broker, maintenance or checks; at
random, or at a named point of its work. Every point comes once at least. What has died
is started again, and a push must be accepted, or a micro-batch run, before the next
one. In the end each push that was answered with 0 must stand in the topic once, each
record of the topic in the tables once, and `check_tables --all` must find no fault.
"""

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.clients.counted_pushes import (  # noqa: E402 - path
    expect_records,
    make_counted,
    number_of,
)
from tests.support.clients.raw_pushers import (  # noqa: E402 - path
    compare,
    print_comparison,
    pushing,
    read_all,
)
from tests.support.jobs.command_process import find_command  # noqa: E402 - path
from tests.support.jobs.job_support import find_differences  # noqa: E402 - path
from tests.support.jobs.kill_processes import POINTS  # noqa: E402 - path
from tests.support.jobs.kill_site import (  # noqa: E402 - path
    CHECKS,
    COMMANDS,
    MAINTENANCE,
    TOPIC,
    KillSite,
)
from tests.support.spark.local_session import start_quick_session  # noqa: E402 - path

RANDOM = "random"
OWN_ROW = "own row"
SENT, ANSWERED = "push sent", "push answered"
DRIVER, WORKER, BRIDGE, BROKER = "driver", "worker", "bridge", "broker"
VICTIMS = {
    DRIVER: (RANDOM, *POINTS),
    WORKER: (RANDOM,),
    BRIDGE: (RANDOM, SENT, ANSWERED),
    BROKER: (RANDOM, SENT, ANSWERED),
    MAINTENANCE: (RANDOM, "OPTIMIZE", OWN_ROW),
    CHECKS: (RANDOM, OWN_ROW),
}
"""Who is killed, and where; a command behind a commit of such an operation, or of its
own table. Maintenance has a proof of its own for all of its steps."""
OWN_TABLES = {MAINTENANCE: "maintenance_runs", CHECKS: "quality_results"}
WHOLE = {MAINTENANCE: (), CHECKS: ("--all",)}
"""What each command is told when all is over."""
SHARES = {DRIVER: 4, WORKER: 2, BRIDGE: 14, BROKER: 5, MAINTENANCE: 3, CHECKS: 2}
"""How often each comes beyond its points: where starting again is dear, seldom."""
LIFE_S = (0.1, 2.0)
"""Shortest and longest time that a part works before its random end."""
COMMAND_LIFE_S = (1.0, 20.0)
"""The same of a command, with the start of its JVM."""
MOST_TRIES = 3
"""Of a command that ends before it comes to its point."""


@dataclass(frozen=True)
class Kill:
    """One end of one part."""

    victim: str
    point: str


def plan_kills(cycles, chance, victims=tuple(VICTIMS)):
    """Return so many kills in a mixed order, with each point as long as there is room.

    Args:
        victims: Those of VICTIMS that take part.
    """
    every = [Kill(victim, point) for victim in victims for point in VICTIMS[victim]]
    chance.shuffle(every)
    if cycles < len(every):
        # Each victim once, then as often as its share says.
        every = list({kill.victim: kill for kill in every}.values())
    weights = [SHARES[victim] for victim in victims]
    while len(every) < cycles:
        victim = chance.choices(victims, weights)[0]
        every.append(Kill(victim, chance.choice(VICTIMS[victim])))
    planned = every[:cycles]
    chance.shuffle(planned)
    return planned


class Matrix:
    """One run: the site, what clients have heard, and who died where."""

    def __init__(self, site, outcomes, chance, say):
        self._site, self._outcomes = site, outcomes
        self._chance, self._say = chance, say
        self.died = Counter()
        self.missed = Counter()
        """Commands that ended before they came to their point; nobody was killed."""

    async def run(self, kills):
        """Kill, and see each time that work goes on."""
        for number, kill in enumerate(kills, start=1):
            began = time.monotonic()
            where = await self._kill(kill)
            await self._outcomes.wait_for_accepted(1)
            self._say(
                f"{number:3} of {len(kills)}  {kill.victim:15} {where:24} "
                f"{time.monotonic() - began:5.1f} s  "
                f"{self._outcomes.accepted:7} pushes accepted"
            )

    async def _kill(self, kill):
        where = kill.point
        if kill.victim in {BRIDGE, BROKER}:
            await self._kill_server(kill)
        elif kill.victim == DRIVER:
            await self._kill_driver(kill.point)
        elif kill.victim == WORKER:
            await asyncio.to_thread(self._site.kill_workers, self._chance)
        else:
            where = await asyncio.to_thread(self._kill_command, kill)
        await asyncio.to_thread(self._site.ensure_driver)
        if where is None:
            self.missed[kill.victim, kill.point] += 1
            return "ended first"
        self.died[kill.victim, where] += 1
        return where

    async def _kill_server(self, kill):
        await self._wait_for(kill.point)
        # At once, in this very turn of the loop: an answer may be on its way.
        if kill.victim == BRIDGE:
            self._site.kill_bridge()
            await asyncio.to_thread(self._site.restart_bridge)
        else:
            self._site.kill_broker()
            await asyncio.to_thread(self._site.restart_broker)

    async def _wait_for(self, point):
        if point == SENT:
            await self._outcomes.wait_for_sent()
        elif point == ANSWERED:
            await self._outcomes.wait_for_accepted(1)
        else:
            await asyncio.sleep(self._chance.uniform(*LIFE_S))

    async def _kill_driver(self, point):
        if point == RANDOM:
            await asyncio.sleep(self._chance.uniform(*LIFE_S))
            await asyncio.to_thread(self._site.kill_driver_now)
        else:
            times = self._chance.randint(1, 2)
            await asyncio.to_thread(self._site.kill_driver, point, times)

    def _kill_command(self, kill):
        """Return where a command was killed; None where it ended each time before."""
        for _ in range(MOST_TRIES):
            commits = self._site.watch_commits()
            command = self._site.start_command(kill.victim)
            try:
                if kill.point == RANDOM:
                    command.wait(self._chance.uniform(*COMMAND_LIFE_S))
                else:
                    commits.wait_for(
                        lambda commit: self._is_point(kill, commit),
                        lambda: command.is_over,  # noqa: B023 - called in this turn
                    )
            finally:
                is_killed = command.kill()
            if is_killed:
                return kill.point
            code = command.process.returncode
            assert code == 0, f"{kill.victim} ended with {code}: see its log"
        return None

    @staticmethod
    def _is_point(kill, commit):
        is_own = commit.table == OWN_TABLES[kill.victim]
        return is_own if kill.point == OWN_ROW else commit.operation == kill.point


@dataclass(frozen=True)
class Result:
    """What a run has come to."""

    matrix: Matrix
    outcomes: object
    comparison: object
    differences: dict
    codes: dict
    """Exit code of each command that was run to its end when all was over."""

    @property
    def is_exact(self):
        has_failed = any(self.codes.values())
        return self.comparison.is_exact and not self.differences and not has_failed


def run(spark, kills, pushers, folder, chance, say, victims=tuple(VICTIMS)):
    """Run the whole thing.

    Args:
        spark: The session that reads the tables when all is over.
        victims: Those of the kills; without a command among them it is not run.
    """
    commands = [name for name in COMMANDS if name in victims]

    async def push_and_kill(site):
        async with pushing(
            site.bridge.address, pushers, make_payload=make_counted
        ) as outcomes:
            matrix = Matrix(site, outcomes, chance, say)
            await matrix.run(kills)
            await outcomes.wait_for_accepted(pushers)
        return matrix, outcomes

    with KillSite(folder, say, commands) as site:
        matrix, outcomes = asyncio.run(push_and_kill(site))
        site.read_to_the_end()
        codes = {name: site.run_command(name, *WHOLE[name]) for name in commands}
        stored, expected = expect_records(read_all(site.servers, TOPIC))
        outcomes.codes = {number_of(key): code for key, code in outcomes.codes.items()}
        return Result(
            matrix=matrix,
            outcomes=outcomes,
            comparison=compare(outcomes, stored),
            differences=find_differences(spark, site.settings, expected),
            codes=codes,
        )


def print_result(result):
    """Print the tables of a run, and its verdict as the last line."""
    print("\nkilled           at                        times")
    for (victim, point), count in sorted(result.matrix.died.items()):
        print(f"{victim:16} {point:24} {count:6}")
    for (victim, point), count in sorted(result.matrix.missed.items()):
        print(f"{victim:16} {point:24} {count:6}  ended before it came there")
    print_comparison(result.outcomes, result.comparison)
    for table, difference in result.differences.items():
        print(f"{table}: {difference}")
    verdict = "each exactly once" if result.is_exact else "NOT EXACT"
    print(
        f"\n{result.matrix.died.total()} kills; {result.comparison.accepted} pushes "
        f"acknowledged, {result.comparison.lost} lost, {result.comparison.twice} twice; "
        f"{len(result.differences)} tables differ; exit codes {result.codes}: {verdict}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cycles", type=int, default=300)
    parser.add_argument("--pushers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=[*VICTIMS])
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    # A plain kill of this program ends all that it has started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    chance = random.Random(arguments.seed)  # noqa: S311 - to be repeatable
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="kill-matrix-"))
    try:
        for name in set(COMMANDS).intersection(arguments.victims):
            find_command(name)
    except LookupError as error:
        sys.exit(f"error: {error}")
    kills = plan_kills(arguments.cycles, chance, arguments.victims)
    print(f"{len(kills)} kills; tables and logs in {folder}", flush=True)
    spark = start_quick_session(f"{folder}/warehouse")
    try:
        result = run(
            spark,
            kills,
            arguments.pushers,
            folder / "site",
            chance,
            lambda text: print(text, flush=True),
            arguments.victims,
        )
    finally:
        spark.stop()
    print_result(result)
    return 0 if result.is_exact else 1


if __name__ == "__main__":
    sys.exit(main())
