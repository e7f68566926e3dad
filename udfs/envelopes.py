# Strategy: all headers of a batch are one flat list; each known name gets the place of
# its last value in each record, and then one column. Loops run over records at fault
# only. Spark's own array functions took 60 times as long.
"""The envelope of a telemetry record: its headers, typed, or why they cannot be used.

Source: the Kafka source of Spark SQL (columns topic, partition, offset, timestamp,
value, headers); header names are those that the bridge writes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .compression import COMPRESSION_NAMES

NULL_VALUE = "null_value"
MISSING_HEADER = "missing_header"
HEADER_NOT_UTF8 = "header_not_utf8"
INVALID_HEADER = "invalid_header"

UNKNOWN_COMPRESSION_ID = -1
"""No codec has it; the decoder reports such a push as unknown_codec."""

DECIMAL = r"\A-?[0-9]{1,19}\z"
UUID_TEXT = r"\A[A-Za-z0-9_-]{22}\z"
"""128 bits in base64url without padding, as Kafka prints a Uuid."""
MAX_PORT = 65_535
MAX_INT32 = 2**31 - 1
MIN_INT32 = -(2**31)
MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1
MAX_TIME_MS = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: the last millisecond whose date has four year digits."""
MICROS_PER_MS = 1000
TIME = pa.timestamp("us", "UTC")

Flags = npt.NDArray[np.bool_]
Kind = Callable[[pa.StringArray], pa.Array]
"""Gives the typed value of each text, or null where it is not of that kind."""


def _as_text(texts: pa.StringArray) -> pa.Array:
    """Any text will do."""
    return texts


def _as_uuid_text(texts: pa.StringArray) -> pa.Array:
    """Keep texts that are a Uuid as Kafka prints it."""
    return _where(pc.match_substring_regex(texts, UUID_TEXT), texts)


def _as_flag(texts: pa.StringArray) -> pa.Array:
    """Return true or false where the text is exactly that."""
    return _where(
        pc.or_(pc.equal(texts, "true"), pc.equal(texts, "false")), texts
    ).cast(pa.bool_())


def _as_integer(low: int, high: int, arrow_type: pa.DataType) -> Kind:
    """Build the kind of decimal numbers in a range, both ends included."""

    def convert(texts: pa.StringArray) -> pa.Array:
        digits = _where(pc.match_substring_regex(texts, DECIMAL), texts)
        try:
            numbers = digits.cast(pa.int64())
        except pa.ArrowInvalid:
            # A text of 19 digits may lie beyond int64; a loop, for nobody sends it.
            numbers = pa.array(map(_parse_int64, digits.to_pylist()), pa.int64())
        in_range = pc.and_(pc.less_equal(low, numbers), pc.less_equal(numbers, high))
        return _where(in_range, numbers).cast(arrow_type)

    return convert


def _parse_int64(text: str | None) -> int | None:
    number = None if text is None else int(text)
    is_held = number is not None and MIN_INT64 <= number <= MAX_INT64
    return number if is_held else None


def _as_time(texts: pa.StringArray) -> pa.Array:
    """Return the timestamp of a count of milliseconds since 1970."""
    millis = _as_integer(0, MAX_TIME_MS, pa.int64())(texts)
    return pc.multiply(millis, MICROS_PER_MS).cast(TIME)


def _where(condition: pa.BooleanArray, values: pa.Array) -> pa.Array:
    """Keep the values whose condition is true; the others become null."""
    return pc.if_else(condition, values, pa.scalar(None, values.type))


@dataclass(frozen=True, slots=True)
class Header:
    """One header of the record and the column that it becomes."""

    name: str
    column: str
    kind: Kind
    is_required: bool = True


HEADERS = (
    Header("client_instance_id", "client_instance_id", _as_uuid_text),
    Header("client_id", "client_id", _as_text, is_required=False),
    Header("client_software_name", "client_software_name", _as_text),
    Header("client_software_version", "client_software_version", _as_text),
    Header("principal", "principal", _as_text),
    Header("listener", "listener", _as_text),
    Header("client_source_address", "client_source_address", _as_text),
    Header(
        "client_source_port", "client_source_port", _as_integer(0, MAX_PORT, pa.int32())
    ),
    Header("bridge_id", "bridge_id", _as_text),
    Header("received_at_ms", "received_at", _as_time),
    Header("push_id", "push_id", _as_text),
    Header(
        "subscription_id",
        "subscription_id",
        _as_integer(MIN_INT32, MAX_INT32, pa.int32()),
    ),
    Header(
        "push_interval_ms", "push_interval_ms", _as_integer(1, MAX_INT32, pa.int32())
    ),
    Header("compression_type", "compression_type", _as_text),
    Header("terminating", "terminating", _as_flag),
)
"""Every header that the bridge writes, in the order in which faults name them."""

_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
RECORD_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIME),
        ("value", pa.binary()),
        (
            "headers",
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
        ),
    ]
)
"""What is read of a Kafka record."""

_NAMES = pa.array([header.name for header in HEADERS])
_CODECS = pa.array(
    [text for i, name in COMPRESSION_NAMES.items() for text in (name, str(i))]
)
_CODEC_NAMES = pa.array([name for name in COMPRESSION_NAMES.values() for _ in range(2)])
_CODEC_IDS = pa.array([i for i in COMPRESSION_NAMES for _ in range(2)], pa.int32())


def read_envelopes(records: pa.RecordBatch) -> pa.RecordBatch:
    """Turn the headers of Kafka records into typed columns, faults beside them.

    Args:
        records: topic, partition, offset, timestamp, value, headers of Spark's source.
    Returns: topic, partition, offset, kafka_timestamp, body, one column per header,
        compression_type_id, envelope_fault and envelope_detail.
    Shape: One row per record, same order. The last value of a header name wins, as in
        Kafka.
    Nulls: A typed column is null where its header is missing or cannot be read;
        envelope_fault is null where nothing is wrong.
    Errors: envelope_fault is null_value, missing_header, header_not_utf8 or
        invalid_header, the first that applies; envelope_detail holds header names.
    """
    columns: dict[str, pa.Array] = {
        "topic": records.column("topic"),
        "partition": records.column("partition"),
        "offset": records.column("offset"),
        "kafka_timestamp": records.column("timestamp").cast(TIME),
        "body": records.column("value"),
    }
    missing, not_utf8, invalid = [], [], []
    for header, sent in zip(HEADERS, _pick_headers(records), strict=True):
        texts = _read_texts(sent)
        typed = header.kind(texts)
        columns[header.column] = typed
        missing.append(_flags(sent.is_null()) & header.is_required)
        not_utf8.append(_flags(texts.is_null()) & _flags(sent.is_valid()))
        invalid.append(_flags(typed.is_null()) & _flags(texts.is_valid()))
    codec = columns["compression_type"]
    place = pc.index_in(codec, _CODECS)
    columns["compression_type"] = pc.coalesce(_CODEC_NAMES.take(place), codec)
    ids = pc.fill_null(_CODEC_IDS.take(place), UNKNOWN_COMPRESSION_ID)
    columns["compression_type_id"] = ids
    columns |= _fault_columns(
        _flags(records.column("value").is_null()),
        {
            MISSING_HEADER: np.array(missing),
            HEADER_NOT_UTF8: np.array(not_utf8),
            INVALID_HEADER: np.array(invalid),
        },
    )
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _flags(column: pa.BooleanArray) -> Flags:
    flags: Flags = column.to_numpy(zero_copy_only=False)
    return flags


def _pick_headers(records: pa.RecordBatch) -> list[pa.BinaryArray]:
    """Return the last value of each known header, one column per header."""
    headers = records.column("headers")
    flat = headers.flatten()
    known = pc.index_in(flat.field("key"), _NAMES)
    numbers = pc.fill_null(known, len(HEADERS)).to_numpy()
    parents = pc.list_parent_indices(headers).to_numpy()
    # One place more, for names that nobody knows. Of values of one name, numpy keeps
    # the last one assigned.
    places = np.full((len(HEADERS) + 1, records.num_rows), -1, np.int64)
    places[numbers, parents] = np.arange(len(numbers))
    values = flat.field("value")
    return [
        values.take(pa.array(of_header, mask=of_header < 0))
        for of_header in places[: len(HEADERS)]
    ]


def _read_texts(sent: pa.BinaryArray) -> pa.StringArray:
    """Return bytes as text, null where they are not UTF-8."""
    try:
        return sent.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(map(_read_text, sent.to_pylist()), pa.string())


def _read_text(sent: bytes | None) -> str | None:
    try:
        return None if sent is None else sent.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _fault_columns(
    has_no_value: Flags, faults: dict[str, Flags]
) -> dict[str, pa.Array]:
    """Name the fault of each record, and the headers that have it.

    Args:
        has_no_value: One flag a record.
        faults: Reason to flags, one row a header; the first that applies counts.
    """
    reasons: list[str | None] = [None] * len(has_no_value)
    details: list[str | None] = [None] * len(has_no_value)
    is_faulty = np.logical_or.reduce([flags.any(axis=0) for flags in faults.values()])
    for record in np.flatnonzero(is_faulty | has_no_value).tolist():
        if has_no_value[record]:
            reasons[record] = NULL_VALUE
            continue
        for reason, flags in faults.items():
            if flags[:, record].any():
                at_fault = np.flatnonzero(flags[:, record]).tolist()
                reasons[record] = reason
                details[record] = ", ".join(HEADERS[i].name for i in at_fault)
                break
    return {
        "envelope_fault": pa.array(reasons, pa.string()),
        "envelope_detail": pa.array(details, pa.string()),
    }
