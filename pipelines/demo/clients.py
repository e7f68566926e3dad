"""Real Kafka clients for the demo: they exchange records, through the proxy."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, ThrottleEvent
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kio.schema.alter_client_quotas.v1 import request as quotas
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import f64

# The one line that an application changes to have its configuration seen.
from pipelines.clients import Consumer, Producer
from pipelines.errors import MissingService
from pipelines.kafka_wire.access import read_access
from pipelines.kafka_wire.client import ClusterClient
from pipelines.kafka_wire.faults import ClusterFault

PRODUCER = "producer"
CONSUMER = "consumer"
_PRODUCER_NAMES = ("orders", "payments", "clickstream", "inventory", "audit")
_CONSUMER_NAMES = ("billing", "shipping", "search-index", "fraud", "reports")
GROUPS = ("back-office", "analytics")
_POLL_S = 0.2
TOPIC = "demo"
_TOPIC_S = 30
QUOTA_KEY = "producer_byte_rate"
QUOTA_BYTES_PER_S = 512.0
"""Less than a producer of the demo sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoClient:
    """One client that the demo starts."""

    client_id: str
    client_type: str
    group_id: str | None = None


def plan_clients(count: int) -> list[DemoClient]:
    """Name `count` clients, half producers and half consumers in two groups."""
    planned = []
    for index in range(count):
        place, is_consumer = divmod(index, 2)
        names = _CONSUMER_NAMES if is_consumer else _PRODUCER_NAMES
        turn, which = divmod(place, len(names))
        client_id = f"{names[which]}-{turn + 1}"
        planned.append(
            DemoClient(
                client_id=client_id,
                client_type=CONSUMER if is_consumer else PRODUCER,
                group_id=GROUPS[place % len(GROUPS)] if is_consumer else None,
            )
        )
    return planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One value of a quota entity."""

    entity: Mapping[str, str | None]
    """Entity types to names; None is the default entity."""
    key: str
    value: float


def create_topics(
    bootstrap_servers: str, topics: Mapping[str, int], replicas: int = 1
) -> None:
    """Create the topics that the clients write and read, by their partitions.

    Raises: MissingService where the cluster does not answer or refuses.
    """
    # It is no client of the demo's, so nothing is said of it.
    config: dict[str, str | int | float | bool] = {
        "bootstrap.servers": bootstrap_servers,
        "enable.metrics.push": False,
    }
    admin = AdminClient(config, logger=make_quiet())
    asked = admin.create_topics(
        [NewTopic(name, count, replicas) for name, count in topics.items()]
    )
    for name, made in asked.items():
        try:
            made.result(_TOPIC_S)
        except KafkaException as error:
            raise MissingService(
                f"Kafka at {bootstrap_servers}: no topic {name}: {error.args[0].str()}"
            ) from None


def set_quotas(bootstrap_servers: str, wanted: Sequence[Quota]) -> None:
    """Set quotas that clients of the demo are throttled by.

    Raises: MissingService where the cluster does not answer or refuses.
    """
    entries = tuple(
        quotas.EntryData(
            entity=tuple(
                quotas.EntityData(entity_type=kind, entity_name=name)
                for kind, name in quota.entity.items()
            ),
            ops=(quotas.OpData(key=quota.key, value=f64(quota.value), remove=False),),
        )
        for quota in wanted
    )
    request = quotas.AlterClientQuotasRequest(entries=entries, validate_only=False)

    async def alter() -> AlterClientQuotasResponse:
        connection = {
            "bootstrap.servers": bootstrap_servers,
            "security.protocol": "PLAINTEXT",
        }
        client = ClusterClient(read_access(connection), client_id="demo")
        try:
            return await client.ask(request, AlterClientQuotasResponse)
        finally:
            await client.close()

    try:
        answers = asyncio.run(alter()).entries
    except ClusterFault as fault:
        raise MissingService(
            f"Kafka at {bootstrap_servers}: no quota: {fault}"
        ) from None
    for altered in answers:
        if altered.error_code is not ErrorCode.none:
            raise MissingService(
                f"Kafka at {bootstrap_servers}: no quota: {altered.error_message}"
            )


class ThrottledUntil:
    """The moment until which brokers hold a client back, by the monotonic clock."""

    def __init__(self) -> None:
        """Begin with none."""
        self.until = 0.0

    def note(self, event: ThrottleEvent) -> None:
        """Take what librdkafka tells of an answer with a throttle time."""
        self.until = max(self.until, time.monotonic() + event.throttle_time)


@contextmanager
def running_clients(
    clients: Sequence[DemoClient], bootstrap_servers: str
) -> Iterator[None]:
    """Keep the clients connected until the block ends, then close them."""
    stop = threading.Event()
    threads = [
        threading.Thread(
            target=_run_client, args=(client, bootstrap_servers, stop), daemon=True
        )
        for client in clients
    ]
    with ExitStack() as stack:
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
        stack.callback(stop.set)
        yield


def make_quiet() -> logging.Logger:
    """Return a log that keeps what librdkafka says off the screen."""
    quiet = logging.getLogger(f"{__name__}.librdkafka")
    quiet.setLevel(logging.CRITICAL)
    return quiet


def _run_client(
    client: DemoClient, bootstrap_servers: str, stop: threading.Event
) -> None:
    config = {
        "bootstrap.servers": bootstrap_servers,
        "client.id": client.client_id,
        "logger": make_quiet(),
        "error_cb": expect_error,
    }
    if client.client_type == PRODUCER:
        _produce({**config, "linger.ms": 50}, client, stop)
        return
    consumer = Consumer(
        {**config, "group.id": client.group_id, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([TOPIC])
    while not stop.is_set():
        consumer.poll(_POLL_S)
    consumer.close()


def _produce(
    config: dict[str, object], client: DemoClient, stop: threading.Event
) -> None:
    """Send records, none while a quota holds back those before it.

    librdkafka takes a whole core where records wait for the end of a throttling.
    """
    throttled = ThrottledUntil()
    producer = Producer({**config, "throttle_cb": throttled.note})
    number = 0
    while not stop.is_set():
        if time.monotonic() >= throttled.until:
            number += 1
            producer.produce(
                TOPIC, f"{client.client_id} {number}", key=client.client_id
            )
        producer.poll(_POLL_S)
    producer.flush(_POLL_S)


def expect_error(_error: KafkaError) -> None:
    """Take what librdkafka reports while the demo ends before its connections."""
