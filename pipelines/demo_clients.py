"""Real Kafka clients for the demo: they connect, they push their metrics, no more."""

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Producer

PRODUCER = "producer"
CONSUMER = "consumer"
_PRODUCER_NAMES = ("orders", "payments", "clickstream", "inventory", "audit")
_CONSUMER_NAMES = ("billing", "shipping", "search-index", "fraud", "reports")
_GROUPS = ("back-office", "analytics")
_POLL_S = 0.2


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
                group_id=_GROUPS[place % len(_GROUPS)] if is_consumer else None,
            )
        )
    return planned


@contextmanager
def running_clients(
    clients: list[DemoClient], bootstrap_servers: str
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


def _run_client(
    client: DemoClient, bootstrap_servers: str, stop: threading.Event
) -> None:
    quiet = logging.getLogger(f"{__name__}.librdkafka")
    quiet.setLevel(logging.CRITICAL)
    config = {
        "bootstrap.servers": bootstrap_servers,
        "client.id": client.client_id,
        "logger": quiet,
        "error_cb": _expect_error,
    }
    if client.client_type == PRODUCER:
        producer = Producer(config)
        while not stop.is_set():
            producer.poll(_POLL_S)
        producer.flush(_POLL_S)
        return
    consumer = Consumer({**config, "group.id": client.group_id})
    # The endpoint has no topics and no groups: the consumer looks for its coordinator
    # in vain, and pushes its metrics all the same.
    consumer.subscribe(["demo"])
    while not stop.is_set():
        consumer.poll(_POLL_S)
    consumer.close()


def _expect_error(_error: KafkaError) -> None:
    """Take librdkafka's report that there is no coordinator; see above."""
