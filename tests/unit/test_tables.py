"""What the contracts say, as SQL and as data."""

import re

import pytest

from pipelines.tables.columns import Column, required
from pipelines.tables.contract import (
    STATISTICS_PROPERTY,
    TableContract,
    add_columns_statement,
    column_definition,
    create_statement,
    set_statement,
)
from pipelines.tables.registry import ALL_CONTRACTS
from pipelines.tables.telemetry import (
    CLIENT_METRICS,
    CLIENT_PUSHES,
    TELEMETRY_CONTRACTS,
)

CONTRACT = TableContract(
    name="things",
    comment="It's a thing",
    columns=(required("id", "BIGINT", "Key"), Column("day", "DATE", "A \\ day")),
    merge_key=("id", "day"),
    contract_version=3,
    partition_by=("day",),
    properties={"delta.x": "y"},
)


def test_a_table_is_created_with_comments_partitions_and_version():
    assert create_statement(CONTRACT, "`a`.`b`") == (
        "CREATE TABLE `a`.`b` (\n"
        "  `id` BIGINT NOT NULL COMMENT 'Key',\n"
        "  `day` DATE COMMENT 'A \\\\ day'\n"
        ")\n"
        "USING DELTA\n"
        "PARTITIONED BY (`day`)\n"
        "COMMENT 'It\\'s a thing'\n"
        "TBLPROPERTIES ('delta.x' = 'y', 'kafka_clientele.contract_version' = '3')"
    )


def test_columns_and_properties_are_added():
    assert add_columns_statement(CONTRACT.columns[1:], "t") == (
        "ALTER TABLE t ADD COLUMNS (`day` DATE COMMENT 'A \\\\ day')"
    )
    assert set_statement({"delta.x": "y", "it's": "1"}, "t") == (
        "ALTER TABLE t SET TBLPROPERTIES ('delta.x' = 'y', 'it\\'s' = '1')"
    )


def test_a_merge_finds_the_row_of_the_whole_key():
    assert CONTRACT.merge_condition == (
        "target.`id` = source.`id` AND target.`day` = source.`day`"
    )


@pytest.mark.parametrize("contract", ALL_CONTRACTS, ids=lambda c: c.name)
def test_a_contract_holds_together(contract):
    columns = {column.name: column for column in contract.columns}
    assert len(columns) == len(contract.columns)
    assert contract.comment
    assert all(column.comment for column in contract.columns)
    keys = [*contract.merge_key, *contract.partition_by]
    assert all(not columns[name].is_nullable for name in keys)
    statistics = contract.properties.get(STATISTICS_PROPERTY, "")
    assert {name for name in statistics.split(",") if name} <= columns.keys()
    assert contract.contract_version >= 1


@pytest.mark.parametrize("contract", ALL_CONTRACTS, ids=lambda c: c.name)
def test_a_definition_is_one_column_of_sql(contract):
    for column in contract.columns:
        definition = column_definition(column)
        assert re.fullmatch(r"`\w+` [^`]+? COMMENT '.*'", definition, re.DOTALL)


def test_bodies_have_no_statistics_and_facts_are_partitioned_by_date():
    assert "body" not in CLIENT_PUSHES.properties[STATISTICS_PROPERTY].split(",")
    assert CLIENT_PUSHES.partition_by == CLIENT_METRICS.partition_by == ("event_date",)


def test_the_ledger_is_written_last():
    assert TELEMETRY_CONTRACTS[-1] is CLIENT_PUSHES
