"""Suites of expectations: files of conf/expectations/, as great-expectations has them.

A suite is about one table, or about rows that are made of several (frames.py). What the
contract of a table says, its suite says after `./spark-submit.sh reference`; what else
stands in the file was written by hand and stays.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pipelines.settings.places import CONF_PATH
from pipelines.tables.cluster import (
    CLUSTER_CHANGES,
    CLUSTER_CONTRACTS,
    EFFECTIVE_QUOTAS,
)
from pipelines.tables.columns import COORDINATES, names
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS
from pipelines.tables.contract import PUSH, TableContract
from pipelines.tables.dynamic_configs import (
    DYNAMIC_CONFIG_CHANGES,
    DYNAMIC_CONFIG_CONTRACTS,
)
from pipelines.tables.findings import FINDING_CONTRACTS
from pipelines.tables.maintenance import MAINTENANCE_RUNS
from pipelines.tables.quality import QUALITY_RESULTS
from pipelines.tables.telemetry import CLIENT_METRICS, QUARANTINE, TELEMETRY_CONTRACTS
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

# As jobs write them: what a row speaks of stands in a table before.
CHECKED = (
    *TELEMETRY_CONTRACTS,
    *CLIENT_CONFIG_CONTRACTS,
    CLIENT_WIRE_CONFIGS,
    CLIENT_TRAFFIC,
    *CLUSTER_CONTRACTS,
    EFFECTIVE_QUOTAS,
    *DYNAMIC_CONFIG_CONTRACTS,
    *FINDING_CONTRACTS,
    MAINTENANCE_RUNS,
    QUALITY_RESULTS,
)
CONTRACTS = {contract.name: contract for contract in CHECKED}
FOLDER = "expectations"
VIEW_PREFIX = "checked_"
"""Of the temporary view of a table, as it is while it is checked."""
_FROM, _CONTRACT = "from", "contract"
_VALIDITY = {"valid_from", "valid_to", "is_current"}
_NAMED_BY = {
    # A topic that is made anew has all coordinates once more.
    CLUSTER_CHANGES.name: ("record_key", "valid_from"),
    DYNAMIC_CONFIG_CHANGES.name: ("record_type", "entity", "at"),
    QUARANTINE.name: ("source_job", "reason", "kafka_timestamp"),
}
_COUNTED_BY_PUSH = {CLIENT_METRICS.name}
"""Tables whose keys are looked at in pushes_and_points: there are too many of them."""
_VERSION = "1.24.1"
"""Of great-expectations, in whose form the files are."""

Expectation = Mapping[str, Any]


def list_suite_files() -> Mapping[str, Callable[[], str]]:
    """Return path below the checkout to what makes the text that stands there."""
    return {
        f"conf/{FOLDER}/{contract.name}.json": partial(format_suite, contract)
        for contract in CHECKED
    }


def read_suite(name: str, conf_path: Path = CONF_PATH) -> dict[str, Any]:
    """Return a suite as its file has it."""
    path = conf_path / FOLDER / f"{name}.json"
    suite: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return suite


def key_of(contract: TableContract) -> tuple[str, ...]:
    """Return the columns that name one row, also where a topic was made anew."""
    key = contract.merge_key
    if key[: len(COORDINATES)] != names(COORDINATES):
        return key
    if contract.name in _NAMED_BY:
        return (*key, *_NAMED_BY[contract.name])
    return (*PUSH, *key[len(COORDINATES) :])


def expect_by_contract(contract: TableContract) -> list[Expectation]:
    """Return what the contract of a table says of its rows."""
    key = key_of(contract)
    required = [one.name for one in contract.columns if not one.is_nullable]
    found = [
        _expect(
            "key_is_there",
            "expect_rows_to_satisfy",
            f"{', '.join(contract.merge_key)}: no part of the key is null.",
            condition=_are_there(contract.merge_key),
        ),
        _expect(
            "required_columns_are_there",
            "expect_rows_to_satisfy",
            f"{', '.join(required)} are never null.",
            condition=_are_there(required),
        ),
    ]
    if contract.name not in _COUNTED_BY_PUSH:
        found.append(
            _expect(
                "key_is_unique",
                "expect_keys_to_be_unique",
                f"No two rows have the same {', '.join(key)}.",
                column_list=[*key],
            )
        )
    if set(contract.column_names) >= _VALIDITY:
        found += _expect_validity(contract)
    return found


def _are_there(columns: Sequence[str]) -> str:
    return " AND ".join(f"`{name}` IS NOT NULL" for name in columns)


def _expect_validity(contract: TableContract) -> list[Expectation]:
    """Return what is so of rows that are true from a time to a time."""
    of_one = [name for name in contract.merge_key if name != "valid_from"]
    said = ", ".join(of_one)
    return [
        _expect(
            "one_row_is_current",
            "expect_keys_to_be_unique",
            f"At most one row of the same {said} is current.",
            column_list=of_one,
            only_where="is_current",
        ),
        _expect(
            "times_do_not_overlap",
            "expect_times_not_to_overlap",
            f"valid_from to valid_to of rows of the same {said} do not overlap.",
            column_list=of_one,
        ),
        _expect(
            "current_rows_have_no_end",
            "expect_rows_to_satisfy",
            "A row is current where valid_to is null, and ends no sooner than it "
            "begins.",
            condition="is_current = (valid_to IS NULL) "
            "AND (valid_to IS NULL OR valid_to >= valid_from)",
        ),
    ]


def _expect(name: str, kind: str, told: str, **kwargs: object) -> Expectation:
    return {
        "type": kind,
        "kwargs": kwargs,
        "description": told,
        "meta": {"name": name, _FROM: _CONTRACT},
    }


def format_suite(contract: TableContract, conf_path: Path = CONF_PATH) -> str:
    """Return the file of a table: what its contract says, and what is there by hand."""
    by_hand: Sequence[Expectation] = ()
    if (conf_path / FOLDER / f"{contract.name}.json").exists():
        by_hand = [
            one
            for one in read_suite(contract.name, conf_path)["expectations"]
            if one["meta"].get(_FROM) != _CONTRACT
        ]
    suite = {
        "name": contract.name,
        "meta": {"great_expectations_version": _VERSION},
        "notes": f"Rows of {contract.name}. What is from the contract is made by "
        "`./spark-submit.sh reference`; the rest is written by hand.",
        "expectations": [*expect_by_contract(contract), *by_hand],
    }
    return json.dumps(suite, indent=2, ensure_ascii=False) + "\n"
