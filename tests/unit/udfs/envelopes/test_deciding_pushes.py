"""Of many pushes those that decide are kept, and say what all of them say."""

import random
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from udfs.envelopes.deciding_pushes import (
    DecidingPushes,
    InstanceColumns,
    find_differences,
    merge_facts,
    reduce_pushes,
    select_deciding,
)

EPOCH = datetime(2026, 3, 1, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [
        ("client_instance_id", pa.string()),
        ("received_at", TIME),
        ("push_id", pa.string()),
        ("principal", pa.string()),
        ("client_type", pa.string()),
        ("broker_id", pa.int32()),
        ("group_id", pa.string()),
        ("point_count", pa.int32()),
        ("terminating", pa.bool_()),
    ]
)
COLUMNS = InstanceColumns(connection=("principal",), membership=("group_id",))


def at(minutes):
    return EPOCH + timedelta(minutes=minutes)


def make_push(minutes, instance="i", **fields):
    known = {
        "client_instance_id": instance,
        "received_at": at(minutes),
        "push_id": f"p{minutes}",
        "principal": "User:a",
        "client_type": "producer",
        "broker_id": None,
        "group_id": "g",
        "point_count": 1,
        "terminating": False,
    }
    return known | fields


def table(*pushes):
    return pa.Table.from_pylist(list(pushes), schema=SCHEMA)


def facts_of(*pushes):
    return reduce_pushes(table(*pushes), COLUMNS).to_pylist()


EMPTY = {"client_type": None, "group_id": None, "point_count": 0}


def test_each_part_is_from_the_newest_push_that_knows_it():
    pushes = [
        make_push(4, **EMPTY, principal="User:b", terminating=True),
        make_push(1, client_type="consumer"),
        make_push(3, client_type=None, group_id="new"),
        make_push(2, group_id="old"),
    ]
    assert facts_of(*pushes) == [
        {
            "client_instance_id": "i",
            "principal": "User:b",
            "client_type": "producer",
            "broker_id": None,
            "group_id": "new",
            "first_seen": at(1),
            "terminated_at": at(4),
            "is_informed": True,
            "oldest_needed": at(2),
        }
    ]
    kept = select_deciding(table(*pushes, make_push(2.5)))
    assert sorted(kept["push_id"].to_pylist()) == ["p1", "p2.5", "p3", "p4"]


def test_what_no_push_knows_is_null():
    [facts] = facts_of(make_push(1, **EMPTY), make_push(2, **EMPTY | {"group_id": "x"}))
    assert facts["client_type"] is facts["group_id"] is facts["terminated_at"] is None
    assert not facts["is_informed"]


def test_of_two_pushes_at_one_moment_the_greater_push_id_is_newer():
    """By the bytes of UTF-8, as Spark compares texts."""
    pushes = [
        make_push(1, push_id=push_id, principal=f"User:{push_id}")
        for push_id in ("\U0001f600", "\uffff", "z")
    ]
    for order in (pushes, pushes[::-1]):
        [facts] = facts_of(*order)
        assert facts["principal"] == "User:\U0001f600"


def test_client_instances_do_not_meet():
    facts = facts_of(make_push(1), make_push(2, "j", principal="User:j"), make_push(3))
    assert [(f["client_instance_id"], f["principal"]) for f in facts] == [
        ("i", "User:a"),
        ("j", "User:j"),
    ]


def make_random_pushes(chance, count):
    return [
        make_push(
            chance.randrange(8),
            f"i{chance.randrange(5)}",
            push_id=f"{number:03}",
            principal=f"User:{chance.randrange(3)}",
            client_type=chance.choice([None, "producer", "consumer"]),
            broker_id=chance.choice([None, 0, 1, 2**31 - 1]),
            group_id=chance.choice([None, "g", "h"]),
            point_count=chance.choice([None, 0, 0, 1]),
            terminating=chance.random() < 0.3,
        )
        for number in range(count)
    ]


def by_instance(facts):
    return sorted(facts.to_pylist(), key=lambda row: row["client_instance_id"])


def test_pushes_that_were_reduced_apart_say_what_all_say():
    chance = random.Random(0)  # noqa: S311 - to be repeatable
    for _ in range(50):
        pushes = make_random_pushes(chance, 40)
        cut = chance.randrange(41)
        parts = [select_deciding(table(*part)) for part in (pushes[:cut], pushes[cut:])]
        together = reduce_pushes(pa.concat_tables(parts), COLUMNS)
        every = reduce_pushes(table(*pushes), COLUMNS)
        assert by_instance(together) == by_instance(every)
        assert select_deciding(table(*pushes)).num_rows <= 4 * every.num_rows


def newest(pushes):
    return max(pushes, key=lambda push: (push["received_at"], push["push_id"]))


def fold_push_by_push(pushes, row=None):
    """Say what the rules at the head of the kernel make of the pushes of one client."""
    typed = [push for push in pushes if push["client_type"] is not None]
    informed = [push for push in pushes if (push["point_count"] or 0) > 0]
    last = newest(pushes)
    firsts = [
        (push["received_at"], 2**31 if push["broker_id"] is None else push["broker_id"])
        for push in pushes
    ]
    if row:
        broker = 2**31 if row["broker_id"] is None else row["broker_id"]
        firsts.append((row["first_seen"], broker))
    first_seen, broker = min(firsts)
    known = row or {}
    parts = [newest(some) for some in (pushes, typed, informed) if some]
    return {
        "client_instance_id": last["client_instance_id"],
        "principal": last["principal"],
        "client_type": newest(typed)["client_type"]
        if typed
        else known.get("client_type"),
        "broker_id": None if broker == 2**31 else broker,
        "group_id": newest(informed)["group_id"] if informed else known.get("group_id"),
        "first_seen": first_seen,
        "terminated_at": last["received_at"] if last["terminating"] else None,
    }, min(part["received_at"] for part in parts)


_PUSH_ONLY = {"received_at", "push_id", "point_count", "terminating"}
ROW_SCHEMA = pa.schema(
    [
        *(field for field in SCHEMA if field.name not in _PUSH_ONLY),
        ("first_seen", TIME),
        ("terminated_at", TIME),
    ]
)


def test_what_pushes_say_is_what_the_rules_make_of_them_one_by_one():
    """Alone, and upon what the table says of some of their client instances."""
    chance = random.Random(2)  # noqa: S311 - to be repeatable
    for _ in range(100):
        pushes = make_random_pushes(chance, 30)
        facts = reduce_pushes(table(*pushes), COLUMNS)
        names = facts["client_instance_id"].to_pylist()
        rows = [
            {"client_instance_id": name}
            | {
                "principal": f"User:{chance.randrange(3)}",
                "client_type": chance.choice([None, "producer"]),
                "broker_id": chance.choice([None, 0, 1]),
                "group_id": chance.choice([None, "g"]),
                "first_seen": at(chance.randrange(8)),
                "terminated_at": None,
            }
            if chance.random() < 0.5
            else dict.fromkeys(ROW_SCHEMA.names)
            for name in names
        ]
        known = pa.Table.from_pylist(rows, schema=ROW_SCHEMA)
        merged = pa.table(merge_facts(facts, known, COLUMNS)).to_pylist()
        expected = [
            fold_push_by_push(
                [push for push in pushes if push["client_instance_id"] == name],
                row if row["client_instance_id"] else None,
            )
            for name, row in zip(names, rows, strict=True)
        ]
        assert merged == [row for row, _ in expected]
        assert facts["oldest_needed"].to_pylist() == [least for _, least in expected]
        differs = find_differences(facts, known, COLUMNS)
        assert differs.tolist() == [
            new != old for (new, _), old in zip(expected, rows, strict=True)
        ]


def test_pushes_are_reduced_whenever_many_wait():
    deciding = DecidingPushes(tuple(SCHEMA.names))
    assert deciding.reduce() is None
    of_one = table(*(make_push(minutes) for minutes in range(2000))).to_batches()[0]
    for _ in range(30):
        deciding.add(of_one.append_column("body", pa.nulls(of_one.num_rows)))
    assert deciding.reduce().column_names == SCHEMA.names
    assert sorted(deciding.reduce()["push_id"].to_pylist()) == ["p0", "p1999"]


def test_no_pushes_say_nothing():
    empty = SCHEMA.empty_table()
    assert select_deciding(empty).num_rows == 0
    assert reduce_pushes(empty, COLUMNS).num_rows == 0


def known_row(**fields):
    said = {"principal": "User:a", "client_type": "producer", "broker_id": 2}
    said |= {"group_id": "g"}
    times = {"first_seen": at(1), "terminated_at": None}
    return {"client_instance_id": "i"} | said | times | fields


def is_change(push, known):
    schema = [(name, SCHEMA.field(name).type) for name in list(known)[:5]]
    schema += [("first_seen", TIME), ("terminated_at", TIME)]
    rows = pa.Table.from_pylist([known], schema=pa.schema(schema))
    facts = reduce_pushes(table(push), COLUMNS)
    return find_differences(facts, rows, COLUMNS).tolist()


def test_a_push_differs_where_it_says_something_else():
    assert is_change(make_push(1), known_row()) == [False]
    assert is_change(make_push(2), known_row()) == [False]
    assert is_change(make_push(2, **EMPTY), known_row()) == [False]
    assert is_change(make_push(2, principal="User:b"), known_row()) == [True]
    assert is_change(make_push(2, client_type="admin"), known_row()) == [True]
    assert is_change(make_push(2, group_id=None), known_row()) == [True]
    assert is_change(make_push(2, group_id=None), known_row(group_id=None)) == [False]
    assert is_change(make_push(2, terminating=True), known_row()) == [True]
    assert is_change(make_push(2), known_row(terminated_at=at(1))) == [True]


def test_an_older_push_differs_by_first_seen():
    assert is_change(make_push(0), known_row()) == [True]


def test_the_broker_is_that_of_the_first_moment_and_the_least_of_several():
    brokers = [None, 7, 3, 7]
    first = [make_push(1, push_id=str(n), broker_id=b) for n, b in enumerate(brokers)]
    later = [make_push(2, broker_id=0), make_push(3)]
    for order in (first + later, later + first[::-1]):
        [facts] = facts_of(*order)
        assert facts["broker_id"] == 3
    [facts] = facts_of(make_push(1), make_push(2, broker_id=0))
    assert facts["broker_id"] is None


def test_a_later_push_by_another_broker_is_no_difference():
    assert is_change(make_push(2, broker_id=1), known_row()) == [False]
    assert is_change(make_push(1, broker_id=2), known_row()) == [False]
    assert is_change(make_push(1, broker_id=3), known_row()) == [False]
    assert is_change(make_push(1), known_row()) == [False]
    assert is_change(make_push(1, broker_id=1), known_row()) == [True]
    assert is_change(make_push(1, broker_id=1), known_row(broker_id=None)) == [True]


def test_a_client_instance_that_is_not_known_differs():
    assert is_change(make_push(1, **EMPTY), dict.fromkeys(known_row())) == [True]
