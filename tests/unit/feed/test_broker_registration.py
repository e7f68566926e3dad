"""Registrations of every version of the proposal, and the records that they make."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.feed.broker_registration import read_broker_registration
from pipelines.kafka_client.primitives import MalformedBytes, WireError
from udfs.cluster.record_bytes import read_record

GOLDEN = Path(__file__).parents[2] / "golden" / "bridge" / "wire_bytes.tsv"
ROWS = [line.split("\t") for line in GOLDEN.read_text().splitlines()]
BODIES = {
    int(name.split()[2][1:]): bytes.fromhex(text)
    for name, _, text in ROWS
    if "BrokerRegistrationRequest" in name
}
LOG_DIR = "Tm-1TLjmRReIm-FbmcCcIA"
# Each version adds its field behind those of the one before.
BODIES[0] = BODIES[4][:-27] + b"\x00"
BODIES[1] = BODIES[4][:-26] + b"\x00"
BODIES[2] = BODIES[4][:-9] + b"\x00"
BODIES[3] = BODIES[4]
RECORD_VERSIONS = {0: 1, 1: 2, 2: 3, 3: 3, 4: 3, 5: 4, 6: 5}


@pytest.mark.parametrize("version", range(7))
def test_a_registration_is_read_field_by_field(version):
    read = read_broker_registration(BODIES[version], version)
    assert (read.cluster_id, read.broker_id) == ("abc", 1)
    assert read.previous_broker_epoch == (-1 if version >= 3 else None)
    record = read_record(read.record)
    assert (record.record_type, record.version) == (
        "RegisterBroker",
        RECORD_VERSIONS[version],
    )
    assert record.fields == {
        "broker_id": 1,
        "is_migrating_zk_broker": False if version >= 1 else None,
        "incarnation_id": "tpzDWnpUR5Cqacwr1O5FOA",
        "broker_epoch": -1,
        "endpoints": [
            {
                "name": "PLAINTEXT",
                "host": "localhost",
                "port": 9092,
                "security_protocol": "PLAINTEXT",
            }
        ],
        "features": [],
        "rack": None,
        "fenced": True,
        "in_controlled_shutdown": False,
        "log_dirs": [LOG_DIR] if version >= 2 else None,
        "cordoned_log_dirs": [LOG_DIR] if version >= 5 else None,
        "static_configs": [
            {"name": "log.segment.bytes", "value": "1073741824"},
            {"name": "broker.rack", "value": None},
        ]
        if version >= 6
        else None,
    }


def test_features_and_a_rack_are_kept():
    feature = b"\x02\x11metadata.version\x00\x01\x00\x19\x00"
    body = BODIES[0].replace(
        b"\x00\x00\x01\x00\x00", b"\x00\x00" + feature + b"\x03r1\x00"
    )
    fields = read_record(read_broker_registration(body, 0).record).fields
    assert fields["rack"] == "r1"
    assert fields["features"] == [
        {"name": "metadata.version", "min_version": 1, "max_version": 25}
    ]


@pytest.mark.parametrize("version", range(7))
def test_a_cut_or_longer_body_is_refused(version):
    for size in range(len(BODIES[version])):
        with pytest.raises(MalformedBytes):
            read_broker_registration(BODIES[version][:size], version)
    with pytest.raises(MalformedBytes):
        read_broker_registration(BODIES[version] + b"\x00", version)


@pytest.mark.parametrize("version", range(7))
def test_unknown_tags_are_passed_over(version):
    body = BODIES[version]
    tags = body[-20:] if version >= 5 else body[-1:]
    tagged = bytes([tags[0] + 1]) + tags[1:] + b"\x07\x02ab"
    read = read_broker_registration(body[: -len(tags)] + tagged, version)
    assert read == read_broker_registration(body, version)


def test_versions_beyond_the_proposal_are_not_served():
    for version in (-1, 7):
        with pytest.raises(MalformedBytes):
            read_broker_registration(BODIES[6], version)


@pytest.mark.parametrize(
    "claim", [b"\x00", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x7f"]
)
def test_a_null_or_endless_array_is_refused_before_memory_is_taken(claim):
    with pytest.raises(MalformedBytes):
        read_broker_registration(BODIES[6][:24] + claim, 6)


def test_a_tag_that_does_not_fill_its_size_is_refused():
    body = BODIES[5][:-20] + b"\x01\x00\x02\x01\x00"
    with pytest.raises(MalformedBytes):
        read_broker_registration(body, 5)


@given(st.integers(0, 6), st.data())
def test_changed_bytes_are_refused_or_read(version, data):
    body = bytearray(BODIES[version])
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        read = read_broker_registration(bytes(body), version)
    except WireError:
        return
    assert read_record(read.record).frame_error is None
