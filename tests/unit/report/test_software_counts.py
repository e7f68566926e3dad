"""The software of a report is that of clients that still run."""

import dataclasses

import pyarrow as pa

from pipelines.report.page import list_software
from tests.support.report.fleets import make_fleet


def with_clients(*clients):
    """Return a fleet whose clients have these versions and states."""
    fleet = make_fleet(clients=len(clients), details=0)
    table = fleet.clients
    for name, place in (("version", 0), ("state", 1)):
        values = pa.array([one[place] for one in clients])
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(name), values)
    software = pa.array(["apache-kafka-java"] * len(clients))
    at = table.schema.get_field_index("software")
    table = table.set_column(at, table.schema.field("software"), software)
    return dataclasses.replace(fleet, clients=table)


def test_list_software_ended_clients_are_not_counted():
    fleet = with_clients(
        ("4.3.1", "active"), ("4.3.1", "idle"),
        ("4.3.1", "terminated"), ("3.4.0", "expired"),
    )  # fmt: skip
    found = [(one.version, one.clients, one.live) for one in list_software(fleet, {})]
    assert found == [("4.3.1", 2, 1)]
