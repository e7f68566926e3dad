"""Random sequences of records, and the throttle times that they come to."""

import subprocess
from dataclasses import dataclass, field

from pipelines.bridge.quotas.rates import QuotaRate, QuotaWindows
from tests.support.clients.java_programs import program_command, tools_class_path

WINDOWS = ((11, 1), (11, 1), (11, 1), (2, 1), (3, 2), (5, 3), (30, 1))
"""Samples and seconds; Kafka's defaults most often."""
NANOSECONDS_TO_PERCENT = 100.0 / 1_000_000_000
PATIENCE_S = 600


@dataclass
class Sequence:
    """What is recorded against one limit."""

    kind: str
    samples: int
    seconds: int
    limit: float
    steps: list = field(default_factory=list)
    """Records as (value, time), limits as (limit, None)."""

    def lines(self):
        """Return what the Java program reads."""
        yield f"begin {self.kind} {self.samples} {self.seconds} {self.limit!r}"
        for value, now_ms in self.steps:
            yield f"limit {value!r}" if now_ms is None else f"record {value!r} {now_ms}"

    def throttle_times(self):
        """Return what the bridge makes of it."""
        windows = QuotaWindows(samples=self.samples, window_ms=1_000 * self.seconds)
        most_ms = windows.window_ms if self.kind == "time" else None
        rate, waits_ms = QuotaRate(self.limit, windows, most_ms=most_ms), []
        for value, now_ms in self.steps:
            if now_ms is None:
                rate.limit = value
            else:
                waits_ms.append(rate.record(value, now_ms))
        return waits_ms


def random_sequence(choose):
    """Return one sequence; about half of its records are beyond the limit."""
    samples, seconds = choose.choice(WINDOWS)
    kind = choose.choice(("bytes", "time"))
    limit = _random_limit(choose, kind)
    made = Sequence(kind, samples, seconds, limit)
    now_ms = choose.randint(1, 2_000_000_000_000)
    pace_ms = choose.choice((1, 30, 300, 1_500, 5_000))
    share = choose.choice((0.2, 0.9, 1.0, 1.1, 3.0, 20.0))
    for _ in range(choose.randint(1, 60)):
        step_ms = choose.randint(0, 2 * pace_ms)
        if choose.random() < 0.05:
            step_ms = (
                choose.choice((0, seconds, samples, samples + 1)) * 1_000 * seconds
            )
        now_ms += step_ms
        value = limit * share * max(step_ms, 1) / 1_000 * choose.uniform(0, 2)
        made.steps.append((_as_recorded(value, kind), now_ms))
        if choose.random() < 0.03:
            # No wait is beyond 24 days: a broker's int would be below 0 then.
            limit *= choose.choice((0.25, 0.5, 2.0, 4.0))
            made.steps.append((limit, None))
    return made


def _random_limit(choose, kind):
    if kind == "time":
        return choose.choice((0.01, 1.0, 12.5, 100.0, 400.0))
    return float(choose.choice((1, 100, 1_024, 50_000, 10**6, 10**9)))


def _as_recorded(value, kind):
    """Return a whole number of bytes, or of nanoseconds as a percentage."""
    if kind == "time":
        return round(value / NANOSECONDS_TO_PERCENT) * NANOSECONDS_TO_PERCENT
    return float(round(value))


def throttle_times_in_java(java, sequences):
    """Return what brokers make of all sequences."""
    command = program_command(java, tools_class_path(), "ThrottleTimes")
    done = subprocess.run(
        command,
        input="\n".join(line for one in sequences for line in one.lines()),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    _, *lines, end = done.stdout.splitlines()
    assert end == "used"
    return [[int(word) for word in line.split()] for line in lines]
