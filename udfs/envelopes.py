# Strategy: all headers of a batch are one flat list; each known name gets the place of
# its last value in each record, and then one column. Loops run over records at fault
# only. Spark's own array functions took 60 times as long.
"""The envelope of a telemetry record: its headers, typed, or why they cannot be used.

Source: the Kafka source of Spark SQL (columns topic, partition, offset, timestamp,
value, headers); header names are those that the bridge writes.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .compression import COMPRESSION_NAMES
from .envelope_headers import HEADERS, TIME

NULL_VALUE = "null_value"
MISSING_HEADER = "missing_header"
HEADER_NOT_UTF8 = "header_not_utf8"
INVALID_HEADER = "invalid_header"

UNKNOWN_COMPRESSION_ID = -1
"""No codec has it; the decoder reports such a push as unknown_codec."""

Flags = npt.NDArray[np.bool_]

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
