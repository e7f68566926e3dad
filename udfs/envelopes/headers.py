"""The headers of a record: names, kinds, and how a text becomes a value.

Nothing here raises for data: what is not of its kind becomes null.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from udfs.sensitive.redacted_keys import REDACTIONS_HEADER, read_redactions

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


def bound_times(times: pa.Array) -> pa.Array:
    """Return timestamps of records within the years 1970 to 9999, as TIME.

    Producers choose the timestamps. Python, and thus every reader of a table, fails on
    later years.
    """
    micros = times.cast(TIME).cast(pa.int64())
    latest = MAX_TIME_MS * MICROS_PER_MS
    bounded = pc.min_element_wise(micros, latest, skip_nulls=False)
    return pc.max_element_wise(bounded, 0, skip_nulls=False).cast(TIME)


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


def _as_one_of(*words: str) -> Kind:
    """Build the kind of texts that are one of some words."""

    def convert(texts: pa.StringArray) -> pa.Array:
        return _where(pc.is_in(texts, pa.array(words)), texts)

    return convert


def _as_redactions(texts: pa.StringArray) -> pa.Array:
    """Keep headers that can be read; nobody knows what another one hides."""
    coded = texts.dictionary_encode()
    is_read = [read_redactions(one) is not None for one in coded.dictionary.to_pylist()]
    return _where(pa.array(is_read, pa.bool_()).take(coded.indices), texts)


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


IDENTITY_HEADERS = (
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
    Header("cluster_id", "cluster_id", _as_text, is_required=False),
    Header(
        "broker_id",
        "broker_id",
        _as_integer(0, MAX_INT32, pa.int32()),
        is_required=False,
    ),
    Header("received_at_ms", "received_at", _as_time),
    Header("push_id", "push_id", _as_text),
)
"""What the bridge says of whoever sent a record."""

HEADERS = (
    *IDENTITY_HEADERS,
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
"""Every header of a telemetry record, in the order in which faults name them."""

_REDACTIONS = Header(
    REDACTIONS_HEADER, REDACTIONS_HEADER, _as_redactions, is_required=False
)
CONFIG_HEADERS = (*IDENTITY_HEADERS, _REDACTIONS)
"""Every header of a record of a pushed configuration, in the same order."""

WIRE_HEADERS = (*IDENTITY_HEADERS[1:], _REDACTIONS)
"""Every header of a record of a configuration seen on the wire: no instance is known.
"""

_OF_CONNECTION = frozenset(
    {
        *("client_instance_id", "client_source_address", "client_source_port"),
        *("listener", "broker_id"),
    }
)
TRAFFIC_HEADERS = (
    *(
        replace(one, is_required=one.is_required or one.name == "cluster_id")
        for one in IDENTITY_HEADERS
        if one.name not in _OF_CONNECTION
    ),
    _REDACTIONS,
)
"""Every header of a record of what a client produces and fetches: it may have many
connections, and its cluster has said who it is."""

CLUSTER_HEADERS = (
    Header("cluster_id", "cluster_id", _as_text),
    Header("source", "source", _as_one_of("admin_api", "metadata_log", "file")),
    Header("observed_at_ms", "observed_at", _as_time),
    Header("timestamp_ms", "timestamp", _as_time, is_required=False),
    Header("not_before_ms", "not_before", _as_time, is_required=False),
    Header(
        "offset",
        "metadata_offset",
        _as_integer(0, MAX_INT64, pa.int64()),
        is_required=False,
    ),
    Header(
        "epoch",
        "metadata_epoch",
        _as_integer(0, MAX_INT32, pa.int32()),
        is_required=False,
    ),
    Header("set_id", "set_id", _as_text, is_required=False),
    Header(
        "static_configs",
        "static_configs_status",
        _as_one_of("described", "refused", "unreachable"),
        is_required=False,
    ),
    Header("defaults", "defaults", _as_text, is_required=False),
    Header(
        "withheld", "withheld", _as_integer(0, MAX_INT32, pa.int32()), is_required=False
    ),
)
"""Every header of a record of the cluster's feed, in the same order."""
