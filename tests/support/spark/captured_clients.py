"""Rows of clients whose pushes are captures of real ones, at times of our own."""

from pathlib import Path

import pyarrow as pa

from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_METRICS, CLIENT_PUSHES
from udfs.compression.codecs import COMPRESSION_NAMES
from udfs.otlp.metrics import decode_pushes

CAPTURES = Path(__file__).parents[2] / "golden" / "telemetry"
_CODECS = {name: number for number, name in COMPRESSION_NAMES.items()}
_MAX_BYTES = 1 << 20


def captured_rows(client, pushes, *, subscription_id=7):
    """Return pairs of a table contract and its rows of a client, to be appended.

    Args:
        client: Columns of client_instances.
        pushes: Pairs of received_at and the name of a capture, without its ending.
    """
    rows_of_pushes, points = [], []
    for number, (at, name) in enumerate(pushes):
        push = {
            "client_instance_id": client["client_instance_id"],
            "client_software_name": client["client_software_name"],
            "client_software_version": client["client_software_version"],
            "received_at": at,
            "event_date": at.date(),
            "push_id": f"{client['client_instance_id']}/{number}",
            "offset": number,
        }
        owner = {one: client[one] for one in ("client_id", "principal")}
        told = {"push_interval_ms": client["push_interval_ms"]}
        told["subscription_id"] = subscription_id
        rows_of_pushes.append(push | owner | told)
        points += [push | owner | one for one in _points(name)]
    return (
        (CLIENT_INSTANCES, [client]),
        (CLIENT_PUSHES, rows_of_pushes),
        (CLIENT_METRICS, points),
    )


def _points(name):
    (path,) = CAPTURES.glob(f"{name}_*.bin")
    decoded = decode_pushes(
        pa.array([path.read_bytes()], pa.binary()),
        pa.array([_CODECS[path.stem.rsplit("_", 1)[1]]], pa.int32()),
        max_decompressed_bytes=_MAX_BYTES,
    )
    assert decoded.pushes["decode_status"].to_pylist() == ["ok"]
    known = {*CLIENT_METRICS.column_names}
    return [
        {key: value for key, value in one.items() if key in known and value is not None}
        for one in decoded.points.to_pylist()
    ]
