"""Pipelines with a bad request are answered through the proxy as by the broker."""

import random
import secrets
from collections import Counter

from tests.long import proxy_pipelines as pipelines
from tests.support.bridge import pipeline_requests as requests
from tests.support.bridge.bridge_support import running_bridge
from tests.support.bridge.config_support import read_topic
from tests.support.bridge.proxy_support import (
    ProxiedClients,
    find_servers,
    proxy_settings,
)

COUNT = 300


def test_random_pipelines_are_answered_as_by_the_broker(kafka):
    seed = secrets.randbelow(10**9)
    with running_bridge(proxy_settings(kafka)) as (server, _endpoint):
        comparisons, stored = pipelines.compare(
            kafka, pipelines.find_broker(server), COUNT, seed
        )
    assert sum(one.kinds.total() for one in comparisons) == COUNT
    assert len(sum((one.kinds for one in comparisons), Counter())) == len(pipelines.BAD)
    for direct, proxied in stored:
        assert direct == proxied, seed


def test_what_was_produced_before_a_bad_request_is_there(kafka):
    rng = random.Random(1)  # noqa: S311 - repeatable
    with running_bridge(proxy_settings(kafka)) as (server, _endpoint):
        address = pipelines.parse_address(find_servers(server))
        clients = ProxiedClients(kafka.bootstrap_servers)
        for acks in (1, 0):
            topic = clients.create_topic(1, 1, **{"retention.ms": "-1"})
            # Its leader may not know it yet, and would tell nobody but who asks.
            assert read_topic(kafka, topic) == []
            asked = [
                requests.request(*requests.produce(rng, topic, acks=acks), number)
                for number in range(5)
            ]
            bad = requests.request(requests.METADATA, 99, b"", 5)
            answers = pipelines.send(
                address, b"".join(map(requests.framed, [*asked, bad]))
            )
            assert len(answers) == (5 if acks else 0)
            assert len(read_topic(kafka, topic)) == 5
