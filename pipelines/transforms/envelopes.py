"""The envelope of a telemetry record: its headers, typed, or why they cannot be used.

Source: the Kafka source of Spark SQL (columns topic, partition, offset, timestamp,
value, headers); header names are those that the bridge writes.
"""

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame

from .header_types import HEADERS, as_text

NULL_VALUE = "null_value"
MISSING_HEADER = "missing_header"
HEADER_NOT_UTF8 = "header_not_utf8"
INVALID_HEADER = "invalid_header"

COMPRESSION_IDS: Mapping[str, int] = {
    "none": 0,
    "gzip": 1,
    "snappy": 2,
    "lz4": 3,
    "zstd": 4,
}
"""Kafka's CompressionType: name to id on the wire."""
UNKNOWN_COMPRESSION_ID = -1
"""No codec has it; the decoder reports such a push as unknown_codec."""


def with_envelope(records: DataFrame) -> DataFrame:
    """Turn the headers of Kafka records into typed columns, faults beside them.

    Args:
        records: Columns of Spark's Kafka source, headers included.
    Returns: topic, partition, offset, kafka_timestamp, body, one column per header,
        compression_type_id, envelope_fault and envelope_detail.
    Shape: One row per record, same order.
    Nulls: A typed column is null where its header is missing or cannot be read;
        envelope_fault is null where nothing is wrong.
    Errors: envelope_fault is null_value, missing_header, header_not_utf8 or
        invalid_header, the first that applies; envelope_detail holds header names.
    """
    return (
        records.transform(_with_header_bytes)
        .transform(_with_header_texts)
        .transform(_with_typed_headers)
        .transform(_with_faulty_names)
        .transform(_select_envelope)
    )


def filter_usable(envelopes: DataFrame) -> DataFrame:
    """Keep the records whose envelope can be used."""
    return envelopes.where("envelope_fault IS NULL")


def _with_header_bytes(records: DataFrame) -> DataFrame:
    """Pick each known header once; the last value of a name wins, as in Kafka."""
    newest_first = records.selectExpr(
        "*", "REVERSE(headers.key) AS names", "REVERSE(headers.value) AS `values`"
    )
    # ARRAY_POSITION is 0 where there is none, and GET answers null for -1.
    picked = "GET(`values`, INT(ARRAY_POSITION(names, known)) - 1)"
    return newest_first.selectExpr(
        "*", f"TRANSFORM({_NAMES}, known -> {picked}) AS bytes"
    )


def _with_header_texts(records: DataFrame) -> DataFrame:
    text = "CASE WHEN IS_VALID_UTF8(STRING(raw)) THEN STRING(raw) END"
    return records.selectExpr("*", f"TRANSFORM(bytes, raw -> {text}) AS text")


def _with_typed_headers(records: DataFrame) -> DataFrame:
    fields = ", ".join(f"'{h.name}', {h.kind(_text_of(h.name))}" for h in HEADERS)
    return records.selectExpr("*", f"NAMED_STRUCT({fields}) AS typed")


def _with_faulty_names(records: DataFrame) -> DataFrame:
    """Name the headers at fault, one column per fault; empty for none."""
    required = _array(h.name for h in HEADERS if h.is_required)
    missing = f"""ARRAY_JOIN(FILTER({_NAMES}, (name, i) -> GET(bytes, i) IS NULL
        AND ARRAY_CONTAINS({required}, name)), ', ')"""
    not_utf8 = f"""ARRAY_JOIN(FILTER({_NAMES}, (name, i) ->
        GET(bytes, i) IS NOT NULL AND GET(text, i) IS NULL), ', ')"""
    # Any text is a value of a kind that is text.
    typed = [h for h in HEADERS if h.kind is not as_text]
    faults = (
        f"CASE WHEN {_text_of(h.name)} IS NOT NULL AND typed.{h.name} IS NULL "
        f"THEN '{h.name}' END"
        for h in typed
    )
    invalid = f"CONCAT_WS(', ', {', '.join(faults)})"
    return records.selectExpr(
        "*", f"{missing} AS missing", f"{not_utf8} AS not_utf8", f"{invalid} AS invalid"
    )


def _select_envelope(records: DataFrame) -> DataFrame:
    compression = _text_of("compression_type")
    name = _lookup({name: f"'{name}'" for name in COMPRESSION_IDS}, compression)
    id_ = _lookup({name: str(i) for name, i in COMPRESSION_IDS.items()}, compression)
    typed = {h.column: f"typed.{h.name}" for h in HEADERS}
    typed["compression_type"] = f"COALESCE({name}, {compression})"
    faults = f"""CASE WHEN value IS NULL THEN '{NULL_VALUE}'
        WHEN missing != '' THEN '{MISSING_HEADER}'
        WHEN not_utf8 != '' THEN '{HEADER_NOT_UTF8}'
        WHEN invalid != '' THEN '{INVALID_HEADER}' END"""
    details = """CASE WHEN value IS NULL THEN NULL
        WHEN missing != '' THEN missing
        WHEN not_utf8 != '' THEN not_utf8
        WHEN invalid != '' THEN invalid END"""
    return records.selectExpr(
        "topic",
        "partition",
        "offset",
        "timestamp AS kafka_timestamp",
        "value AS body",
        *(f"{sql} AS {column}" for column, sql in typed.items()),
        f"COALESCE({id_}, {UNKNOWN_COMPRESSION_ID}) AS compression_type_id",
        f"{faults} AS envelope_fault",
        f"{details} AS envelope_detail",
    )


def _array(names: Iterable[str]) -> str:
    """Return SQL for an array of header names."""
    return "ARRAY({})".format(", ".join(f"'{name}'" for name in names))


def _text_of(name: str) -> str:
    """Return SQL for the text of a header."""
    return f"GET(text, {_POSITIONS[name]})"


def _lookup(values: Mapping[str, str], compression: str) -> str:
    """Return SQL for the value of a codec that is written by name or by decimal id."""
    cases = " ".join(
        f"WHEN {compression} IN ('{name}', '{COMPRESSION_IDS[name]}') THEN {value}"
        for name, value in values.items()
    )
    return f"CASE {cases} END"


# One expression over all headers, not one for each: Spark compiles each plan anew.
_NAMES = _array(h.name for h in HEADERS)
_POSITIONS = {h.name: position for position, h in enumerate(HEADERS)}
