"""The table of fields says what Kafka's schemas say."""

import json

import pytest

from tests.unit.udfs.cluster.golden_records import GOLDEN
from udfs.cluster.record_fields import (
    PROTOCOL,
    RECORD_FIELDS,
    RECORD_NAMES,
    TOPIC_FIELDS,
    UUID,
    name_record,
)

KAFKAS = json.loads((GOLDEN / "metadata" / "records.json").read_text())
OF_KIP_1326 = {"static_configs"}


def _kafkas_shape(field):
    """Return type, first version, tag, whether null may be, and the items."""
    kind = field["type"]
    items = [_kafkas_shape(one)[1:] for one in field.get("fields", ())]
    return (
        field["name"],
        kind.removeprefix("[]") if not items else "",
        kind.startswith("[]"),
        int(field["versions"].removesuffix("+")),
        field.get("tag"),
        "nullableVersions" in field,
        items,
    )


def _our_shape(field):
    kind = {PROTOCOL: "int16", UUID: "uuid"}.get(field.kind, field.kind)
    items = [_our_shape(one)[1:] for one in field.items]
    return (
        field.name,
        kind,
        field.is_array,
        field.since,
        field.tag,
        field.is_nullable,
        items,
    )


READ_FIELDS = {**RECORD_FIELDS, **TOPIC_FIELDS}


@pytest.mark.parametrize("name", list(READ_FIELDS))
def test_fields_are_kafkas_in_order(name):
    known = KAFKAS["records"][name]
    ours = [one for one in READ_FIELDS[name].fields if one.name not in OF_KIP_1326]
    assert [_our_shape(one)[1:] for one in ours] == [
        _kafkas_shape(one)[1:] for one in known["fields"]
    ]
    latest = int(known["validVersions"].rpartition("-")[2])
    assert READ_FIELDS[name].latest == latest + (name == "RegisterBroker")


def test_every_record_of_kafka_has_its_name():
    assert {name: key for key, name in RECORD_NAMES.items()} == KAFKAS["api_keys"]
    assert name_record(20) == "NoOp"
    assert name_record(99) == "record-99"
