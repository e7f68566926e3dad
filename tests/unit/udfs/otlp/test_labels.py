"""Node IDs as each client family spells them."""

import pytest

from udfs.otlp.labels import parse_node


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Java
        ("node-0", (0, "broker")),
        ("node-1", (1, "broker")),
        ("node-1073741823", (2**30 - 1, "broker")),
        ("node-1073741824", (2**30 - 1, "coordinator")),
        ("node-2147483646", (1, "coordinator")),
        ("node-2147483647", (0, "coordinator")),
        ("node--1", (-1, "bootstrap")),
        ("node--2", (-2, "bootstrap")),
        # librdkafka and franz-go
        ("1", (1, "broker")),
        ("-1", (-1, "bootstrap")),
        ("-2147483648", (-(2**31), "bootstrap")),
        ("007", (7, "broker")),
        # No client family
        (None, None),
        ("", None),
        ("node-", None),
        ("node-2147483648", None),
        ("node---1", None),
        ("node-node-1", None),
        ("node-1 ", None),
        ("seed_0", None),
        ("1.0", None),
        ("٣", None),
        ("9" * 5000, None),
    ],
)
def test_node_id_of_each_client_family_becomes_number_and_role(text, expected):
    assert parse_node(text) == expected


@pytest.mark.parametrize("text", ["node-2147483646", "node-1", "node--1"])
def test_number_of_a_node_reads_as_itself(text):
    number = parse_node(text).node_id
    assert parse_node(str(number)).node_id == number
