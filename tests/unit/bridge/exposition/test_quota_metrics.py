import math

from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from pipelines.bridge.exposition.client_labels import ClientLabels
from pipelines.bridge.exposition.quota_metrics import quota_metrics
from pipelines.bridge.quotas.limits import Tags
from pipelines.bridge.quotas.shares import ShareUse
from udfs.sensitive.sensitive_keys import compile_rules


class Shown:
    def __init__(self, *uses):
        self._uses = uses

    def collect(self):
        return quota_metrics(self._uses, ClientLabels(compile_rules([], {})))


def text_of(*uses):
    registry = CollectorRegistry()
    registry.register(Shown(*uses))
    return generate_latest(registry).decode()


def test_metrics_have_the_names_of_a_broker_and_both_tags():
    text = text_of(
        ShareUse("request_percentage", Tags("alice", ""), 12.5, 250.0, 3),
        ShareUse("producer_byte_rate", Tags("", "app-1"), 1_024.0, math.nan, 0),
    )
    for line in (
        'kafka_server_Request_request_time{client_id="",user="alice"} 12.5',
        'kafka_server_Request_throttle_time{client_id="",user="alice"} 250.0',
        'kafka_server_Produce_byte_rate{client_id="app-1",user=""} 1024.0',
        'kafka_server_Produce_throttle_time{client_id="app-1",user=""} NaN',
    ):
        assert line in text.splitlines()


def test_bytes_may_count_against_what_consumers_have():
    text = text_of(ShareUse("consumer_byte_rate", Tags("a%20b", "c"), 1.0, math.nan, 0))
    assert 'kafka_server_Fetch_byte_rate{client_id="c",user="a%20b"} 1.0' in text


def test_without_limits_there_is_nothing():
    assert text_of().strip() == ""
