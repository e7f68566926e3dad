# Strategy: all headers of a batch are one flat list; each known name gets the place of
# its last value in each record, and then one column. Loops run over records at fault
# only. Spark's own array functions took 60 times as long.
"""The envelope of a record: its headers, typed, or why they cannot be used.

Source: the Kafka source of Spark SQL (columns topic, partition, offset, timestamp,
value, headers); header names are those that the bridge writes.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from udfs.compression.codecs import COMPRESSION_NAMES

from .headers import (
    CLUSTER_HEADERS,
    CONFIG_HEADERS,
    HEADERS,
    TIME,
    TRAFFIC_HEADERS,
    WIRE_HEADERS,
    Header,
    bound_times,
)
from .picked_headers import Flags, PickedHeaders, pick_headers

NULL_VALUE = "null_value"
MISSING_HEADER = "missing_header"
HEADER_NOT_UTF8 = "header_not_utf8"
INVALID_HEADER = "invalid_header"
HEADERS_TOO_LARGE = "headers_too_large"

UNKNOWN_COMPRESSION_ID = -1
"""No codec has it; the decoder reports such a push as unknown_codec."""


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

_CODECS = pa.array(
    [text for i, name in COMPRESSION_NAMES.items() for text in (name, str(i))]
)
_CODEC_NAMES = pa.array([name for name in COMPRESSION_NAMES.values() for _ in range(2)])
_CODEC_IDS = pa.array([i for i in COMPRESSION_NAMES for _ in range(2)], pa.int32())


def read_envelopes(records: pa.RecordBatch) -> pa.RecordBatch:
    """Turn the headers of telemetry records into typed columns, faults beside them.

    Args:
        records: topic, partition, offset, timestamp, value, headers of Spark's source.
    Returns: topic, partition, offset, kafka_timestamp, body, one column per header,
        compression_type_id, envelope_fault and envelope_detail.
    Shape: One row per record, same order. The last value of a header name wins, as in
        Kafka.
    Nulls: A typed column is null where its header is missing or cannot be read;
        envelope_fault is null where nothing is wrong.
    Errors: envelope_fault is headers_too_large, null_value, missing_header,
        header_not_utf8 or invalid_header, the first that applies; envelope_detail holds
        header names. Of headers that are too large only the short ones are there.
    """
    columns = _read_columns(records, HEADERS)
    codec = columns["compression_type"]
    place = pc.index_in(codec, _CODECS)
    columns["compression_type"] = pc.coalesce(_CODEC_NAMES.take(place), codec)
    ids = pc.fill_null(_CODEC_IDS.take(place), UNKNOWN_COMPRESSION_ID)
    columns["compression_type_id"] = ids
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def read_config_envelopes(records: pa.RecordBatch) -> pa.RecordBatch:
    """Turn the headers of records of configurations into typed columns.

    Args:
        records: As read_envelopes takes them.
    Returns: topic, partition, offset, kafka_timestamp, body, one column per header,
        envelope_fault and envelope_detail.
    Shape: As in read_envelopes.
    Nulls: As in read_envelopes.
    Errors: As in read_envelopes.
    """
    return _read_typed(records, CONFIG_HEADERS)


def read_wire_envelopes(records: pa.RecordBatch) -> pa.RecordBatch:
    """Turn the headers of records of configurations seen on the wire into columns.

    Args:
        records: As read_envelopes takes them.
    Returns: As read_config_envelopes, without client_instance_id.
    Shape: As in read_envelopes.
    Nulls: As in read_envelopes.
    Errors: As in read_envelopes.
    """
    return _read_typed(records, WIRE_HEADERS)


def read_traffic_envelopes(records: pa.RecordBatch) -> pa.RecordBatch:
    """Turn the headers of records of what clients produce and fetch into columns.

    Args:
        records: As read_envelopes takes them.
    Returns: As read_config_envelopes, without what belongs to one connection.
    Shape: As in read_envelopes.
    Nulls: As in read_envelopes.
    Errors: As in read_envelopes.
    """
    return _read_typed(records, TRAFFIC_HEADERS)


def read_cluster_envelopes(records: pa.RecordBatch) -> pa.RecordBatch:
    """Turn the headers of records of the cluster's feed into typed columns.

    Args:
        records: As read_envelopes takes them.
    Returns: topic, partition, offset, kafka_timestamp, body, one column per header,
        envelope_fault and envelope_detail.
    Shape: As in read_envelopes.
    Nulls: As in read_envelopes.
    Errors: As in read_envelopes.
    """
    return _read_typed(records, CLUSTER_HEADERS)


def _read_typed(records: pa.RecordBatch, headers: Sequence[Header]) -> pa.RecordBatch:
    columns = _read_columns(records, headers)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _read_columns(
    records: pa.RecordBatch, headers: Sequence[Header]
) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {
        "topic": records.column("topic"),
        "partition": records.column("partition"),
        "offset": records.column("offset"),
        "kafka_timestamp": bound_times(records.column("timestamp")),
        "body": records.column("value"),
    }
    missing, not_utf8, invalid = [], [], []
    picked = pick_headers(records, headers)
    for header, sent in zip(headers, picked.values, strict=True):
        texts = _read_texts(sent)
        typed = header.kind(texts)
        columns[header.column] = typed
        missing.append(_flags(sent.is_null()) & header.is_required)
        not_utf8.append(_flags(texts.is_null()) & _flags(sent.is_valid()))
        invalid.append(_flags(typed.is_null()) & _flags(texts.is_valid()))
    names = [header.name for header in headers]
    faults = _fault_columns(
        _flags(records.column("value").is_null()),
        {
            MISSING_HEADER: np.array(missing),
            HEADER_NOT_UTF8: np.array(not_utf8),
            INVALID_HEADER: np.array(invalid),
        },
        names,
    )
    if picked.is_large.any():
        faults = _refuse_large(faults, picked, names)
    return columns | faults


def _flags(column: pa.BooleanArray) -> Flags:
    flags: Flags = column.to_numpy(zero_copy_only=False)
    return flags


def _refuse_large(
    faults: dict[str, pa.Array], picked: PickedHeaders, names: Sequence[str]
) -> dict[str, pa.Array]:
    """Name the records whose headers are too large, and the headers left out."""
    reasons, details = (column.to_pylist() for column in faults.values())
    is_left_out = np.array(picked.is_left_out)
    for record in np.flatnonzero(picked.is_large).tolist():
        reasons[record] = HEADERS_TOO_LARGE
        left_out = np.flatnonzero(is_left_out[:, record]).tolist()
        details[record] = ", ".join(names[i] for i in left_out) or None
    return {
        name: pa.array(texts, pa.string())
        for name, texts in zip(faults, (reasons, details), strict=True)
    }


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
    has_no_value: Flags, faults: dict[str, Flags], names: Sequence[str]
) -> dict[str, pa.Array]:
    """Name the fault of each record, and the headers that have it.

    Args:
        has_no_value: One flag a record.
        faults: Reason to flags, one row a header; the first that applies counts.
        names: Of the headers, in the same order.
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
                details[record] = ", ".join(names[i] for i in at_fault)
                break
    return {
        "envelope_fault": pa.array(reasons, pa.string()),
        "envelope_detail": pa.array(details, pa.string()),
    }
