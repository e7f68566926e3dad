"""Headers of a record become typed columns, or a reason why not."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from tests.support.spark.telemetry_records import INSTANCE, make_headers
from udfs.envelopes.readers import RECORD_SCHEMA, read_config_envelopes, read_envelopes

SENT_AT = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
BODY = b"\x0a\x00"

OPTIONAL = ["client_id", "cluster_id", "broker_id"]
REQUIRED = [name for name, _ in make_headers() if name not in OPTIONAL]
NOT_UTF8 = {"principal": b"User:\xff", "client_id": b"\xc3\x28"}
KINDS = {
    "client_instance_id": (["A" * 22, "-_" * 11], ["A" * 21, "A" * 21 + "=", ""]),
    "client_source_port": (["0", "65535"], ["65536", "-1", " 1", "1.5", "", "+1"]),
    "broker_id": (["0", "2147483647"], ["2147483648", "-1", "", "one"]),
    "received_at_ms": (["0", "253402300799999"], ["253402300800000", "-1", "now"]),
    "subscription_id": (["-2147483648", "2147483647"], ["2147483648", "1\n", "٣"]),
    "push_interval_ms": (["1", "2147483647"], ["0", "9" * 19, "9" * 30]),
    "terminating": (["true", "false"], ["True", "1", ""]),
}
CODECS = {
    "none": ("none", 0),
    "gzip": ("gzip", 1),
    "snappy": ("snappy", 2),
    "lz4": ("lz4", 3),
    "3": ("lz4", 3),
    "0": ("none", 0),
    "brotli": ("brotli", -1),
    "7": ("7", -1),
    "GZIP": ("GZIP", -1),
    "": ("", -1),
}
CASES = {
    "plain": make_headers(),
    "twice": [("principal", b"User:first"), *make_headers()],
    **{f"no {name}": make_headers(without=[name]) for name in OPTIONAL},
    "unknown header": [*make_headers(), ("trace", b"\xff")],
    "no headers": None,
    "empty headers": [],
    "not UTF-8": make_headers(**NOT_UTF8),
    "not UTF-8, invalid": make_headers(terminating="perhaps", **NOT_UTF8),
    "missing, not UTF-8, invalid": make_headers(
        without=["push_id"], terminating="perhaps", **NOT_UTF8
    ),
    **{f"without {name}": make_headers(without=[name]) for name in REQUIRED},
    **{f"null {name}": make_headers(**{name: None}) for name in REQUIRED},
    **{
        f"{name}={text}": make_headers(**{name: text})
        for name, (good, bad) in KINDS.items()
        for text in [*good, *bad]
    },
    **{f"codec {text}": make_headers(compression_type=text) for text in CODECS},
    "null value": make_headers(without=["principal"], terminating="perhaps"),
    "null value, no headers": None,
}


def read(cases):
    rows = [
        {
            "value": None if "null value" in case else BODY,
            "topic": "t",
            "partition": 2,
            "offset": offset,
            "timestamp": SENT_AT,
            "headers": headers and [{"key": k, "value": v} for k, v in headers],
        }
        for offset, (case, headers) in enumerate(cases.items())
    ]
    found = read_envelopes(pa.RecordBatch.from_pylist(rows, schema=RECORD_SCHEMA))
    assert found.column("offset").to_pylist() == list(range(len(cases)))
    return dict(zip(cases, found.to_pylist(), strict=True))


@pytest.fixture(scope="module")
def envelopes():
    """All cases in one batch, so that bad ones stand beside good ones."""
    return read(CASES)


def fault(envelope):
    return envelope["envelope_fault"], envelope["envelope_detail"]


def test_every_header_becomes_its_typed_column(envelopes):
    row = dict(envelopes["plain"])
    assert row.pop("received_at").timestamp() == pytest.approx(1700000000.123)
    assert row.pop("kafka_timestamp").timestamp() == SENT_AT.timestamp()
    assert row == {
        "topic": "t",
        "partition": 2,
        "offset": 0,
        "body": BODY,
        "client_instance_id": INSTANCE,
        "client_id": "orders",
        "client_software_name": "apache-kafka-java",
        "client_software_version": "3.9.2",
        "principal": "User:alice",
        "listener": "PLAINTEXT",
        "client_source_address": "10.0.0.7",
        "client_source_port": 51234,
        "bridge_id": "bridge-1",
        "cluster_id": "4L6g3nShT-eMCtK--X86sw",
        "broker_id": 3,
        "push_id": "push-1",
        "subscription_id": -5,
        "push_interval_ms": 30000,
        "compression_type": "zstd",
        "terminating": False,
        "compression_type_id": 4,
        "envelope_fault": None,
        "envelope_detail": None,
    }


def test_the_last_value_of_a_header_name_wins(envelopes):
    assert envelopes["twice"]["principal"] == "User:alice"


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_need_not_be_known_is_no_fault(envelopes, name):
    envelope = envelopes[f"no {name}"]
    assert (envelope[name], fault(envelope)) == (None, (None, None))


def test_an_unknown_header_is_passed_over(envelopes):
    assert fault(envelopes["unknown header"]) == (None, None)


@pytest.mark.parametrize("case", ["null value", "null value, no headers"])
def test_a_null_value_is_its_own_fault_whatever_the_headers(envelopes, case):
    assert fault(envelopes[case]) == ("null_value", None)


def test_a_null_value_keeps_the_identity_that_was_sent(envelopes):
    assert envelopes["null value"]["client_instance_id"] == INSTANCE


@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_header_is_named_and_the_others_are_kept(envelopes, name):
    gone, null = envelopes[f"without {name}"], envelopes[f"null {name}"]
    assert [fault(gone), fault(null)] == [("missing_header", name)] * 2
    kept = "push_id" if name != "push_id" else "principal"
    assert gone[kept] == dict(make_headers())[kept].decode()


@pytest.mark.parametrize("case", ["no headers", "empty headers"])
def test_a_record_without_headers_lacks_them_all(envelopes, case):
    assert fault(envelopes[case]) == ("missing_header", ", ".join(REQUIRED))


def test_a_header_that_is_not_utf8_is_named_and_not_missing(envelopes):
    envelope = envelopes["not UTF-8"]
    assert fault(envelope) == ("header_not_utf8", "client_id, principal")
    assert (envelope["principal"], envelope["client_id"]) == (None, None)
    assert envelope["client_instance_id"] == INSTANCE


def test_faults_are_checked_in_their_order(envelopes):
    first = envelopes["missing, not UTF-8, invalid"]
    second = envelopes["not UTF-8, invalid"]
    assert fault(first) == ("missing_header", "push_id")
    assert fault(second) == ("header_not_utf8", "client_id, principal")


@pytest.mark.parametrize("name", KINDS)
def test_a_header_must_be_of_its_kind(envelopes, name):
    good, bad = KINDS[name]
    found = [fault(envelopes[f"{name}={text}"]) for text in [*good, *bad]]
    expected = [(None, None)] * len(good) + [("invalid_header", name)] * len(bad)
    assert found == expected


@pytest.mark.parametrize("text", CODECS)
def test_a_codec_is_known_by_name_or_by_number(envelopes, text):
    envelope = envelopes[f"codec {text}"]
    found = envelope["compression_type"], envelope["compression_type_id"]
    assert (found, fault(envelope)) == (CODECS[text], (None, None))


@pytest.mark.parametrize("case", CASES)
def test_a_record_reads_the_same_alone(envelopes, case):
    [alone] = read({case: CASES[case]}).values()
    assert alone | {"offset": 0} == envelopes[case] | {"offset": 0}


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        (None, None),
        ("", "invalid_header"),
        ("acks,and 3 more", "invalid_header"),
        ('{"v":1,"redacted":{"r":["acks"]}}', None),
        ('{"v":2}', "invalid_header"),
        ('{"v":1,', "invalid_header"),
    ],
)
def test_what_a_bridge_hid_must_be_known(header, fault):
    names = ("redacted_keys", b"acks")
    redactions = [] if header is None else [("redactions", header.encode())]
    headers = [*make_headers(), names, *redactions]
    pairs = [{"key": name, "value": value} for name, value in headers]
    row = {"value": BODY, "timestamp": SENT_AT, "headers": pairs}
    records = pa.RecordBatch.from_pylist([row], schema=RECORD_SCHEMA)
    (read,) = read_config_envelopes(records).to_pylist()
    assert read["envelope_fault"] == fault
    assert read["redactions"] == (None if fault else header)
    assert read["envelope_detail"] == ("redactions" if fault else None)


def test_no_records_are_no_envelopes():
    assert read({}) == {}


def test_other_records_do_not_move_the_headers_of_a_part():
    """A batch may be a part of a longer one, with offsets of its own."""
    rows = [
        {"value": BODY, "headers": [{"key": "principal", "value": b"a"}]},
        {"value": BODY, "headers": [{"key": "principal", "value": b"b"}]},
    ]
    whole = pa.RecordBatch.from_pylist(rows, schema=RECORD_SCHEMA)
    assert read_envelopes(whole.slice(1)).column("principal").to_pylist() == ["b"]
