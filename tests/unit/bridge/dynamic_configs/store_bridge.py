"""The handlers of one bridge, over a topic that a test holds in its hands."""

import asyncio
from dataclasses import replace

from pipelines.bridge.core.handlers import Connection, RequestHandlers, make_identity
from pipelines.bridge.dynamic_configs.handlers import DynamicConfigHandlers
from pipelines.bridge.dynamic_configs.state import Place, StoredRecord
from pipelines.bridge.dynamic_configs.writing import StoreWriter
from pipelines.bridge.protocol.requests import parse_request
from pipelines.kafka_client.client_configs import (
    Component,
    DescribeRequest,
    alter_client_configs,
    describe_client_configs,
    read_altered,
    read_described,
)
from pipelines.kafka_client.messages import write_frame
from pipelines.settings.dynamic_config_settings import DynamicConfigSettings
from udfs.dynamic_configs import read_record

ADMIN, BOB = "User:admin", "User:bob"
ANY = (Component("user", 2, None),)
SETTINGS = DynamicConfigSettings(
    enabled=True, describe_api_key=10_050, alter_api_key=10_051, keys_location="",
    alter_timeout_ms=200, max_registrations_per_user=2,
    max_registrations_per_connection=3, max_registrations_per_hour=5,
)  # fmt: skip


class Topic:
    """A topic of the store, which comes back at once unless it is told not to."""

    def __init__(self, state, place):
        self.transactions, self.fault, self.comes_back = [], None, True
        self._state, self._place = state, place
        self._end = 0

    def connect(self, writer):
        self._writer = writer

    async def publish(self, records, _deadline_s):
        if self.fault is not None:
            raise self.fault
        self.transactions.append(
            [read_record(one.key, one.value, 5) for one in records]
        )
        self._stored = [
            StoredRecord(self._end + n, one.key, one.value, 5)
            for n, one in enumerate(records)
        ]
        self._end += len(records)
        if self.comes_back:
            self.read_back()
        return self._end - 1

    def read_back(self):
        self._state.apply(self._stored, self._place)
        self._writer.note_read(self._stored, self._place)

    def recreate(self):
        """Have no records any more; the reader does not notice yet."""
        self._end = 0


class Bridge:
    """The handlers of one bridge, which has read its empty topics."""

    def __init__(self, judge, rules, state, counters):
        topics = {place: Topic(state, place) for place in Place}
        self.topic, self.registrations = topics.values()
        self.state = state
        self.now_ms = 1_000
        self.writer = StoreWriter(
            judge, state, topics,
            alter_timeout_ms=SETTINGS.alter_timeout_ms,
            max_registrations_per_user=SETTINGS.max_registrations_per_user,
            now_ms=lambda: self.now_ms, counters=counters,
        )  # fmt: skip
        for topic in topics.values():
            topic.connect(self.writer)
        own = DynamicConfigHandlers(
            settings=SETTINGS, admin_principals=[ADMIN], rules=rules, state=state,
            writer=self.writer, now_ms=lambda: self.now_ms,
        )  # fmt: skip
        self._handlers = RequestHandlers(own.served())
        for place in Place:
            state.note_end(place)

    def send(
        self, request, principal, client_id="app", version="4.3.1", connection=None
    ):
        """Return the list that the reply's body will be in.

        has_replied is set when it is.
        """
        identity = replace(
            make_identity("L", "127.0.0.1", 1), principal=principal,
            client_software_name="apache-kafka-java", client_software_version=version,
        )  # fmt: skip
        connection = connection or Connection(connection_id=1, identity=identity)
        frame = write_frame(request, 7, client_id)[4:]
        replies, self.has_replied = [], asyncio.Event()
        has_replied = self.has_replied

        def take(reply):
            replies.append(reply[8:])
            has_replied.set()

        parsed = parse_request(frame, self._handlers.apis)
        self._handlers.handle(parsed, connection, take)
        return replies

    def describe(self, *components, principal=ADMIN, client_id="app", **asked):
        version = asked.pop("version", "4.3.1")
        connection = asked.pop("connection", None)
        request = describe_client_configs(DescribeRequest(tuple(components), **asked))
        (body,) = self.send(request, principal, client_id, version, connection)
        return read_described(body)

    def resolve(self, principal, client_id="app", *components):
        described = self.describe(
            *components, principal=principal, client_id=client_id, resolve_entity=True
        )
        assert described[:3] == (0, 0, None)
        ((entity, values),) = described.entries
        return entity, values

    def begin(self, *alterations, principal=ADMIN, validate_only=False):
        request = alter_client_configs(alterations, validate_only=validate_only)
        return self.send(request, principal)

    async def alter(self, *alterations, **others):
        replies = self.begin(*alterations, **others)
        async with asyncio.timeout(10):
            await self.has_replied.wait()
        (body,) = replies
        return [(one.error_code, one.error_message) for one in read_altered(body)[1]]


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)
