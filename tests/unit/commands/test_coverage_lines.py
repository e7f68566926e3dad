"""Lines of `clients coverage`, from rows as the view has them."""

from datetime import UTC, datetime

from pyspark.sql import Row

from pipelines.commands.clients.coverage import describe_clients, describe_fleet

METRIC = "org.apache.kafka.producer.connection.creation.total"
STATUSES = (
    *("delivered", "nothing_happened", "missing", "wrong_kind"),
    *("not_asked", "not_supported"),
)


def covered(client, status, **fields):
    known = {
        "cluster_id": None,
        "client_instance_id": f"i-{client}",
        "client_id": client,
        "principal": "User:a",
        "client_type": "producer",
        "metric": METRIC,
        "kind": "sum",
        "is_required": True,
        "status": status,
        "delivered_kind": None,
        "last_delivered": None,
        "last_push": datetime(2026, 1, 1, tzinfo=UTC),
        "client_state": "active",
    }
    return Row(**(known | fields))


def group(clients, at_fault, faults=(), *, is_ended=False, **counts):
    known = dict.fromkeys(STATUSES, 0) | counts
    return Row(
        is_ended=is_ended,
        clients=clients,
        at_fault=at_fault,
        faults=list(faults),
        **known,
    )


def test_describe_fleet_of_33_right_clients_is_two_lines():
    lines = describe_fleet([group(33, 0, delivered=250, not_supported=14)])
    assert [*lines] == [
        "0 of 33 clients lack a KIP-714 metric that a subscription asks for",
        "250 delivered, 14 not_supported of 264 metrics",
    ]


def test_describe_fleet_prints_what_is_at_fault_with_a_head_for_each_column():
    faults = [
        covered("zebra", "missing"),
        covered("apple", "wrong_kind", delivered_kind="gauge", client_id=None),
    ]
    ended = group(5, 4, faults, is_ended=True, missing=9)
    answer, counts, table, left_out = describe_fleet(
        [ended, group(9, 2, faults, missing=1, wrong_kind=1, delivered=70)]
    )
    assert answer.startswith("2 of 9 clients lack ")
    assert counts == "70 delivered, 1 missing, 1 wrong_kind of 72 metrics"
    head, rule, first, second = table.splitlines()
    assert len(head.split()) == len(rule.split()) == 8
    assert first.endswith("required, gauge, not sum")
    assert second.split() == [
        *("zebra", "i-zebra", "producer", "active", METRIC, "missing"),
        *("never", "required"),
    ]
    assert left_out == "ended clients are left out: 5; --all includes them"


def test_describe_fleet_of_ended_clients_alone_tells_of_them():
    (answer, _) = describe_fleet([group(5, 0, is_ended=True, delivered=40)])
    assert answer.startswith("0 of 5 clients lack ")


def test_describe_clients_begins_with_the_answer():
    rows = [covered("a", "delivered"), covered("a", "missing"), covered("b", "missing")]
    answer, name, table, counts, *others = describe_clients(rows)
    assert answer.startswith("2 of 2 clients lack ")
    assert "client-id a" in name
    assert table.splitlines()[0].split() == [
        *("METRIC", "STATUS", "LAST-DELIVERED", "NOTE"),
    ]
    assert counts == "1 delivered, 1 missing of 2 metrics"
    assert len(others) == 3
