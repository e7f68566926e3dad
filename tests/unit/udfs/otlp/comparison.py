"""Rows of the kernel and of the plain loop, made comparable bit by bit."""

import struct

import pyarrow as pa

from tests.bench.plain_decode import plain_points
from udfs.otlp.metrics import decode_pushes

NONE = 0
MAX_BYTES = 1 << 20


def bits(value):
    """Replace doubles by their bits, so that NaN equals itself and -0.0 is not 0.0."""
    if isinstance(value, float):
        return ("double", struct.pack("<d", value))
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    if isinstance(value, list):
        return [bits(item) for item in value]
    return value


def with_bits(row):
    """Replace the doubles of a point; no other column has any."""
    row["value_double"] = bits(row["value_double"])
    row["distribution"] = bits(row["distribution"])
    return row


def point_rows(points):
    """Return data points as dictionaries, times as integers."""
    place = points.schema.get_field_index("time")
    micros = points.column("time").cast(pa.int64())
    rows = points.set_column(place, "time", micros)
    return [with_bits(row) for row in rows.to_pylist(maps_as_pydicts="strict")]


def decode(bodies, compression_types=None, max_bytes=MAX_BYTES):
    """Decode pushes, without compression unless said otherwise."""
    if compression_types is None:
        compression_types = [NONE] * len(bodies)
    return decode_pushes(
        pa.array(bodies, pa.binary()),
        pa.array(compression_types, pa.int32()),
        max_decompressed_bytes=max_bytes,
    )


def rows_of(decoded, push):
    """Return the points of one push."""
    start, end = decoded.offsets[push].as_py(), decoded.offsets[push + 1].as_py()
    return point_rows(decoded.points.slice(start, end - start))


def expected_rows(payload):
    """Return what the protobuf classes say; None where they refuse the push."""
    rows = plain_points(payload)
    return None if rows is None else [with_bits(row) for row in rows]


def differences(payloads):
    """Decode payloads together and return those that the protobuf classes see else."""
    decoded = decode(payloads)
    statuses = decoded.pushes["decode_status"].to_pylist()
    found = []
    for push, payload in enumerate(payloads):
        expected = expected_rows(payload)
        is_accepted = statuses[push] == "ok"
        if is_accepted != (expected is not None):
            found.append((payload, statuses[push], "accepted or not"))
        elif rows_of(decoded, push) != (expected or []):
            found.append((payload, statuses[push], "values"))
    return found
