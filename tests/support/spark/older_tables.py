"""Contracts as they were before tables said which cluster a connection was for."""

import dataclasses

from pipelines.tables.columns import CLUSTER, names


def make_older(contract):
    """Return the contract of the version before, without those columns."""
    added = names(CLUSTER)
    columns = tuple(one for one in contract.columns if one.name not in added)
    assert len(columns) == len(contract.columns) - len(added)
    version = contract.contract_version - 1
    return dataclasses.replace(contract, columns=columns, contract_version=version)
