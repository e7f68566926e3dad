"""What of a site is not well, and what to do about it; nothing is asked here.

A job is judged by what it leaves lying: one that is stopped harms nobody while its
topic is empty, and one that is run from time to time with --once is stopped mostly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.counted import counted
from pipelines.settings.places import PROGRAM
from pipelines.settings.watching_settings import WatchingSettings
from pipelines.tables.maintenance import MAINTENANCE_RUNS
from pipelines.tables.registry import ALL_CONTRACTS

from .site import (
    MS_PER_HOUR,
    MS_PER_S,
    BridgeLook,
    JobLook,
    RunLook,
    SiteLook,
    StoredLook,
    TableLook,
)
from .watched_jobs import WATCHED_JOBS

_OURS = {contract.name for contract in ALL_CONTRACTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is not well."""

    what: str
    do: str
    """What to do about it."""

    def as_line(self) -> str:
        """Return it as one line."""
        return f"{self.what}: {self.do}"


def find_problems(
    site: SiteLook, limits: WatchingSettings, *, options: str
) -> list[Problem]:
    """Return what is not well, the worst first.

    Args:
        options: Settings options of the commands that are named, as --env cluster.
    """
    return [
        *_lost(site.jobs),
        *_judge_start(site),
        *_judge_kafka(site),
        *(p for one in site.bridges for p in _judge_bridge(one, options)),
        *(p for one in site.jobs for p in _judge_checkpoint(one)),
        *(p for one in site.jobs for p in _judge_job(one, site, limits, options)),
        *_judge_tables(site),
        *_judge_quarantine(site, limits),
        *_judge_unread(site),
        *_judge_run(
            site.stored.maintenance, "maintenance", "maintenance_runs says why"
        ),
        *_judge_run(site.stored.checks, "check", "quality_results says which rows"),
        *_judge_ages(site, limits, options),
    ]


def _lost(jobs: tuple[JobLook, ...]) -> Iterator[Problem]:
    for job in jobs:
        look = job.topic_look
        if look is None:
            continue
        if look.lost:
            yield Problem(
                what=f"topic {job.topic} has deleted {counted(look.lost, 'record')} "
                f"that {job.name} had not read",
                do=f"the job says which; {PROGRAM} {job.name} --accept-data-loss goes "
                "on behind them, and a longer topics.retention_ms keeps the next ones",
            )
        if look.is_made_anew:
            yield Problem(
                what=f"topic {job.topic} was deleted and recreated behind {job.name}",
                do=f"the job says what is gone; {PROGRAM} {job.name} "
                "--accept-data-loss goes on with the new one",
            )


def _judge_start(site: SiteLook) -> Iterator[Problem]:
    if not site.jobs:
        yield Problem(
            what="no streaming job was ever started with these checkpoint locations",
            do="check --env, or start one: docs/operations/checkpoints.md",
        )


def _judge_kafka(site: SiteLook) -> Iterator[Problem]:
    if site.kafka_fault is not None:
        yield Problem(
            what=f"Kafka at {site.kafka_servers} does not answer ({site.kafka_fault})",
            do="bridges refuse pushes and jobs wait meanwhile; look at the brokers, or "
            "at [kafka]",
        )


def _judge_bridge(bridge: BridgeLook, options: str) -> Iterator[Problem]:
    if not bridge.has_answered:
        yield Problem(
            what=f"bridge at {bridge.address} does not answer ({bridge.said})",
            do=f"start it: {PROGRAM} bridge {options}; where its pages are "
            "elsewhere, set watching.bridges",
        )
    elif not bridge.is_ready:
        yield Problem(
            what=f"bridge at {bridge.address} is not ready ({bridge.said})",
            do="its clients go to others, or wait; its log says since when",
        )


def _judge_checkpoint(job: JobLook) -> Iterator[Problem]:
    if job.fault is not None:
        yield Problem(
            what=f"the checkpoint location of {job.name} cannot be read ({job.fault})",
            do="see who may read its files, and which was cut off: "
            "docs/operations/checkpoints.md",
        )


def _judge_job(
    job: JobLook, site: SiteLook, limits: WatchingSettings, options: str
) -> Iterator[Problem]:
    start = f"{PROGRAM} {job.name} {options}"
    if job.was_started is False:
        if job.name in limits.jobs:
            yield Problem(what=f"{job.name} was never started", do=f"start it: {start}")
        return
    look = job.topic_look
    if look is None:
        return
    if not look.has_topic:
        yield Problem(
            what=f"there is no topic {job.topic}, which {job.name} reads",
            do="start the bridge, which makes it, or check [topics]",
        )
        return
    if not look.unread:
        return
    records = counted(look.unread, "record")
    if look.waiting_since_ms is None:
        if not job.is_running:
            yield Problem(
                what=f"{records} wait for {job.name}, and Kafka at "
                f"{site.kafka_servers} did not say in time since when",
                do="look again; watching.answer_timeout_ms is how long it is asked",
            )
        return
    waited_ms = site.at_ms - look.waiting_since_ms
    if waited_ms <= limits.max_lag_ms:
        return
    yield from _judge_lag(
        job, f"{records} wait, for {waited_ms // MS_PER_S:,} s", start
    )


def _judge_lag(job: JobLook, wait: str, start: str) -> Iterator[Problem]:
    if job.is_running:
        yield Problem(
            what=f"{job.name} runs and is behind: {wait}",
            do="it catches up where its lines in its log count down; where they do "
            "not, give it more cores or a larger max_offsets_per_trigger",
        )
        return
    state = "does not run" if job.is_running is False else "is behind"
    yield Problem(
        what=f"{job.name} {state}: {wait}",
        do=f"start it: {start}; nothing is lost while the topic keeps them",
    )


def _judge_tables(site: SiteLook) -> Iterator[Problem]:
    owners = {c.name: one.name for one in WATCHED_JOBS for c in one.contracts}
    for table in site.stored.tables:
        yield from _judge_table(table, site.tables_at, owners.get(table.name))


def _judge_table(table: TableLook, place: str, owner: str | None) -> Iterator[Problem]:
    if not table.is_there:
        yield Problem(
            what=f"table {table.name} is missing at {place}",
            do=f"put its copy back; or {owner}, started again, makes it anew and empty",
        )
    elif table.fault is not None:
        yield Problem(
            what=f"table {table.name} at {place} cannot be read ({table.fault})",
            do=f"{PROGRAM} sql, asked for its rows, says what is wrong with it",
        )


def _judge_quarantine(site: SiteLook, limits: WatchingSettings) -> Iterator[Problem]:
    quarantined = site.stored.quarantined or {}
    rejected = sum(quarantined.values())
    if rejected > limits.max_quarantined:
        reasons = ", ".join(f"{n:,} {one}" for one, n in quarantined.items())
        yield Problem(
            what=f"{counted(rejected, 'record')} of the last hour are in quarantine, "
            f"more than watching.max_quarantined ({limits.max_quarantined:,}): "
            f"{reasons}",
            do="docs/reference/quarantine-reasons.md says what each means, and the "
            "columns client_id and bridge_id of quarantine whose they are",
        )


def _judge_unread(site: SiteLook) -> Iterator[Problem]:
    for one in site.stored.unread:
        yield Problem(
            what=f"rows of a table at {site.tables_at} cannot be read ({one})",
            do=f"{PROGRAM} sql, asked for its rows, says what is wrong with it",
        )


def _judge_run(run: RunLook | None, what: str, where: str) -> Iterator[Problem]:
    if run is not None and run.failed:
        yield Problem(
            what=f"the last {what} has failed in {', '.join(run.failed)}", do=where
        )


def _judge_ages(
    site: SiteLook, limits: WatchingSettings, options: str
) -> Iterator[Problem]:
    """Tell of what has not come to its end for long, whoever ends it each night."""
    hours = limits.max_run_age_hours
    if not hours:
        return
    before_ms = site.at_ms - hours * MS_PER_HOUR
    ago = f"more than {hours:,} hours ago (watching.max_run_age_hours)"
    stored = site.stored
    if not stored.is_maintained:
        yield from _judge_maintenance(
            stored, before_ms, ago, f"{PROGRAM} maintain_tables {options}"
        )
    if stored.checks is not None and _is_before(stored.checks.completed_ms, before_ms):
        yield Problem(
            what=f"the last check was {ago}",
            do="maintenance ends with one, unless it has --no-checks; by itself it is "
            f"{PROGRAM} check_tables {options}",
        )


def _judge_maintenance(
    stored: StoredLook, before_ms: int, ago: str, command: str
) -> Iterator[Problem]:
    run = stored.maintenance
    if run is not None and run.completed_ms is not None:
        if run.completed_ms < before_ms:
            yield Problem(
                what=f"the last maintenance that came to its end began {ago}",
                do=f"see why it does not run, or what cuts it off: {command}",
            )
        return
    if any(one.startswith(f"{MAINTENANCE_RUNS.name}:") for one in stored.unread):
        return
    if any(
        one.name in _OURS and _is_before(one.made_ms, before_ms)
        for one in stored.tables
    ):
        yield Problem(
            what=f"no maintenance has come to its end, and tables were made {ago}",
            do=f"run it each day: {command}; docs/operations/maintenance.md has "
            "examples for schedulers",
        )


def _is_before(moment_ms: int | None, before_ms: int) -> bool:
    return moment_ms is not None and moment_ms < before_ms
