"""Label values that clients choose, as /metrics shows them."""

import math
from itertools import count

import pytest
from prometheus_client.exposition import generate_latest

from pipelines.bridge.exposition.client_labels import MOST_LABELS, OTHERS, ClientLabels
from pipelines.bridge.exposition.groups import group_metrics
from pipelines.bridge.exposition.quota_metrics import quota_metrics
from pipelines.bridge.operations.watch import Collected
from pipelines.bridge.quotas.limits import Tags
from pipelines.bridge.quotas.shares import ShareUse
from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules

RULES = make_sensitive_key_rules(
    load_settings("base", []).sensitive_keys, load_config_catalogs()
)
SECRETS = ("password=CANARY-hunter2", "postgres://u:CANARY-pw@db/x")
RATE, WAIT = "kafka_server_Produce_byte_rate", "kafka_server_Produce_throttle_time"


def use(client_id, rate=1.0, throttle_ms=math.nan, *, user="", is_named=False):
    tags = Tags(user, client_id)
    return ShareUse("producer_byte_rate", tags, rate, throttle_ms, 0, is_named)


@pytest.fixture
def labels():
    return ClientLabels(RULES)


def samples(labels, *uses):
    """Return {(name, user, client ID): value}; no series may come twice."""
    read = [
        ((one.name, one.labels["user"], one.labels["client_id"]), one.value)
        for family in quota_metrics(uses, labels)
        for one in family.samples
    ]
    assert len(dict(read)) == len(read)
    return dict(read)


def test_client_ids_that_look_like_secrets_are_hidden_and_summed(labels):
    uses = [use(SECRETS[0], 2.0, 10.0), use(SECRETS[1], 3.0), use("app", 5.0)]
    read = samples(labels, *uses)
    assert read[RATE, "", "(redacted)"] == 5.0
    assert read[WAIT, "", "(redacted)"] == 10.0
    assert read[RATE, "", "app"] == 5.0
    assert "CANARY" not in repr(read)
    assert samples(labels, *uses).keys() == read.keys()


@pytest.mark.parametrize("text", ["x" * 32_000, "\u00e9" * 3_000])
def test_labels_are_as_short_as_the_headers_of_records(labels, text):
    read = samples(labels, use(text), use("c", user=text))
    for _, user, client_id in read:
        assert len(user.encode()) <= 256
        assert len(client_id.encode()) <= 256
        assert user + client_id != ""


def test_series_of_client_ids_are_bounded_over_the_life_of_a_bridge(labels):
    seen, ids = set(), count()
    for _ in range(MOST_LABELS // 100 + 5):
        uses = [use(f"c{next(ids)}") for _ in range(100)]
        seen |= {key[2] for key in samples(labels, *uses)}
    assert len(seen) == MOST_LABELS + 1
    read = samples(labels, use("late", 2.0), use("later", 3.0), use("c7"))
    assert read[RATE, OTHERS, OTHERS] == 5.0
    assert read[RATE, "", "c7"] == 1.0


def test_client_id_that_a_quota_names_is_shown_beyond_the_bound():
    labels = ClientLabels(RULES, most=1)
    read = samples(labels, use("a"), use("named", 4.0, is_named=True), use("b", 2.0))
    assert read[RATE, "", "named"] == 4.0
    assert read[RATE, OTHERS, OTHERS] == 2.0


def test_series_of_client_instances_are_bounded_over_the_life_of_a_bridge():
    texts = {f"policy-{number}": 1.0 for number in range(10)}
    values = {"policy-error-count": texts, "policy-time-max": texts}
    labels = ClientLabels(RULES, most=4)
    families = group_metrics("client-config", values, labels)
    text = generate_latest(Collected(families)).decode()
    name = "kafka_server_client_config_policy_error_count{"
    lines = [one for one in text.splitlines() if one.startswith(name)]
    assert len(lines) == 5
    assert f'{name}client_instance_id="{OTHERS}"}} 6.0' in lines
    largest = "kafka_server_client_config_policy_time_max{"
    assert f'{largest}client_instance_id="{OTHERS}"}} 1.0' in text
