"""What the topic says of a cluster, folded from its records."""

import json

import pytest

from pipelines.feed.records import make_record
from pipelines.feed.state import (
    COVERS,
    FeedState,
    Position,
    holds_full_set,
    is_removal,
    last_cluster_at,
    make_full_set,
    restore,
)
from udfs.cluster.record_bytes import write_record
from udfs.cluster.record_writing import (
    write_client_quota,
    write_config,
    write_feature_level,
    write_register_broker,
    write_unregister_broker,
)

CLUSTER, SOURCE = "a-cluster", "metadata_log"
COMMON = {"cluster_id": CLUSTER, "source": SOURCE, "observed_at_ms": 1_000}


def record(key, value, **headers):
    return make_record(key, value, {**COMMON, **headers}.items())


def config(value="1", name="interval.ms", **headers):
    written = write_config(16, "team-a", name, value)
    return record(f"Config/client-metrics/team-a/{name}", written, **headers)


def broker(broker_id=1, **headers):
    value = write_register_broker(
        broker_id=broker_id, endpoints=[], rack=None, fenced=True, static_configs=None
    )
    return record(f"RegisterBroker/brokers/{broker_id}", value, **headers)


def fence(kind="UnfenceBroker", broker_id=1, **headers):
    fields = {"broker_id": broker_id, "broker_epoch": 42}
    value = write_record(kind, 0, fields)
    return record(f"{kind}/brokers/{broker_id}", value, **headers)


def unregister(broker_id=1):
    value = write_unregister_broker(broker_id)
    return record(f"UnregisterBroker/brokers/{broker_id}", value)


def keys(*records, state=None):
    folded = restore(records, CLUSTER, SOURCE) if state is None else state
    return [one.key for one in folded.records()]


def full_set(*records, set_id="s1", covers=COVERS, **headers):
    closing = {**COMMON, **headers}.items()
    return make_full_set(records, set_id, covers, closing)


def test_newest_record_of_a_key_is_what_is_so():
    state = restore([config("1"), config("2")], CLUSTER, SOURCE)
    assert state.records() == [config("2")]


@pytest.mark.parametrize(
    ("said", "removed"),
    [
        (config("1"), config(None)),
        (
            record("ClientQuota/u", write_client_quota([("user", "a")], "k", 1.0)),
            record("ClientQuota/u", write_client_quota([("user", "a")], "k", None)),
        ),
        (
            record("FeatureLevel/f", write_feature_level("f", 1)),
            record("FeatureLevel/f", write_feature_level("f", 0)),
        ),
    ],
)
def test_removal_takes_its_key_away(said, removed):
    assert not is_removal(said)
    assert is_removal(removed)
    assert keys(said) == [said.key]
    assert keys(said, removed) == []


def test_hidden_value_is_no_removal():
    assert not is_removal(config(None, withheld=1))
    assert keys(config("1"), config(None, withheld=1)) == [config().key]


def test_what_follows_a_registration_ends_with_it():
    assert keys(broker(), fence(), fence("FenceBroker")) == [
        "RegisterBroker/brokers/1", "UnfenceBroker/brokers/1",
        "FenceBroker/brokers/1",
    ]  # fmt: skip
    assert keys(broker(), fence(), broker()) == ["RegisterBroker/brokers/1"]
    assert keys(broker(), fence(), unregister()) == []
    assert keys(fence()) == []


def test_records_of_other_clusters_and_sources_count_for_nothing():
    assert keys(config(cluster_id="another"), config(source="file")) == []


def test_full_set_says_all_that_is_so():
    old, new = config("1", "metrics"), config("2")
    records = [old, *full_set(broker(), new)]
    state = restore(records, CLUSTER, SOURCE)
    assert state.is_whole
    assert state.records() == [broker(), new]
    assert holds_full_set(records, CLUSTER, SOURCE)
    assert not holds_full_set(records, CLUSTER, "admin_api")


def test_full_set_is_closed_by_a_record_that_counts_it():
    *members, closing = full_set(broker(), config(), covers=["brokers"])
    assert {one.text("set_id") for one in (*members, closing)} == {"s1"}
    assert closing.key == "full_set/s1"
    assert json.loads(closing.value) == {"v": 1, "records": 2, "covers": ["brokers"]}
    assert closing.value == b'{"v":1,"records":2,"covers":["brokers"]}'


def test_set_that_is_cut_off_changes_nothing():
    first, second, closing = full_set(broker(), config())
    for cut in ([first, second], [first, closing], [second, closing]):
        state = restore([config("0"), *cut], CLUSTER, SOURCE)
        assert state.records() == [config("0")]
        assert not state.is_whole


def test_set_may_be_said_again_as_it_was():
    once = restore(full_set(broker(), fence(), config()), CLUSTER, SOURCE)
    again = restore(full_set(*once.records(), set_id="s2"), CLUSTER, SOURCE)
    assert again.records() == once.records()


def test_position_is_that_of_the_newest_record_of_the_log():
    state = restore([config(offset=7, epoch=2)], CLUSTER, SOURCE)
    assert state.position == Position(7, 2)
    # Members of a set say when they were written first; the set says how far it goes.
    members = [config(offset=7, epoch=2)]
    said = full_set(*members, offset=90, epoch=4, observed_at_ms=2_000)
    for one in said:
        state.take(one)
    assert state.position == Position(90, 4)
    assert state.observed_ms == 2_000


def test_copy_goes_its_own_way():
    state = restore(full_set(broker(), config()), CLUSTER, SOURCE)
    copied = state.copy()
    copied.take(config(None))
    copied.take(fence())
    assert keys(state=state) == ["RegisterBroker/brokers/1", config().key]
    assert state.begin_anew().records() == []
    assert copied.is_whole


def test_cluster_at_an_address_is_the_last_that_closed_a_set_there():
    first = full_set(servers="k:9092")
    second = full_set(cluster_id="another", servers="k:9092")
    assert last_cluster_at(first, "k:9092") == CLUSTER
    assert last_cluster_at([*first, *second], "k:9092") == "another"
    assert last_cluster_at([*first, *second], "elsewhere:9092") is None


def test_headers_that_are_no_numbers_are_none():
    assert record("k", b"", offset="x").number("offset") is None
    assert FeedState(CLUSTER, SOURCE).position is None
