"""The tables of a cluster as they are before some records, and rows back into them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from pipelines.delta_tables import noted_tables
from pipelines.delta_tables.noted_tables import NotedTables, Rows
from pipelines.tables.cluster import CLUSTER_STATES
from pipelines.tables.contract import TableContract


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent(noted_tables.Extent):
    """The records of a micro-batch, or of a slice of it."""

    cluster_ids: Collection[str]


def read_states(
    tables: NotedTables, session: SparkSession, contract: TableContract, extent: Extent
) -> Rows:
    """Return the rows of a table that records may concern, as before the first."""
    ids = pa.array(sorted(extent.cluster_ids), pa.string())
    return tables.read(session, contract, extent, pa.table({"cluster_id": ids}))


_OF_BROKERS = frozenset(
    {"broker_registrations", "broker_static_configs", "resource_configs"}
)
_OF_CONFIGS = _OF_BROKERS | {"client_metrics_subscriptions"}
NEEDED: Mapping[str, frozenset[str]] = {
    "ClientQuota": frozenset({"client_quotas"}),
    "Config": _OF_CONFIGS,
    "FeatureLevel": frozenset({"resource_configs"}),
    **dict.fromkeys(
        (
            *("RegisterBroker", "UnregisterBroker", "FenceBroker", "UnfenceBroker"),
            "BrokerRegistrationChange",
        ),
        _OF_BROKERS,
    ),
    "full_set": frozenset(contract.name for contract in CLUSTER_STATES),
}
"""Type of a record to the tables that tell what it changes."""
