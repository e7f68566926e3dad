"""Names of clients in pictures tell clients apart, and are no longer than needed."""

from pipelines.report.picture_rows import name_apart

ORDERS = ("c1", "User:a", "orders", "producer")


def test_name_apart_one_client_of_a_name_has_its_client_id():
    billing = ("c1", "User:b", "billing", "producer")
    assert name_apart([ORDERS, billing]) == {ORDERS: "orders", billing: "billing"}


def test_name_apart_same_client_id_of_two_principals_names_them():
    other = ("c1", "User:b", "orders", "producer")
    assert name_apart([ORDERS, other]) == {
        ORDERS: "orders, User:a",
        other: "orders, User:b",
    }


def test_name_apart_same_client_in_two_clusters_names_them():
    other = ("c2", *ORDERS[1:])
    unknown = (None, *ORDERS[1:])
    assert [*name_apart([ORDERS, other, unknown]).values()] == [
        *("orders, c1", "orders, c2", "orders, unknown"),
    ]


def test_name_apart_producer_and_consumer_of_a_name_tell_their_types():
    other = (*ORDERS[:3], "consumer")
    assert [*name_apart([ORDERS, other]).values()] == [
        *("orders, producer", "orders, consumer"),
    ]
