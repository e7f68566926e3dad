"""Contracts of an imagined version, in which tables did not name a cluster."""

import dataclasses

from pipelines.tables.columns import CLUSTER, names
from pipelines.tables.configs import CLIENT_CONFIG_PUSHES, CLIENT_CONFIGS
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_PUSHES
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

WIDENED = (
    CLIENT_PUSHES, CLIENT_INSTANCES, CLIENT_CONFIG_PUSHES, CLIENT_CONFIGS,
    CLIENT_WIRE_CONFIGS,
)  # fmt: skip
"""Tables whose last columns name a cluster."""


def make_older(contract):
    """Return the contract of the version before, without those columns."""
    added = names(CLUSTER)
    columns = tuple(one for one in contract.columns if one.name not in added)
    assert len(columns) == len(contract.columns) - len(added)
    version = contract.contract_version - 1
    return dataclasses.replace(
        contract, columns=columns, contract_version=version, comment="As it was."
    )
