import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.dynamic_configs import (
    ConfigRecord,
    RegistrationsWritten,
    SupportedRecord,
    UnreadableRecord,
    read_record,
    record_key,
    record_value,
)

ACKS = ConfigRecord("alice", "app/1", False, "acks", "-1", "User:admin", 1_700)
JAVA = SupportedRecord("alice", "app", "apache-kafka-java", "4.3.1", ("acks",), 1_700)
TOLD = RegistrationsWritten(1_700)
texts = st.text(max_size=8)
names = st.none() | texts
times = st.integers(0, 2**40)
configs = st.builds(
    ConfigRecord, texts, names, st.just(False), texts, names, names, times
) | st.builds(ConfigRecord, texts, st.none(), st.just(True), texts, names, names, times)
supported = st.builds(
    SupportedRecord, texts, names, texts, texts, st.lists(texts).map(tuple), times
)


def test_golden_records():
    assert record_key(ACKS) == b"ClientConfig/users/alice/clients/app%2F1/acks"
    assert json.loads(record_value(ACKS)) == {
        "v": 1,
        "user_name": "alice",
        "client_id": "app/1",
        "is_default_client_id": False,
        "config_key": "acks",
        "config_value": "-1",
        "altered_by": "User:admin",
        "altered_at_ms": 1_700,
    }
    assert record_key(JAVA) == (
        b"SupportedConfigs/users/alice/clients/app/apache-kafka-java/4.3.1"
    )
    assert json.loads(record_value(JAVA)) == {
        "v": 1,
        "user_name": "alice",
        "client_id": "app",
        "client_software_name": "apache-kafka-java",
        "client_software_version": "4.3.1",
        "config_keys": ["acks"],
        "registered_at_ms": 1_700,
    }
    assert record_key(TOLD) == b"RegistrationsWritten"
    assert json.loads(record_value(TOLD)) == {"v": 1, "written_at_ms": 1_700}


def test_read_record_that_tells_of_registrations_returns_its_time():
    key = record_key(TOLD)
    assert read_record(key, record_value(TOLD), 5) == TOLD
    assert read_record(key, None, 5) == RegistrationsWritten(5)
    with pytest.raises(UnreadableRecord):
        read_record(key, b'{"v":1}', 5)


@pytest.mark.parametrize(
    ("client_id", "is_default", "path", "entity"),
    [
        (None, False, "users/alice", (("user", "alice"),)),
        (None, True, "users/alice/clients/<default>",
         (("user", "alice"), ("client-id", None))),
        ("<default>", False, "users/alice/clients/%3Cdefault%3E",
         (("user", "alice"), ("client-id", "<default>"))),
    ],
    ids=["user", "default client id", "client id of that name"],
)  # fmt: skip
def test_kinds_of_entities_differ(client_id, is_default, path, entity):
    record = ACKS._replace(client_id=client_id, is_default_client_id=is_default)
    assert record_key(record) == f"ClientConfig/{path}/acks".encode()
    assert record.entity == entity


@given(configs | supported)
def test_what_is_written_is_read(record):
    assert read_record(record_key(record), record_value(record), 9) == record


@given(configs)
def test_a_record_without_a_value_removes_what_its_key_names(record):
    removed = record._replace(config_value=None, altered_by=None, altered_at_ms=9)
    assert read_record(record_key(record), None, 9) == removed


@given(supported)
def test_a_registration_without_a_value_is_forgotten(record):
    gone = record._replace(config_keys=None, registered_at_ms=9)
    assert read_record(record_key(record), None, 9) == gone


def fault(key, value):
    with pytest.raises(UnreadableRecord) as raised:
        read_record(key, value, 0)
    return raised.value.reason


@pytest.mark.parametrize(
    "key",
    [
        b"ClientConfig/users/alice", b"ClientConfig/clients/app/acks",
        b"ClientConfig/users/alice/ips/1/acks", b"ClientConfig", b"ClientConfig/acks",
        b"SupportedConfigs/users/alice/java", b"ClientConfig/users/a/acks/more",
        b"SupportedConfigs/users/a/clients/<default>/java/1", b"ClientConfig/\xff",
    ],
)  # fmt: skip
def test_a_key_that_names_no_entity_is_malformed(key):
    assert fault(key, None) == "malformed"


@pytest.mark.parametrize("key", [None, b"", b"Quota/users/alice/acks"])
def test_a_key_of_another_type_is_unknown(key):
    assert fault(key, record_value(ACKS)) == "unknown_type"


@pytest.mark.parametrize(
    "changes",
    [
        {"v": None}, {"v": "1"}, {"v": True}, {"v": 0},
        {"user_name": None}, {"user_name": 1}, {"client_id": 1}, {"config_key": None},
        {"is_default_client_id": None}, {"is_default_client_id": True},
        {"config_value": 1}, {"config_value": "\ud800"}, {"altered_by": []},
        {"altered_at_ms": "1"}, {"altered_at_ms": -1}, {"altered_at_ms": 2**62},
        {"altered_at_ms": True}, {"altered_at_ms": 1.5},
    ],
)  # fmt: skip
def test_a_field_that_is_not_what_it_must_be_is_malformed(changes):
    fields = json.loads(record_value(ACKS)) | changes
    assert fault(record_key(ACKS), json.dumps(fields).encode()) == "malformed"


@pytest.mark.parametrize("keys", [None, "acks", [1], ["\ud800"]])
def test_supported_keys_that_are_none_are_malformed(keys):
    fields = json.loads(record_value(JAVA)) | {"config_keys": keys}
    assert fault(record_key(JAVA), json.dumps(fields).encode()) == "malformed"


@pytest.mark.parametrize(
    "value", [b"", b"{", b"[]", b"1", b"\xff", b"[" * 100_000, b"9" * 5_000]
)
def test_what_is_no_object_is_malformed(value):
    assert fault(record_key(ACKS), value) == "malformed"


def test_a_newer_version_is_unknown_and_fields_that_are_more_are_passed_over():
    fields = json.loads(record_value(ACKS))
    newer = json.dumps(fields | {"v": 2}).encode()
    assert fault(record_key(ACKS), newer) == "unknown_version"
    more = json.dumps(fields | {"why": "because"}).encode()
    assert read_record(record_key(ACKS), more, 0) == ACKS


def test_a_key_and_a_value_that_differ_are_misnamed():
    assert fault(record_key(ACKS._replace(config_key="k")), record_value(ACKS)) == (
        "misnamed"
    )


@given(st.binary(max_size=40), st.none() | st.binary(max_size=40), st.booleans())
def test_noise_is_a_record_or_is_unreadable(key, value, is_prefixed):
    with contextlib.suppress(UnreadableRecord):
        read_record(b"ClientConfig/" + key if is_prefixed else key, value, 0)
