import json

import pytest

from pipelines.bridge.dynamic_configs.state import (
    Place,
    StoredRecord,
    write_supported,
)
from pipelines.kafka_client.client_configs import (
    MAX_STRING_BYTES,
    Component,
    DescribeRequest,
)
from udfs.dynamic_configs import (
    ConfigRecord,
    RegistrationsWritten,
    SupportedRecord,
    record_key,
    record_value,
)

ACKS = ConfigRecord("alice", None, False, "acks", "all", "User:admin", 1)
OWN = ACKS._replace(client_id="app", config_value="0")
DEFAULT = ACKS._replace(is_default_client_id=True, config_value="1")
JAVA = SupportedRecord("alice", "app", "apache-kafka-java", "4.3.1", ("acks",), 1)
ANY_USER = DescribeRequest((Component("user", 2, None),))


@pytest.fixture
def apply(state):
    def take(*records):
        for offset, one in enumerate(records):
            is_registration = isinstance(one, SupportedRecord)
            place = Place.REGISTRATIONS if is_registration else Place.CONFIGS
            stored = StoredRecord(offset, record_key(one), record_value(one), 0)
            assert state.apply([stored], place) == []

    return take


def describe(state):
    return [(one.entity, one.values) for one in state.describe(ANY_USER)]


def test_what_is_set_is_described_in_order_and_resolved_by_precedence(state, apply):
    apply(OWN, DEFAULT, ACKS, ACKS._replace(config_key="retries", config_value="3"))
    alice = ("user", "alice")
    assert describe(state) == [
        ((alice,), {"acks": "all", "retries": "3"}),
        ((alice, ("client-id", None)), {"acks": "1"}),
        ((alice, ("client-id", "app")), {"acks": "0"}),
    ]
    assert state.resolve("alice", "app") == {"acks": "0", "retries": "3"}
    assert state.resolve("alice", "other")["acks"] == "1"
    assert state.resolve("bob", "app") == {}


def test_what_is_removed_is_gone_and_so_is_its_entity(state, apply, counters):
    apply(OWN, ACKS, OWN._replace(config_value=None))
    assert [one for one, _ in describe(state)] == [(("user", "alice"),)]
    assert counters.entities == 1
    state.apply([StoredRecord(3, record_key(ACKS), None, 9)], Place.CONFIGS)
    assert describe(state) == []
    apply(OWN._replace(config_value=None))
    assert counters.entities == 0


def test_what_cannot_be_read_changes_nothing_and_is_counted(state, apply, counters):
    apply(ACKS)
    bad = [StoredRecord(7, b"x/y", b"{}", 0), StoredRecord(8, record_key(ACKS), b"", 0)]
    assert state.apply(bad, Place.CONFIGS) == [(7, "unknown_type"), (8, "malformed")]
    assert counters.unreadable_records == {"unknown_type": 1, "malformed": 1}
    assert state.resolve("alice", "app") == {"acks": "all"}


def test_what_is_not_known_is_described_counted_and_given_to_nobody(
    state, apply, counters
):
    other = ACKS._replace(config_key="max.poll.records", config_value="1")
    apply(ACKS._replace(config_value="2"), other)
    assert counters.unknown_values == {"acks": 1, "max.poll.records": 1}
    assert describe(state) == [
        ((("user", "alice"),), {"acks": "2", "max.poll.records": "1"})
    ]
    assert state.resolve("alice", "app") == {}
    apply(ACKS, other._replace(config_value=None))
    assert counters.unknown_values == {}
    assert state.resolve("alice", "app") == {"acks": "all"}


def test_an_unknown_key_that_is_no_name_is_counted_without_it(apply, counters):
    apply(ACKS._replace(config_key="password=hunter2"))
    assert counters.unknown_values == {"(no name)": 1}


def test_supported_configs_are_of_each_version_of_the_entitys_software(
    state, apply, counters
):
    newer = JAVA._replace(client_software_version="4.4.0", registered_at_ms=2)
    apply(OWN, JAVA, newer._replace(config_keys=("acks", "retries")))
    assert counters.registrations == 2
    ((entity, values),) = describe(state)
    assert entity == (("user", "alice"), ("client-id", "app"))
    assert list(values) == ["acks", "supported.configs"]
    java = "ClientInformation(softwareName=apache-kafka-java, softwareVersion={})"
    supported = json.loads(values["supported.configs"])
    assert list(supported.items()) == [
        (java.format("4.4.0"), "acks, retries"),
        (java.format("4.3.1"), "acks"),
    ]
    apply(JAVA._replace(config_keys=("retries",)))
    assert counters.registrations == 2
    gone = [StoredRecord(9, record_key(one), None, 0) for one in (JAVA, newer)]
    state.apply(gone, Place.REGISTRATIONS)
    assert (counters.registrations, describe(state)) == (0, [(entity, {"acks": "0"})])


def test_an_entity_without_a_config_is_described_by_what_it_supports(state, apply):
    apply(JAVA._replace(client_id=None))
    ((entity, values),) = describe(state)
    assert (entity, list(values)) == ((("user", "alice"),), ["supported.configs"])


def test_more_versions_than_a_text_holds_are_counted():
    versions = [
        JAVA._replace(client_software_version=str(n), registered_at_ms=n)
        for n in range(1_000)
    ]
    text = write_supported(versions)
    assert len(text) <= MAX_STRING_BYTES
    shown = json.loads(text)
    assert shown.pop("more") + len(shown) == 1_000
    assert next(iter(shown)).endswith("softwareVersion=999)")


def test_a_topic_that_begins_anew_is_read_anew(state, apply, counters):
    apply(ACKS._replace(config_value="2"))
    state.note_end(Place.CONFIGS)
    state.clear(Place.CONFIGS)
    assert not state.is_loaded
    assert describe(state) == []
    assert counters.entities == 0
    assert counters.unknown_values == {}


def test_registrations_topic_is_cleared_without_the_configs(state, apply):
    apply(ACKS, JAVA)
    state.clear(Place.REGISTRATIONS)
    assert describe(state) == [((("user", "alice"),), {"acks": "all"})]
    assert state.registrations_of("alice") == {}


@pytest.mark.parametrize(
    ("record", "place"), [(ACKS, Place.REGISTRATIONS), (JAVA, Place.CONFIGS)]
)
def test_record_in_the_topic_of_the_other_kind_changes_nothing(
    state, counters, record, place
):
    stored = [StoredRecord(7, record_key(record), record_value(record), 0)]
    assert state.apply(stored, place) == [(7, "unknown_type")]
    assert (counters.entities, counters.registrations) == (0, 0)


def test_state_is_complete_when_both_topics_have_been_read(state):
    state.note_end(Place.CONFIGS)
    assert state.is_loaded
    assert not state.is_complete
    state.note_end(Place.REGISTRATIONS)
    assert state.is_complete


def test_record_that_tells_of_registrations_changes_nothing(state, apply, counters):
    apply(RegistrationsWritten(1))
    assert describe(state) == []
    assert counters.unreadable_records == {}
