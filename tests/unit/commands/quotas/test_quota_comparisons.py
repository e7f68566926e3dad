"""Clients that a change of quotas would throttle."""

import pyarrow as pa
import pytest

from pipelines.commands.quotas.comparisons import compare_clients
from pipelines.commands.quotas.questions import read_alterations
from udfs.quotas import ENTITY_SCHEMA

KEY = "producer_byte_rate"
QUOTAS = pa.RecordBatch.from_pylist([], schema=ENTITY_SCHEMA)
CLIENTS = pa.RecordBatch.from_pylist(
    [
        {
            "principal": principal,
            "client_id": client_id,
            "client_source_address": "10.0.0.1",
            KEY: rate,
            "consumer_byte_rate": None,
        }
        for principal, client_id, rate in (
            *(("User:a", f"c{number}", 900.0) for number in range(1, 5)),
            ("User:b", "one", 2400.0),
        )
    ],
    schema=pa.schema(
        [
            *(("principal", pa.string()), ("client_id", pa.string())),
            *(("client_source_address", pa.string()), (KEY, pa.float64())),
            ("consumer_byte_rate", pa.float64()),
        ]
    ),
)


@pytest.mark.parametrize(
    ("user", "brokers", "throttled"),
    [
        ("a", 3, [("c1 and 3 more", 3600.0)]),
        ("a", 4, []),
        ("b", 3, []),
        ("b", 2, [("one", 2400.0)]),
        ("b", None, []),
    ],
)
def test_comparison_with_new_limit_adds_sharers_and_counts_live_brokers(
    user, brokers, throttled
):
    alterations = read_alterations([f"users/{user}:{KEY}=1000"], [])
    found = compare_clients(CLIENTS, QUOTAS, alterations, [KEY], brokers)
    assert list(found.throttled) == throttled
