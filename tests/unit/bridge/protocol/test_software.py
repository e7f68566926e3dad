"""ApiVersions 5 and 6, and the client instance id in a software version."""

import struct
import uuid
from pathlib import Path

import pytest

from pipelines.bridge.protocol.api_keys import index_apis
from pipelines.bridge.protocol.requests import UNREADABLE, parse_request
from pipelines.bridge.protocol.software import (
    ClientSoftware,
    api_versions_api,
    split_software_version,
)
from tests.unit.bridge.push_config.raw_client import JAVA, versions_body

GOLDEN = Path(__file__).parents[3] / "golden" / "bridge" / "wire_bytes.tsv"
PROPOSED = "seed000 ApiVersionsRequest v5 body"
INSTANCE_ID = uuid.UUID("b69cc35a-7a54-4790-aa69-cc2bd4ee4538")
PLAIN = ClientSoftware(client_software_name=JAVA[0], client_software_version=JAVA[1])
NAMED = ClientSoftware(
    client_software_name=JAVA[0],
    client_software_version=JAVA[1],
    client_instance_id=INSTANCE_ID,
)  # fmt: skip


def parse(version, body, api=None):
    header = struct.pack(">hhih", 18, version, 7, -1) + (b"\0" if version > 2 else b"")
    return parse_request(header + body, index_apis(api or api_versions_api(6))).body


def test_version_5_is_read_as_kafka_released_it():
    unset = bytes.fromhex(
        "126170616368652d6b61666b612d6a61766106342e342e3000ffffffff00"
    )
    assert versions_body(5, *JAVA) == unset
    assert parse(5, unset, api_versions_api()) == PLAIN
    known = versions_body(5, *JAVA, cluster_id="another-cluster")
    assert parse(5, known, api_versions_api()) == PLAIN


def test_version_6_ends_in_the_client_instance_id():
    assert parse(6, versions_body(6, *JAVA, instance_id=INSTANCE_ID)) == NAMED
    assert (
        parse(6, versions_body(6, *JAVA, cluster_id="c", instance_id=INSTANCE_ID))
        == NAMED
    )
    assert parse(6, versions_body(6, *JAVA)) == PLAIN
    assert parse(5, versions_body(5, *JAVA)) == PLAIN


def test_the_field_has_the_bytes_of_the_proposal():
    """KIP-1324 put it behind the version, without what Kafka then released there."""
    (line,) = (one for one in GOLDEN.read_text().splitlines() if PROPOSED in one)
    proposed = bytes.fromhex(line.split("\t")[2])
    software = ("apache-kafka-java", "4.0.0")
    whole = versions_body(6, *software, instance_id=INSTANCE_ID)
    assert whole.replace(b"\0\xff\xff\xff\xff", b"", 1) == proposed
    assert parse(6, whole).client_instance_id == INSTANCE_ID


def test_the_bytes_of_the_proposal_are_unreadable_in_released_version_5():
    (line,) = (one for one in GOLDEN.read_text().splitlines() if PROPOSED in one)
    proposed = bytes.fromhex(line.split("\t")[2])
    assert parse(5, proposed, api_versions_api()) is UNREADABLE


def test_version_6_is_served_only_where_it_is_asked_for():
    assert api_versions_api().versions == range(6)
    assert api_versions_api(6).versions == range(7)
    assert parse(6, b"not read", api_versions_api()) is None


def test_the_version_of_the_field_can_be_moved():
    api = api_versions_api(8)
    body = versions_body(6, *JAVA, instance_id=INSTANCE_ID)
    assert parse(8, body, api) == NAMED
    assert parse(7, body, api) == PLAIN
    assert parse(6, versions_body(5, *JAVA)[:-1] + b"\xff\xff", api) == PLAIN


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_a_body_that_is_cut_anywhere_is_unreadable(version):
    whole = versions_body(version, *JAVA, cluster_id="c", instance_id=INSTANCE_ID)
    assert parse(version, whole + b"trailing") == parse(version, whole)
    for size in range(len(whole)):
        assert parse(version, whole[:size]) is UNREADABLE


HEX = INSTANCE_ID.hex


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (f"2.16.1-rdkafka-2.16.0-cid-{HEX}", ("2.16.1-rdkafka-2.16.0", INSTANCE_ID)),
        (f"1-cid-{HEX.upper()}", ("1", INSTANCE_ID)),
        (f"1-cid-{HEX}-cid-{HEX}", (f"1-cid-{HEX}", INSTANCE_ID)),
        (f"1-cid-{'0' * 32}", ("1", uuid.UUID(int=0))),
        ("2.16.1", ("2.16.1", None)),
        (f"1-cid-{HEX[:-1]}", (f"1-cid-{HEX[:-1]}", None)),
        (f"1-cid-{HEX}0", (f"1-cid-{HEX}0", None)),
        (f"1-cid-{HEX[:-1]}g", (f"1-cid-{HEX[:-1]}g", None)),
        (f"1-CID-{HEX}", (f"1-CID-{HEX}", None)),
        (f"1cid-{HEX}", (f"1cid-{HEX}", None)),
        ("", ("", None)),
    ],
)
def test_a_version_is_parted_from_the_id_at_its_end(version, expected):
    assert split_software_version(version) == expected


@pytest.mark.parametrize("version", [3, 5, 6])
def test_a_text_that_no_broker_reads_is_unreadable(version):
    longest = "a" * (2**15 - 1)
    whole = versions_body(version, longest, longest)
    assert parse(version, whole).client_software_version == longest
    for texts in ((longest + "a", "1"), ("app", longest + "a")):
        assert parse(version, versions_body(version, *texts)) is UNREADABLE
