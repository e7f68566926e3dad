"""The judge of every push that the walk does not find plain: protobuf's own decoder.

It merges what came in parts, keeps the last member of a oneof, drops what it does not
know, and writes the push anew. That form is plain, so the walk reads it like any other,
and there is one way from bytes to points. What the decoder refuses is refused.
"""

from google.protobuf.message import DecodeError
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from udfs.compression import codecs

from . import walk as w
from .limits import TOO_MANY_POINTS
from .schema import INVALID_UTF8, MALFORMED_OTLP, TRUNCATED_OTLP

REASONS = {w.TRUNCATED: TRUNCATED_OTLP, w.BAD_TEXT: INVALID_UTF8}
DETAILS = {
    w.TRUNCATED: "the push ends inside the field at byte {at}",
    w.OVERRUN: "the field at byte {at} ends after the message that holds it",
    w.BAD_KEY: "the field key at byte {at} is not valid",
    w.BAD_NUMBER: "the number in the field at byte {at} is too long",
    w.BAD_GROUP: "the group that ends at byte {at} was not begun",
    w.BAD_LIST: "the packed list at byte {at} ends inside a number",
    w.TOO_DEEP: "messages are nested too deep at byte {at}",
    w.BAD_TEXT: "the string of {size} bytes at byte {at} is not UTF-8",
}
REFUSED = "the protobuf decoder refuses it"


def plain_bytes(body: bytes) -> bytes | None:
    """Return a push in its plain form, or None where protobuf refuses it.

    Args:
        body: MetricsData, uncompressed, as received.
    Returns: The same message: merged, unknown fields dropped, fields in order.
    Source: google.protobuf, MetricsData of opentelemetry-proto metrics/v1.
    """
    try:
        metrics_data = MetricsData.FromString(body)
    except DecodeError:
        return None
    metrics_data.DiscardUnknownFields()
    return metrics_data.SerializeToString()


def refusal(status: int, at: int, size: int) -> tuple[str, str]:
    """Return reason code and detail of a push that cannot be decoded.

    Args:
        status: What the walk found first.
        at: Position in the push, in bytes.
        size: Length of the field there, in bytes; 0 where it is not known.
    Returns: The reason code, and a sentence without any text of the push.
    """
    if status == w.NO_ROOM:
        return codecs.TOO_LARGE, TOO_MANY_POINTS
    if status == w.TRUNCATED and size > 0:
        return TRUNCATED_OTLP, f"field of {size} bytes at byte {at} ends after the push"
    detail = DETAILS.get(status, REFUSED).format(at=at, size=size)
    return REASONS.get(status, MALFORMED_OTLP), detail
