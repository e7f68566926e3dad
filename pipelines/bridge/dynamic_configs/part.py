"""Part of the bridge that serves dynamic client configs: keys, store and topics."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from prometheus_client.metrics_core import Metric

from pipelines.bridge.core.admins import check_principals
from pipelines.bridge.core.handlers import ServedRequest
from pipelines.bridge.core.parts import QuietPart
from pipelines.errors import InvalidSetting, MissingService, describe_exception
from pipelines.kafka_wire.records import TopicFault
from pipelines.kafka_wire.topics import (
    ensure_single_topic,
    plan_config_topic,
    plan_registration_topic,
)
from pipelines.readiness import READY, Readiness
from pipelines.settings.dynamic_config_keys import load_dynamic_config_keys
from pipelines.settings.records import Settings
from udfs.dynamic_configs.records import SUPPORTED_CONFIGS
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .dynamic_counters import DynamicConfigCounters
from .handlers import DynamicConfigHandlers
from .metrics import dynamic_config_metrics
from .rules import AlterationRules
from .state import DynamicState, Place, StoredRecord
from .store_topic import (
    ReadBatch,
    StoreTopicLink,
)
from .writing import (
    StoreWriter,
)

logger = logging.getLogger(__name__)

_RETRY_S = 5.0
_OPEN_S = 30.0
"""Longest wait for a transaction of an earlier life to end."""
_START_S = 60.0
"""Longest wait of a start for records of the store, before all else is served."""
_PLANS = {
    Place.CONFIGS: plan_config_topic,
    Place.REGISTRATIONS: plan_registration_topic,
}
_NOT_READ = "the dynamic client configs have not been read to their end"


class DynamicConfigPart(QuietPart):
    """Dynamic client configs of one bridge process; empty if not enabled."""

    def __init__(
        self,
        settings: Settings,
        kafka: Mapping[str, str],
        rules: SensitiveKeyRules,
        now_ms: Callable[[], int],
        is_kafka_found: Callable[[], bool] = lambda: True,
    ) -> None:
        """Read the file of keys; nothing is asked yet.

        Args:
            kafka: librdkafka's properties of [kafka]; the values hold secrets.
            rules: What may not be written.
            now_ms: Milliseconds since 1970-01-01T00:00:00Z.
            is_kafka_found: Returns whether [kafka] answers; asked by prepare.
        Raises: InvalidSetting.
        """
        self._is_kafka_found = is_kafka_found
        config = settings.dynamic_configs
        self.is_enabled = config.enabled
        self.counters = DynamicConfigCounters(is_enabled=config.enabled)
        self._settings, self._kafka = settings, kafka
        self._fault = ""
        self._without_topic = {*Place}
        """Topics that were neither found nor created."""
        self._awaited = {*Place}
        """Topics that the start waits for."""
        self._may_serve = asyncio.Event()
        self._batches = 0
        """Batches that were read."""
        self._running: asyncio.Task[None] | None = None
        self._handlers: DynamicConfigHandlers | None = None
        if not config.enabled:
            return
        _check_api_keys(settings)
        names = [name for one in settings.sensitive_keys.software for name in one.names]
        keys = load_dynamic_config_keys(config.keys_location, rules, names)
        judge = AlterationRules(keys, rules)
        bridge = settings.bridge
        self._links = {
            place: StoreTopicLink(
                kafka,
                topic=self._name(place),
                bridge_id=bridge.bridge_id,
                replaceable=f"{SUPPORTED_CONFIGS}/".encode(),
            )
            for place in Place
        }
        self._state = DynamicState(judge, self.counters)
        self._writer = StoreWriter(
            judge,
            self._state,
            self._links,
            alter_timeout_ms=config.alter_timeout_ms,
            max_registrations_per_user=config.max_registrations_per_user,
            now_ms=now_ms,
            counters=self.counters,
        )
        self._handlers = DynamicConfigHandlers(
            settings=config,
            admin_principals=check_principals(bridge.admin_principals),
            rules=rules,
            state=self._state,
            writer=self._writer,
            now_ms=now_ms,
        )

    def handlers(self) -> Iterable[ServedRequest]:
        """Return both APIs of dynamic client configs."""
        return () if self._handlers is None else self._handlers.served()

    def metrics(self) -> Iterable[Metric]:
        """Return the counts of the store."""
        return dynamic_config_metrics(self.counters) if self.is_enabled else ()

    def readiness(self) -> Readiness:
        """Return whether the store has been read to its end."""
        if not self.is_enabled or self._state.is_complete:
            return READY
        return Readiness(f"{_NOT_READ}{self._fault and f' ({self._fault})'}")

    async def prepare(self) -> None:
        """Find or create the topics, and read until the store is complete.

        Clients are told to ask again until then. If the store cannot be read, or no
        record of it arrives in time, the bridge starts without it.
        Raises: InvalidSetting where a topic cannot be used.
        """
        if not self.is_enabled:
            return
        if self._is_kafka_found():
            for place in Place:
                await self._prepare(place)
        await self._start()

    async def _prepare(self, place: Place) -> None:
        """Find or make a topic. Raises: InvalidSetting where it cannot be used."""
        topics = self._settings.topics
        try:
            await ensure_single_topic(
                self._kafka,
                _PLANS[place](topics),
                topics,
                bridge_id=self._settings.bridge.bridge_id,
            )
        except MissingService as error:
            self._note_fault(str(error))
        else:
            self._without_topic.discard(place)

    async def _start(self) -> None:
        """Begin to read; wait until all is read, or cannot be read."""
        self._running = asyncio.create_task(self._run())
        for place in self._without_topic:
            self._note_start(place)
        seen = -1
        while not self._may_serve.is_set() and seen != self._batches:
            seen = self._batches
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._may_serve.wait(), _START_S)
        if not self._may_serve.is_set():
            self._note_fault(f"Kafka has sent no record of the store for {_START_S} s")

    async def run(self) -> None:
        """Read and write, for ever; ends at once where nothing is served."""
        if self._running is not None:
            await self._running

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for place in Place:
                group.create_task(self._follow(place))
            group.create_task(self._write())

    async def _wait_for_topic(self, place: Place) -> None:
        while place in self._without_topic:
            await asyncio.sleep(_RETRY_S)
            try:
                await self._prepare(place)
            except InvalidSetting as error:
                self._note_fault(str(error))

    async def close(self) -> None:
        """Wait for nothing any more."""
        if self._running is not None:
            self._running.cancel()
        if self.is_enabled:
            for link in self._links.values():
                link.close()

    async def _follow(self, place: Place) -> None:
        await self._wait_for_topic(place)
        while True:
            try:
                await self._links[place].follow(partial(self._take, place))
            except Exception as error:  # noqa: BLE001 - clients must not suffer from it
                self._note_fault(describe_exception(error))
            self._note_start(place)
            await asyncio.sleep(_RETRY_S)
            # It is read from the beginning, where what is gone does not stand.
            self._state.clear(place)

    async def _write(self) -> None:
        await self._wait_for_topic(Place.CONFIGS)
        loop = asyncio.get_running_loop()
        while True:
            try:
                await self._links[Place.CONFIGS].open(loop.time() + _OPEN_S)
                await self._writer.run()
            except TopicFault as error:
                self._note_fault(str(error))
            except Exception as error:  # noqa: BLE001 - clients must not suffer from it
                self._note_fault(describe_exception(error))
            await asyncio.sleep(_RETRY_S)

    def _take(self, place: Place, batch: ReadBatch) -> None:
        self._batches += 1
        if batch.fault:
            self._note_fault(batch.fault)
            self._note_start(place)
        if batch.is_anew:
            logger.warning("topic %s begins anew", self._name(place))
            self._state.clear(place)
        records = [StoredRecord(*one) for one in batch.records]
        for offset, reason in self._state.apply(records, place):
            logger.warning(
                "record %d of topic %s cannot be read (%s) and is passed over",
                *(offset, self._name(place), reason),
            )
        self._writer.note_read(records, place)
        if batch.is_at_end:
            self._note_end(place)

    def _note_end(self, place: Place) -> None:
        was_complete = self._state.is_complete
        self._state.note_end(place)
        self._note_start(place)
        if self._state.is_complete and not was_complete:
            self._fault = ""
            self._say_loaded()
            if self.counters.registrations:
                # The bridge may have stopped before it told of its last ones.
                self._writer.tell_registrations()

    def _note_start(self, place: Place) -> None:
        """Note that a start need not wait for a topic any more."""
        self._awaited.discard(place)
        if not self._awaited:
            self._may_serve.set()

    def _name(self, place: Place) -> str:
        name: str = getattr(self._settings.topics, place)
        return name

    def _say_loaded(self) -> None:
        counters = self.counters
        logger.info(
            "dynamic client configs are there: %d entities, %d registrations",
            *(counters.entities, counters.registrations),
        )
        if counters.unknown_values:
            logger.warning(
                "not given to clients, as this bridge's file of keys does not take "
                "them: %s",
                ", ".join(sorted(counters.unknown_values)),
            )

    def _note_fault(self, fault: str) -> None:
        self.counters.faults += 1
        if fault != self._fault:
            self._fault = fault
            logger.warning("dynamic client configs: %s", fault)


def _check_api_keys(settings: Settings) -> None:
    """Refuse numbers that two APIs would share. Raises: InvalidSetting."""
    config = settings.dynamic_configs
    taken = {"dynamic_configs.describe_api_key": config.describe_api_key}
    if settings.client_config.enabled:
        taken["client_config.api_key"] = settings.client_config.api_key
    taken["dynamic_configs.alter_api_key"] = config.alter_api_key
    names: dict[int, str] = {}
    for name, number in taken.items():
        if number in names:
            raise InvalidSetting(f"{name}: is {number}, as {names[number]} is")
        names[number] = name
