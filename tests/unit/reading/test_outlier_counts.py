"""Who stands out, of what was found; how it is found is in tests/spark/test_gallery.py."""

import pandas as pd

from pipelines.reading.config_outliers import count_outliers

COLUMNS = [
    *("cluster_id", "logical_client", "client_id", "principal", "client_type"),
    "config_key",
]


def test_clients_are_counted_by_their_keys_the_most_first():
    rows = [
        ("k", "l1", "one", "User:a", "producer", "acks"),
        ("k", "l2", None, "User:b", "consumer", "acks"),
        ("k", "l2", None, "User:b", "consumer", "linger.ms"),
        ("k", "l2", None, "User:b", "consumer", "linger.ms"),
    ]
    counted = count_outliers(pd.DataFrame(rows, columns=COLUMNS))
    assert counted.to_numpy().tolist() == [
        ["(no client id), User:b", "consumer", 2],
        ["one, User:a", "producer", 1],
    ]


def test_where_nobody_stands_out_nobody_is_counted():
    assert count_outliers(pd.DataFrame([], columns=COLUMNS)).empty
