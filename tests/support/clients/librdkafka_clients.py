"""Clients of librdkafka of each kind, used until told."""

import contextlib
import threading

from confluent_kafka import Consumer, Producer, ShareConsumer
from confluent_kafka.admin import AdminClient

from tests.support.bridge.proxy_support import QUIET

PATIENCE_S = 300


@contextlib.contextmanager
def librdkafka_clients(site, servers, clients):
    """Use librdkafka's clients, all in one thread, during a block."""
    used = []
    for one in clients:
        config = {
            "bootstrap.servers": servers[one.protocol],
            "client.id": one.client_id,
            **site.librdkafka_config(one.protocol),
        }
        used.append(USES[one.kind](site, one.kind, config))
    is_over, errors = threading.Event(), []

    def use():
        try:
            while not is_over.is_set():
                for step, _ in used:
                    step()
            for _, close in used:
                close()
        except Exception as error:  # noqa: BLE001 - told where the block ends
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(PATIENCE_S)
    assert errors == []


def use_producer(site, _kind, config):
    """Return what uses a client once, and what closes it; so do the others."""
    producer = Producer(config, logger=QUIET)

    def step():
        producer.produce(site.data, b"value")
        producer.poll(0.01)

    return step, lambda: producer.flush(PATIENCE_S)


def use_consumer(site, kind, config):
    group = {"group.id": config["client.id"], "group.protocol": kind}
    consumer = Consumer(config | group, logger=QUIET)
    consumer.subscribe([site.data])
    return lambda: consumer.poll(0.01), consumer.close


def use_share_consumer(site, _kind, config):
    consumer = ShareConsumer(config | {"group.id": config["client.id"]}, logger=QUIET)
    consumer.subscribe([site.data])
    return lambda: consumer.poll(0.01), consumer.close


def use_admin(_site, _kind, config):
    admin = AdminClient(config, logger=QUIET)
    return lambda: admin.list_topics(timeout=PATIENCE_S), lambda: None


USES = {
    "producer": use_producer,
    "classic": use_consumer,
    "consumer": use_consumer,
    "share": use_share_consumer,
    "admin": use_admin,
}
