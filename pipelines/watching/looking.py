"""Looks at a whole site at once: pages, Kafka and tables beside each other."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipelines.settings.records import BridgeSettings, Settings
from pipelines.settings.watching_settings import NO_PORT
from pipelines.tables.telemetry import QUARANTINE

from .bridge_pages import look_at_bridge
from .checkpoints import LocalProgress, is_claimed, read_progress
from .delta_logs import (
    CHECKS,
    MAINTENANCE,
    RunTable,
    UnreadableTable,
    count_quarantined,
    find_local,
    list_tables,
    look_at_table,
    read_newest_run,
)
from .site import (
    MS_PER_HOUR,
    MS_PER_S,
    JobLook,
    RunLook,
    SiteLook,
    StoredLook,
    TableLook,
)
from .topics import KafkaIsSilent, look_at_topics
from .watched_jobs import WATCHED_JOBS, WatchedJob

_MAINTENANCE_JOB = "maintain_tables"
RATE_S = 1.0
"""Between two looks at what a bridge counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a job keeps what can be seen from here."""

    job: WatchedJob
    folder: Path | None
    """Its checkpoint location; null: on no disk of this machine."""
    progress: LocalProgress | None
    """Null: never started, or not to be seen."""
    fault: str | None = None
    """Why what is there cannot be read."""

    @property
    def was_started(self) -> bool | None:
        if self.folder is None or self.fault is not None:
            return None
        return self.progress is not None


def look_at_site(settings: Settings, kafka_config: Mapping[str, str]) -> SiteLook:
    """Return what is seen now.

    Args:
        kafka_config: Of librdkafka; it holds secrets.
    """
    at_ms = int(time.time() * MS_PER_S)
    tables = settings.tables
    root = None if tables.catalog_schema else find_local(tables.root_path)
    places = [_find_place(one, settings) for one in WATCHED_JOBS]
    shown = [
        one
        for one in places
        if one.was_started is not False or one.job.name in settings.watching.jobs
    ]
    addresses = list_bridges(settings)
    with ThreadPoolExecutor(max_workers=len(addresses) + 2) as pool:
        jobs = pool.submit(_look_at_jobs, shown, settings, kafka_config, root)
        stored = pool.submit(_look_at_tables, shown, root, at_ms)
        ask = partial(
            look_at_bridge,
            timeout_s=settings.watching.answer_timeout_ms / MS_PER_S,
            wait=partial(time.sleep, RATE_S),
        )
        bridges = tuple(pool.map(ask, addresses))
    kafka_fault, job_looks = jobs.result()
    return SiteLook(
        at_ms=at_ms,
        bridges=bridges,
        kafka_servers=settings.kafka.bootstrap_servers,
        kafka_fault=kafka_fault,
        jobs=job_looks,
        tables_at=tables.catalog_schema or tables.root_path,
        stored=stored.result(),
        not_looked_at=tuple(_tell_unseen(settings, shown, root, addresses)),
    )


def list_bridges(settings: Settings) -> tuple[str, ...]:
    """Return host:port of the pages of all bridges, as far as settings say them."""
    bridge = settings.bridge
    if settings.watching.bridges or bridge.http_port <= 0:
        return settings.watching.bridges
    ports = range(bridge.http_port, bridge.http_port + bridge.workers)
    return tuple(f"{bridge.http_host}:{port}" for port in ports)


def _tell_unseen(
    settings: Settings,
    shown: list[_Place],
    root: Path | None,
    addresses: tuple[str, ...],
) -> Iterator[str]:
    if not addresses:
        yield _tell_no_bridge(settings.bridge)
    if root is None:
        place = settings.tables.catalog_schema or settings.tables.root_path
        yield f"the tables at {place}, on no disk of this machine"
    for one in shown:
        if one.folder is None:
            location = one.job.checkpoint_location(settings)
            yield f"{one.job.name}, whose checkpoint location is {location}"


def _tell_no_bridge(bridge: BridgeSettings) -> str:
    if bridge.http_port == NO_PORT:
        return "bridges, which serve no pages (bridge.http_port is -1)"
    return (
        "bridges, whose pages have free ports (bridge.http_port is 0): set "
        "watching.bridges to what their logs name"
    )


def _find_place(job: WatchedJob, settings: Settings) -> _Place:
    folder = find_local(job.checkpoint_location(settings))
    if folder is None:
        return _Place(job=job, folder=None, progress=None)
    try:
        progress = read_progress(folder, job.topic(settings))
    # Cut off by a disk that was full, or not for this user.
    except (OSError, ValueError, LookupError) as error:
        fault = f"{folder}: {type(error).__name__}"
        return _Place(job=job, folder=folder, progress=None, fault=fault)
    return _Place(job=job, folder=folder, progress=progress)


def _look_at_jobs(
    places: list[_Place],
    settings: Settings,
    kafka_config: Mapping[str, str],
    root: Path | None,
) -> tuple[str | None, tuple[JobLook, ...]]:
    """Return why Kafka does not answer, or None, and how the jobs stand to it."""
    positions = {
        one.job.topic(settings): one.progress.position if one.progress else {}
        for one in places
        if one.was_started is not None
    }
    fault, looks = None, {}
    try:
        timeout_s = settings.watching.answer_timeout_ms / MS_PER_S
        looks = look_at_topics(kafka_config, positions, timeout_s=timeout_s)
    except KafkaIsSilent as error:
        fault = str(error)
    return fault, tuple(
        JobLook(
            name=one.job.name,
            topic=one.job.topic(settings),
            was_started=one.was_started,
            is_running=_is_running(one, root),
            committed_ms=one.progress.committed_ms if one.progress else None,
            topic_look=looks.get(one.job.topic(settings)),
            fault=one.fault,
        )
        for one in places
    )


def _is_running(place: _Place, root: Path | None) -> bool | None:
    folder = root or place.folder
    return None if folder is None else is_claimed(folder, place.job.name)


def _look_at_tables(places: list[_Place], root: Path | None, at_ms: int) -> StoredLook:
    if root is None:
        return StoredLook()
    expected = {
        contract.name
        for one in places
        if one.was_started
        for contract in one.job.contracts
    }
    there = list_tables(root)
    missing = sorted(expected - {*there})
    unread: list[str] = []
    runs = {one: _read_run(root, one, there, unread) for one in (MAINTENANCE, CHECKS)}
    quarantined = None
    if QUARANTINE.name in there:
        try:
            quarantined = count_quarantined(root, QUARANTINE.name, at_ms - MS_PER_HOUR)
        except UnreadableTable as error:
            unread.append(str(error))
    return StoredLook(
        tables=(
            *(look_at_table(root, name) for name in there),
            *(TableLook(name=name, is_there=False) for name in missing),
        ),
        quarantined=quarantined,
        maintenance=runs[MAINTENANCE],
        checks=runs[CHECKS],
        is_maintained=is_claimed(root, _MAINTENANCE_JOB),
        unread=tuple(unread),
    )


def _read_run(
    root: Path, runs: RunTable, there: list[str], unread: list[str]
) -> RunLook | None:
    if runs.name not in there:
        return None
    try:
        return read_newest_run(root, runs)
    except UnreadableTable as error:
        unread.append(str(error))
        return None
