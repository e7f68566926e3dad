"""The page as Prometheus' own parser reads it."""

import math
import uuid
from types import SimpleNamespace

import pytest
from kio.schema.errors import ErrorCode
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pipelines.bridge.core.client_identity import uuid_text
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.instance_metrics import TopInstances
from pipelines.bridge.exposition.client_labels import ClientLabels
from pipelines.bridge.exposition.groups import group_metrics, jmx_name
from pipelines.bridge.operations.metrics import BridgeCollector, BridgeState
from pipelines.bridge.telemetry.metrics import TelemetryMetrics
from udfs.sensitive.sensitive_keys import compile_rules

OWN = "kafka_clientele_bridge_"
KAFKA = "kafka_server_client_metrics_"
LABELS = ClientLabels(compile_rules([], {}))
INSTANCE_ID = uuid.UUID(int=2**127 + 77)


class Page:
    """A collector whose clock is a number, read as text."""

    def __init__(self, limit=2):
        self.now_s = 100.0
        self.counters = BridgeCounters()
        self.top = TopInstances(limit, lambda: self.now_s)
        self.state = BridgeState(info={"version": "1"})
        self.instances = []
        self.telemetry = TelemetryMetrics(
            self.counters, self.top, self.instances.__len__, lambda: self.now_s, LABELS
        )
        part = SimpleNamespace(metrics=self.telemetry.collect)
        self.collector = BridgeCollector(self.counters, lambda: self.state, [part])

    def read(self):
        text = generate_latest(self.collector).decode()
        return {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }


@pytest.fixture
def page():
    return Page()


def test_names_are_those_of_the_jmx_exporter():
    assert jmx_name("client-metrics", "instance-count") == KAFKA + "instance_count"
    name = jmx_name("client-config", "policy-time-avg")
    assert name == "kafka_server_client_config_policy_time_avg"


def test_broker_metrics_without_an_instance_are_the_three_of_all(page):
    page.instances.extend(range(5))
    page.counters.count_refused_push(ErrorCode.unknown_subscription_id)
    read = page.read()
    assert {key: value for key, value in read.items() if key[0].startswith(KAFKA)} == {
        (KAFKA + "instance_count",): 5,
        (KAFKA + "unknown_subscription_request_count",): 1,
        (KAFKA + "unknown_subscription_request_rate",): pytest.approx(1 / 30),
    }


def test_rate_of_unknown_subscriptions_falls_when_they_end(page):
    page.counters.unknown_subscription_pushes = 60
    for _ in range(2):
        page.now_s += 30
        page.telemetry.turn()
    rate = page.read()[KAFKA + "unknown_subscription_request_rate",]
    assert rate == 0


def test_instance_has_eight_metrics_more(page):
    connection = SimpleNamespace(connection_id=1, seat=None, trouble=0)
    page.top.count_throttle(connection, INSTANCE_ID)
    page.top.count_export(connection, INSTANCE_ID, 40)
    label = ("client_instance_id", uuid_text(INSTANCE_ID))
    seen = {key[0]: value for key, value in page.read().items() if label in key[1:]}
    assert len(seen) == 8
    assert seen[KAFKA + "throttle_count"] == 1
    assert seen[KAFKA + "plugin_export_count"] == 1
    assert seen[KAFKA + "plugin_error_count"] == 0
    assert seen[KAFKA + "plugin_export_time_avg"] == 40
    assert seen[KAFKA + "plugin_export_time_max"] == 40
    page.top.release(connection)
    assert not [key for key in page.read() if label in key[1:]]


def test_times_before_the_first_export_are_nan(page):
    page.top.seat(SimpleNamespace(connection_id=1, seat=None, trouble=0), INSTANCE_ID)
    seen = {key[0]: value for key, value in page.read().items()}
    assert math.isnan(seen[KAFKA + "plugin_export_time_max"])


def test_refusals_have_their_reasons_and_codes(page):
    counters = page.counters
    counters.gets, counters.throttled_gets, counters.accepted_pushes = 10, 3, 50
    counters.too_large_pushes = counters.invalid_pushes = 1
    counters.throttled_pushes, counters.publish_timeouts = 4, 5
    counters.publish_overflows, counters.publish_failures = 6, 7
    counters.answers.add(3, None)
    read = page.read()

    def requests(api_key, error_code):
        labels = ("api_key", api_key), ("error_code", error_code)
        return read[OWN + "requests_total", *labels]

    assert requests("71", "0") == 7
    assert requests("71", "89") == 3
    assert requests("72", "0") == 50
    assert requests("72", "89") == 4 + 5 + 6 + 7
    assert requests("72", "118") == requests("72", "42") == 1
    assert requests("72", "117") == requests("72", "76") == 0
    assert requests("3", "") == 1
    reasons = {key[1][1]: value for key, value in read.items() if "refused" in key[0]}
    assert reasons == {
        "throttled": 4, "unknown_subscription": 0, "unsupported_compression": 0,
        "too_large": 1, "invalid": 1, "publish_timeout": 5, "publish_overflow": 6,
        "publish_failure": 7, "quota": 0,
    }  # fmt: skip


def test_histogram_counts_upwards_and_sums(page):
    page.counters.publish_latency.add(0.003)
    page.counters.publish_latency.add(0.2)
    read, name = page.read(), OWN + "publish_latency_seconds"
    assert read[name + "_bucket", ("le", "0.002")] == 0
    assert read[name + "_bucket", ("le", "0.004")] == 1
    assert read[name + "_bucket", ("le", "+Inf")] == 2
    assert read[name + "_count",] == 2
    assert read[name + "_sum",] == pytest.approx(0.203)


def test_state_is_shown(page):
    page.state.event_loop_lag_s = 0.25
    page.state.is_ready = True
    page.counters.received_bytes = 11
    read = page.read()
    assert read[OWN + "build_info", ("version", "1")] == 1
    assert read[OWN + "ready",] == 1
    assert read[OWN + "event_loop_lag_seconds",] == 0.25
    assert read[OWN + "received_bytes_total",] == 11


def test_count_that_has_no_family_is_an_event(page):
    page.counters.malformed_requests = 2
    read = page.read()
    assert read[OWN + "events_total", ("event", "malformed_requests")] == 2
    assert read[OWN + "events_total", ("event", "unsupported_requests")] == 0


def test_every_count_is_shown_somewhere(page):
    for number, name in enumerate(page.counters.numbers(), start=1_000):
        setattr(page.counters, name, number)
    shown = set(page.read().values())
    numbers = page.counters.numbers()
    # These two are parts of a difference and of sums.
    numbers.pop("gets")
    assert set(numbers.values()) <= shown


def test_further_groups_have_the_form_of_kafkas(page):
    values = {"instance-count": 3, "policy-error-count": {"some-id": 2}}
    part = SimpleNamespace(
        metrics=lambda: group_metrics("client-config", values, LABELS)
    )
    page.collector = BridgeCollector(page.counters, lambda: page.state, [part])
    read = page.read()
    assert read["kafka_server_client_config_instance_count",] == 3
    labels = ("client_instance_id", "some-id")
    assert read["kafka_server_client_config_policy_error_count", labels] == 2
