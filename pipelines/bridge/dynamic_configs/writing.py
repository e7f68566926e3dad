"""Alterations and registrations on their way to the store's topics and back.

Strategy: one at a time. An alteration is judged when its turn comes, over all that was
written before it here and has been read back; it is one transaction, and answered when
its records have come back from the topic, so that whoever asks next sees them.
Registrations wait behind alterations, and go together: each is for itself. They stand
in a topic of their own, which is compacted early. Readers of the configs' topic learn
from a record there that it has grown; few such records are written.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kio.schema.errors import ErrorCode

from pipelines.bridge.protocol.client_configs import AlterRequest
from pipelines.kafka_client.client_configs import Altered, Entity
from pipelines.kafka_wire.records import TopicFault, WrittenRecord
from udfs.dynamic_configs import (
    ConfigRecord,
    RegistrationsWritten,
    SupportedRecord,
    record_key,
    record_value,
)
from udfs.dynamic_configs.records import CLIENT_ID, USER

from .dynamic_counters import DynamicConfigCounters
from .refusals import Refusal, invalid, refuse_all
from .rules import AlterationRules
from .state import DynamicState, Place, StoredRecord

logger = logging.getLogger(__name__)

MAX_WAITING_ALTERATIONS = 5_000
MAX_WAITING_REGISTRATIONS = 10_000
_MOST_REGISTRATIONS = 500
"""Of one transaction; an alteration that comes meanwhile waits for it."""
TELL_EVERY_S = 300.0
"""Least time between two records that tell of new registrations."""
_NOT_TAKEN = "Kafka has not taken the alteration ({}); it may stand there all the same."
_LATE = "it has not come back in time"
_TOO_MANY = Refusal(
    ErrorCode.request_timed_out, "Too many alterations wait; nothing was altered."
)
_STOPPING = Refusal(
    ErrorCode.request_timed_out,
    "The bridge stops; the alteration may stand there all the same.",
)

Finish = Callable[[Sequence[Altered]], None]
"""Takes what came of an alteration, once."""


class StoreTopic(Protocol):
    """Where records are written; times are those of the event loop."""

    async def publish(self, records: Sequence[WrittenRecord], deadline_s: float) -> int:
        """Write all of them or none; return the offset of the last.

        Raises: TopicFault; then they may stand there all the same.
        """


class AlterJob(NamedTuple):
    """One request that alters."""

    request: AlterRequest
    principal: str
    finish: Finish


class _Judged(NamedTuple):
    altered: list[Altered]
    """In the order of the request."""
    records: list[WrittenRecord]


class _ReadBack:
    """A topic whose records count as written when they have come back."""

    def __init__(self, topic: StoreTopic) -> None:
        self._topic = topic
        self._has_read = asyncio.Event()
        self._read_to = 0

    def note_read(self, records: Sequence[StoredRecord]) -> None:
        if records:
            self._read_to = records[-1].offset + 1
            self._has_read.set()

    async def write(self, records: Sequence[WrittenRecord], deadline_s: float) -> None:
        """Write, and wait until that has come back.

        Raises: TopicFault, TimeoutError.
        """
        read_to = self._read_to
        last = await self._topic.publish(records, deadline_s)
        if last < read_to == self._read_to:
            # The topic was recreated, and its reader has not noticed yet.
            self._read_to = 0
        async with asyncio.timeout_at(deadline_s):
            while self._read_to <= last:
                self._has_read.clear()
                await self._has_read.wait()


class StoreWriter:
    """Writes what one bridge is asked to; lives in one event loop."""

    def __init__(
        self,
        rules: AlterationRules,
        state: DynamicState,
        topics: Mapping[Place, StoreTopic],
        *,
        alter_timeout_ms: int,
        max_registrations_per_user: int,
        now_ms: Callable[[], int],
        counters: DynamicConfigCounters,
    ) -> None:
        self._rules, self._state = rules, state
        self._topics = {place: _ReadBack(topic) for place, topic in topics.items()}
        self._timeout_s = alter_timeout_ms / 1_000
        self._max_registrations = max_registrations_per_user
        self._now_ms = now_ms
        self._counters = counters
        self.keys = frozenset(rules.keys)
        """Names of the keys that may be set."""
        self._jobs: deque[tuple[AlterJob, float]] = deque()
        self._registrations: dict[bytes, SupportedRecord] = {}
        self._has_work = asyncio.Event()
        self._is_to_tell = False
        """Whether readers have not been told of the newest registrations."""
        self._tell_at_s = 0.0
        """When they may be, by the clock of the event loop."""

    def alter(self, job: AlterJob) -> None:
        """Take an alteration; its finish is called once, now or later."""
        alterations = job.request.alterations
        if job.request.validate_only:
            job.finish(self._judge(job).altered)
        elif len(self._jobs) >= MAX_WAITING_ALTERATIONS:
            job.finish(refuse_all(alterations, _TOO_MANY))
        else:
            deadline_s = asyncio.get_running_loop().time() + self._timeout_s
            self._jobs.append((job, deadline_s))
            self._has_work.set()

    def register(self, record: SupportedRecord, is_allowed: Callable[[], bool]) -> None:
        """Write a registration some time, where it says something new.

        Args:
            record: The registration.
            is_allowed: Asked once if a record is to be written; counts it.
        """
        key = record_key(record)
        held = self._registrations.get(key) or self._state.registrations_of(
            record.user_name
        ).get(key)
        if held is not None and held.config_keys == record.config_keys:
            return
        is_full = len(self._registrations) >= MAX_WAITING_REGISTRATIONS
        # A topic that cannot be read back would hold up alterations.
        if is_full or not self._state.is_complete or not is_allowed():
            self._counters.lost_registrations += 1
            return
        self._registrations[key] = record
        self._has_work.set()

    def tell_registrations(self) -> None:
        """Tell readers of the configs' topic of registrations, now or later."""
        self._is_to_tell = True
        self._has_work.set()

    def note_read(self, records: Sequence[StoredRecord], place: Place) -> None:
        """Note how far a topic has been read and applied."""
        self._topics[place].note_read(records)

    async def run(self) -> None:
        """Write for ever; whoever waits at the end is told that the bridge stops."""
        job = None
        if self._registrations:
            # Left over from a run that ended by an error.
            self._has_work.set()
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    told_at_s = self._tell_at_s if self._is_to_tell else None
                    async with asyncio.timeout_at(told_at_s):
                        await self._has_work.wait()
                self._has_work.clear()
                while self._jobs or self._registrations:
                    if self._jobs:
                        job, deadline_s = self._jobs.popleft()
                        altered = await self._alter(job, deadline_s)
                        done, job = job, None
                        done.finish(altered)
                    else:
                        await self._write_registrations()
                await self._tell()
        finally:
            left = [job] if job is not None else []
            for one in [*left, *(waiting for waiting, _ in self._jobs)]:
                one.finish(refuse_all(one.request.alterations, _STOPPING))
            self._jobs.clear()

    async def _alter(self, job: AlterJob, deadline_s: float) -> list[Altered]:
        altered, records = self._judge(job)
        if not records:
            return altered
        try:
            await self._topics[Place.CONFIGS].write(records, deadline_s)
        except (TopicFault, TimeoutError) as error:
            self._counters.failed_alterations += 1
            text = _NOT_TAKEN.format(str(error) or _LATE)
            logger.warning(text)
            code = ErrorCode.request_timed_out
            return [
                one if one.error_code else Altered(code, text, one.entity)
                for one in altered
            ]
        self._counters.altered_keys += len(records)
        for one in altered:
            logger.info(
                "%s alters dynamic configs of %r: %s",
                *(job.principal, dict(one.entity).get(USER)),
                ErrorCode(one.error_code).name,
            )
        return altered

    def _judge(self, job: AlterJob) -> _Judged:
        altered, records = [], []
        seen = set[Entity]()
        for one in job.request.alterations:
            entity = tuple(sorted(one.entity, key=lambda part: part[0] != USER))
            judged = self._rules.judge(one, self._state.find(entity))
            refusal = judged.refusal
            if refusal is None and entity in seen:
                refusal = invalid("Ignoring duplicate entity in one request.")
            seen.add(entity)
            if refusal is not None:
                altered.append(Altered(refusal.error_code, refusal.message, one.entity))
                continue
            altered.append(Altered(0, None, one.entity))
            records += self._make_records(entity, judged.changes.items(), job)
        return _Judged(altered, records)

    def _make_records(
        self,
        entity: Entity,
        changes: Iterable[tuple[str, str | None]],
        job: AlterJob,
    ) -> list[WrittenRecord]:
        names, now_ms = dict(entity), self._now_ms()
        client_id = names.get(CLIENT_ID)
        records = [
            ConfigRecord(
                user_name=names[USER] or "",
                client_id=client_id,
                is_default_client_id=CLIENT_ID in names and client_id is None,
                config_key=key,
                config_value=value,
                altered_by=job.principal,
                altered_at_ms=now_ms,
            )
            for key, value in changes
        ]
        return [WrittenRecord(record_key(one), record_value(one)) for one in records]

    async def _write_registrations(self) -> None:
        taken = list(self._registrations.items())[:_MOST_REGISTRATIONS]
        records = [WrittenRecord(key, record_value(one)) for key, one in taken]
        records += [WrittenRecord(key, None) for key in self._find_oldest(dict(taken))]
        deadline_s = asyncio.get_running_loop().time() + self._timeout_s
        try:
            await self._topics[Place.REGISTRATIONS].write(records, deadline_s)
        except (TopicFault, TimeoutError) as error:
            self._counters.lost_registrations += len(taken)
            logger.warning("supported configs are not registered: %s", error)
        else:
            self._is_to_tell = True
        for key, record in taken:
            if self._registrations.get(key) is record:
                del self._registrations[key]

    async def _tell(self) -> None:
        """Tell readers of the configs' topic of registrations, where it is time."""
        now_s = asyncio.get_running_loop().time()
        if self._is_to_tell and now_s >= self._tell_at_s:
            self._tell_at_s = now_s + TELL_EVERY_S
            told = RegistrationsWritten(self._now_ms())
            records = [WrittenRecord(record_key(told), record_value(told))]
            deadline_s = now_s + self._timeout_s
            try:
                await self._topics[Place.CONFIGS].write(records, deadline_s)
            except (TopicFault, TimeoutError) as error:
                logger.warning(
                    "Reporting registrations to the topic of configs failed: %s", error
                )
            else:
                self._is_to_tell = False

    def _find_oldest(self, coming: dict[bytes, SupportedRecord]) -> list[bytes]:
        """Return the keys of registrations that make room for others of their users."""
        oldest: list[bytes] = []
        for user_name in {one.user_name for one in coming.values()}:
            held = self._state.registrations_of(user_name)
            new = [k for k, one in coming.items() if one.user_name == user_name]
            excess = len({*held, *new}) - self._max_registrations
            if excess > 0:
                others = [key for key in held if key not in coming]
                others.sort(key=lambda key: held[key].registered_at_ms)
                oldest += others[:excess]
        return oldest
