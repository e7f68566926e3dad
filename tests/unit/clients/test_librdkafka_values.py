"""Each value in force is the one that a handle of librdkafka says it has."""

import pytest

from pipelines.clients.catalogs import load_librdkafka_catalog
from pipelines.clients.configs_in_force import LibrdkafkaConfigs
from pipelines.clients.key_lists import CONSUMER, PRODUCER
from pipelines.clients.own_configs import OWN_CONFIGS
from tests.unit.clients.librdkafka_conf import (
    CONSUMER_TYPE,
    PRODUCER_TYPE,
    read_handle,
)

OF_THE_BUILD = {"builtin.features", "log_level", "sasl.kerberos.kinit.cmd"}
"""What the catalog, made of a page, has in other words."""

PRODUCERS = [
    {},
    {"enable.idempotence": "t"},
    {"transactional.id": "t", "transaction.timeout.ms": "7000"},
    *({"linger.ms": text} for text in ("0", "0.5", "5.0", "20.50", "1e2", "+7", ".5", "7ms")),
    *({"message.timeout.ms": text} for text in ("0", "3", "5", "6")),
    {"message.timeout.ms": "3", "linger.ms": "2"},
    *({"max.in.flight": text} for text in ("+3", "007", "010", "0x10", " 5 ", "12 apples")),
    {"message.max.bytes": "0x10000"},
    {"batch.size": "9999999999"},
    {"retries": "0"},
    *({"compression.type": text} for text in ("GZIP", " Zstd", "none")),
    *({"acks": text} for text in ("0", " 1", "-1", "all", "ALL")),
    {"security.protocol": "PlainText"},
    {"broker.address.family": "V4"},
    {"sasl.oauthbearer.assertion.algorithm": "rs256"},
    {"partitioner": "murmur2"},
    *({"client.id": text} for text in ("", " ", " x ", "\tx", "\u00a0x")),
    {"client.rack": "  "},
    {"debug": " "},
    {"sasl.username": " u ", "sasl.password": " pw "},
    {"topic.metadata.refresh.interval.ms": "1000"},
    {"topic.metadata.refresh.interval.ms": "-1"},
    {"retry.backoff.ms": "0x32"},
    {"queue.buffering.max.kbytes": "010"},
]  # fmt: skip
CONSUMERS = [
    {},
    {"group.id": " g "},
    {"isolation.level": "READ_UNCOMMITTED"},
    {"group.protocol": "Consumer"},
    {"enable.auto.commit": "F"},
    {"queued.max.messages.kbytes": "100"},
    {"fetch.message.max.bytes": "99999999"},
    {"offset.store.method": "NONE"},
]


def differences(client_type, kind, given):
    real = read_handle(kind, given)
    ours = LibrdkafkaConfigs(client_type, given, OWN_CONFIGS)
    found = {}
    for name, config in load_librdkafka_catalog().configs.items():
        own = ours._find_own(name)
        is_compared = own is not None and name in real and config.type_name != "CLASS"
        if not is_compared or name in OF_THE_BUILD:
            continue
        value = {"all": "-1"}.get(own.config_value, own.config_value)
        if value != real[name]:
            found[name] = (real[name], value)
    return found


@pytest.mark.parametrize("given", PRODUCERS, ids=str)
def test_a_producer_has_the_values_of_its_handle(given):
    assert differences(PRODUCER, PRODUCER_TYPE, given) == {}


@pytest.mark.parametrize("given", CONSUMERS, ids=str)
def test_a_consumer_has_the_values_of_its_handle(given):
    given = {"group.id": "g"} | given
    assert differences(CONSUMER, CONSUMER_TYPE, given) == {}
