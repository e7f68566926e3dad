"""The keys of a push say what pushed it, or that they do not say."""

import functools
import operator

import pyarrow as pa
import pytest

from pipelines.settings import load_client_type_keys
from udfs.configs import default_config_keys
from udfs.configs.client_types import (
    find_possible_types,
    infer_client_types,
    make_client_type_keys,
    name_client_types,
)
from udfs.configs.key_lists import ADMIN, CONSUMER, PRODUCER, SHARE_CONSUMER

DEFAULT_KEYS = {
    PRODUCER: default_config_keys.PRODUCER_KEYS,
    CONSUMER: default_config_keys.CONSUMER_KEYS,
    SHARE_CONSUMER: default_config_keys.SHARE_CONSUMER_KEYS,
    ADMIN: default_config_keys.ADMIN_KEYS,
}
TYPE_KEYS = make_client_type_keys(load_client_type_keys())


def infer(*pushes):
    keys = pa.array(pushes, pa.list_(pa.string()))
    return infer_client_types(keys, TYPE_KEYS).to_pylist()


@pytest.mark.parametrize("client_type", DEFAULT_KEYS)
def test_what_is_pushed_by_default_says_who_pushed_it(client_type):
    assert infer(sorted(DEFAULT_KEYS[client_type])) == [client_type]


@pytest.mark.parametrize(
    ("keys", "client_type"),
    [
        (["client.id", "compression.type"], "producer"),
        (["client.id", "max.partition.fetch.bytes", "isolation.level"], "consumer"),
        (["group.id", "share.acquire.mode"], "share_consumer"),
        (["bootstrap.controllers"], "admin"),
        (["client.id", "num.stream.threads"], "streams"),
        (["queue.buffering.max.kbytes"], "producer"),
        (["client.id", "default.api.timeout.ms", "retries"], "admin"),
        (["acks", "com.acme.x"], "producer"),
        (["client.id"], None),
        (["metadata.max.age.ms"], None),
        (["client.id", "connections.max.idle.ms", "retries"], None),
        (["group.id", "max.poll.records"], None),
        (["acks", "isolation.level"], None),
        (["com.acme.x"], None),
        ([], None),
    ],
)
def test_a_type_is_the_only_one_that_knows_all_keys(keys, client_type):
    assert infer(keys) == [client_type]


def test_pushes_of_a_client_say_it_together():
    """Whatever their order, and though one of them alone says nothing."""
    pushes = [["client.id", "group.id"], ["client.id"], ["group.instance.id"], []]
    possible = find_possible_types(pa.array(pushes, pa.list_(pa.string())), TYPE_KEYS)
    together = functools.reduce(operator.and_, possible.to_pylist())
    assert name_client_types(pa.array([together])).to_pylist() == ["consumer"]


def test_pushes_do_not_touch_each_other():
    assert infer(["acks"], [], ["group.instance.id"]) == ["producer", None, "consumer"]
    whole = pa.array([["acks"], ["group.instance.id"]], pa.list_(pa.string()))
    assert infer_client_types(whole.slice(1), TYPE_KEYS).to_pylist() == ["consumer"]
    assert infer() == []
