"""The history of logical clients is what a simple replay of their pushes finds."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from udfs.configs.histories import (
    HISTORY_SCHEMA,
    HOLDING_SCHEMA,
    REDACTED_ID,
    make_histories,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXTS = st.sampled_from(["a", "b", None])
HOLDINGS = st.lists(
    st.tuples(
        st.sampled_from(["l1", "l2"]),
        st.sampled_from(["i1", "i2", "i3"]),
        st.integers(0, 6),
        st.one_of(st.none(), st.integers(0, 6)),
        st.dictionaries(st.sampled_from(["k1", "k2"]), TEXTS, max_size=2),
    ),
    max_size=8,
)


def at(second):
    return None if second is None else NOON + timedelta(seconds=second)


def make_batch(holdings):
    rows = [
        {
            "logical_client": client,
            "principal": "p",
            "client_id": None,
            "client_type": "producer",
            "client_instance_id": instance,
            "push_id": f"push-{number}",
            "held_from": at(start),
            "held_to": at(stop),
            "configs": [
                {"config_key": key, "config_value": value, "config_type": "STRING"}
                for key, value in configs.items()
            ],
        }
        for number, (client, instance, start, stop, configs) in enumerate(holdings)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=HOLDING_SCHEMA)


def run(holdings):
    found = make_histories(make_batch(holdings))
    assert found.schema == HISTORY_SCHEMA
    return sorted(
        (
            row["logical_client"],
            row["config_key"],
            str(row["config_value"]),
            row["valid_from"],
            row["valid_to"] or at(99),
            row["client_instance_ids"],
        )
        for row in found.to_pylist()
    )


def replay(holdings):
    """Return the same, second by second."""
    told = {
        (client, key, value)
        for client, _, _, _, configs in holdings
        for key, value in configs.items()
    }
    rows = []
    for client, key, value in told:
        spans = sorted(
            (start, 99 if stop is None else stop, instance)
            for one, instance, start, stop, configs in holdings
            if one == client and key in configs and configs[key] == value
            if stop is None or start < stop
        )
        while spans:
            start, stop, first = spans.pop(0)
            holders = {first}
            while spans and spans[0][0] <= stop:
                _, end, instance = spans.pop(0)
                stop = max(stop, end)
                holders.add(instance)
            rows.append((client, key, str(value), at(start), at(stop), sorted(holders)))
    return sorted(rows)


@given(HOLDINGS)
def test_stretches_are_those_of_a_replay(holdings):
    assert run(holdings) == replay(holdings)


def test_no_push_has_no_history():
    assert run([]) == []
    assert run([("l1", "i1", 0, None, {})]) == []


def test_a_value_has_an_id_and_so_has_a_redacted_one():
    configs = {"k1": "", "k2": None}
    found = make_histories(make_batch([("l1", "i1", 0, None, configs)])).to_pylist()
    empty, redacted = sorted(found, key=lambda row: row["config_key"])
    assert len(empty["value_id"]) == 32
    assert redacted["value_id"] == REDACTED_ID
    assert empty["is_current"]
    assert empty["client_id"] is None
