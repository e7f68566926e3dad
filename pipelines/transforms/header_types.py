"""The headers of a telemetry record: names, kinds, and how a text becomes a value.

A kind is SQL that gives the typed value of a text, or null where the text is not of
that kind. Nothing here raises for data, whatever the session's ANSI mode, so each
number passes a pattern before TRY_CAST sees it. It is SQL text, and not Column calls,
because each of those is a round trip to the JVM, and each micro-batch makes them anew.
"""

from collections.abc import Callable
from dataclasses import dataclass

DECIMAL = r"\A-?[0-9]{1,19}\z"
UUID_TEXT = r"\A[A-Za-z0-9_-]{22}\z"
"""128 bits in base64url without padding, as Kafka prints a Uuid."""
MAX_PORT = 65_535
MAX_INT32 = 2**31 - 1
MIN_INT32 = -(2**31)
MAX_TIME_MS = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: the last millisecond whose date has four year digits."""

Kind = Callable[[str], str]


def as_text(text: str) -> str:
    """Any text will do."""
    return text


def as_uuid_text(text: str) -> str:
    """Return the text where it is a Uuid as Kafka prints it."""
    return f"CASE WHEN {text} RLIKE r'{UUID_TEXT}' THEN {text} END"


def as_flag(text: str) -> str:
    """Return true or false where the text is exactly that."""
    return f"CASE {text} WHEN 'true' THEN true WHEN 'false' THEN false END"


def as_integer(low: int, high: int, sql_type: str) -> Kind:
    """Build the kind of decimal numbers in a range, both ends included."""

    def convert(text: str) -> str:
        digits = f"CASE WHEN {text} RLIKE r'{DECIMAL}' THEN {text} END"
        number = f"TRY_CAST({digits} AS BIGINT)"
        in_range = f"CASE WHEN {number} BETWEEN {low} AND {high} THEN {number} END"
        return f"TRY_CAST({in_range} AS {sql_type})"

    return convert


def as_time(text: str) -> str:
    """Return the timestamp of a count of milliseconds since 1970."""
    return f"TIMESTAMP_MILLIS({as_integer(0, MAX_TIME_MS, 'BIGINT')(text)})"


@dataclass(frozen=True, slots=True)
class Header:
    """One header of the record and the column that it becomes."""

    name: str
    column: str
    kind: Kind
    is_required: bool = True


HEADERS = (
    Header("client_instance_id", "client_instance_id", as_uuid_text),
    Header("client_id", "client_id", as_text, is_required=False),
    Header("client_software_name", "client_software_name", as_text),
    Header("client_software_version", "client_software_version", as_text),
    Header("principal", "principal", as_text),
    Header("listener", "listener", as_text),
    Header("client_source_address", "client_source_address", as_text),
    Header("client_source_port", "client_source_port", as_integer(0, MAX_PORT, "INT")),
    Header("bridge_id", "bridge_id", as_text),
    Header("received_at_ms", "received_at", as_time),
    Header("push_id", "push_id", as_text),
    Header(
        "subscription_id", "subscription_id", as_integer(MIN_INT32, MAX_INT32, "INT")
    ),
    Header("push_interval_ms", "push_interval_ms", as_integer(1, MAX_INT32, "INT")),
    Header("compression_type", "compression_type", as_text),
    Header("terminating", "terminating", as_flag),
)
"""Every header that the bridge writes, in the order in which faults name them."""
