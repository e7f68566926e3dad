"""Clients that set, describe and resolve dynamic client configs at a bridge."""

import json
import threading
import time

from confluent_kafka import Consumer, TopicPartition

from pipelines.kafka_client.blocking_link import Deadline, open_link
from pipelines.kafka_client.client_configs import (
    Alteration,
    Component,
    DescribeRequest,
    Match,
    Op,
    alter_client_configs,
    describe_client_configs,
    read_altered,
    read_described,
)
from pipelines.kafka_client.messages import api_versions, read_api_versions

PATIENCE_S = 120


def user(name):
    return (("user", name),)


def client(name, client_id):
    return (("user", name), ("client-id", client_id))


def set_configs(entity, **values):
    """Return the alteration that sets keys, `_` in their names for `.`."""
    ops = (Op(key.replace("_", "."), value) for key, value in values.items())
    return Alteration(entity, tuple(ops))


def _ask(request):
    return (yield request)


class ConfigClient:
    """One connection; close it."""

    def __init__(self, address, client_id="admin"):
        self._link = open_link(address, None, client_id, Deadline(PATIENCE_S))

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.close()

    def close(self):
        self._link.close()

    def ask(self, request):
        return self._link.hold(_ask(request), Deadline(PATIENCE_S))

    def name_software(self, name, version):
        """Say what the client is; return the API keys that are served."""
        return read_api_versions(self.ask(api_versions(name, version)))[1]

    def alter(self, *alterations, validate_only=False):
        """Return error code and text of each entity."""
        request = alter_client_configs(alterations, validate_only=validate_only)
        _, altered = read_altered(self.ask(request))
        assert [one.entity for one in altered] == [one.entity for one in alterations]
        return [(one.error_code, one.error_message) for one in altered]

    def describe(self, *components, strict=False, **others):
        """Return the whole answer; no component is any user."""
        wanted = components or (Component("user", Match.ANY, None),)
        request = DescribeRequest(tuple(wanted), strict=strict, **others)
        return read_described(self.ask(describe_client_configs(request)))

    def wait_loaded(self):
        """Ask until the bridge has read all; it says 14 until then."""
        deadline = time.monotonic() + PATIENCE_S
        while (code := self.describe().error_code) == 14:
            assert time.monotonic() < deadline
            threading.Event().wait(0.05)
        assert code == 0

    def find_all(self):
        """Return every entity and its values."""
        described = self.describe()
        assert described.error_code == 0, described
        return {one.entity: one.values for one in described.entries}

    def resolve(self, supported=None):
        """Return what applies to this client, or the error code."""
        request = DescribeRequest((), supported, resolve_entity=True)
        described = read_described(self.ask(describe_client_configs(request)))
        if described.error_code:
            return described.error_code
        (entry,) = described.entries
        return entry.values


def wait_loaded(address):
    """Wait until a bridge has read all."""
    with ConfigClient(address) as one:
        one.wait_loaded()


def read_store(servers, topic):
    """Return key and value of each record that is committed, in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    records = []
    while (
        message := consumer.poll(PATIENCE_S)
    ) is not None and message.error() is None:
        records.append((message.key(), json.loads(message.value() or b"null")))
    consumer.close()
    return records
