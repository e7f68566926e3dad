"""What the records of a connection say of its cluster, as that becomes known."""

import uuid

import pytest
from kio.schema.errors import ErrorCode

from pipelines.bridge.core.client_identity import KnownCluster
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection
from pipelines.bridge.core.records import PushIds
from pipelines.bridge.telemetry.handlers import TelemetryHandlers
from udfs.sensitive.sensitive_keys import compile_rules

INTERVAL_MS = 1_000


class Pushing:
    """One connection whose client pushes once an interval."""

    def __init__(self, broker, identity):
        self.records, self.cluster, self.now_ms = [], KnownCluster(), 0
        self.broker = broker
        self.connection = Connection(connection_id=1, identity=identity)
        self.handlers = TelemetryHandlers(
            bridge_id="b",
            rules=compile_rules([], {}),
            instances=broker.instances,
            push_ids=PushIds(lambda _bits: 0),
            publish=lambda record, _done: self.records.append(record),
            now_ms=lambda: self.now_ms,
            counters=BridgeCounters(),
            cluster=self.cluster,
        )

    def push(self):
        """Push; return the headers that stay the same, the object itself."""
        self.now_ms += INTERVAL_MS
        push = self.broker.request(metrics=b"m", compression_type=4)
        self.handlers._take_push(1, push, self.connection, lambda _reply: None)
        return self.connection.headers


@pytest.fixture
def pushing(make_broker, identity):
    broker = make_broker()
    assert broker.get(0, uuid.UUID(int=7)) is ErrorCode.none
    made = Pushing(broker, identity)
    # The clock of the rules begins at the GET.
    made.now_ms = 1_700_000_000_000
    return made


def cluster_ids(pushing):
    return [dict(one.headers).get("cluster_id") for one in pushing.records]


def test_headers_of_a_connection_are_made_once_and_anew_when_the_cluster_is_known(
    pushing,
):
    unknown = pushing.push()
    assert pushing.push() is unknown
    pushing.cluster.note("first")
    known = pushing.push()
    assert known is not unknown
    # The same id comes with each look at the cluster.
    pushing.cluster.note(str(b"first", "ascii"))
    pushing.cluster.note(None)
    assert pushing.push() is known
    pushing.cluster.note("second")
    pushing.push()
    assert cluster_ids(pushing) == [None, None, b"first", b"first", b"second"]
