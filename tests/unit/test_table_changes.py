"""What tables lack of their contracts: words, statements, and what nothing mends."""

import dataclasses
import re

import pytest

from pipelines.tables.changes import (
    FoundColumn,
    FoundTable,
    find_fault,
    list_all,
    list_kept,
    list_needed,
    list_properties,
)
from pipelines.tables.columns import Column, required
from pipelines.tables.contract import CONTRACT_VERSION_PROPERTY, TableContract

CONTRACT = TableContract(
    name="things",
    comment="It's a thing",
    columns=(
        required("id", "BIGINT", "Key"),
        Column("day", "DATE", "A day"),
        Column("text", "MAP<STRING, STRING>", "Texts"),
    ),
    merge_key=("id",),
    contract_version=2,
    partition_by=("day",),
    properties={"delta.a": "1", "delta.b": "2"},
)


def find(version="2", *, without=(), properties=None, partition_by=("day",), **columns):
    """Return a table that is as its contract says, but for what is named."""
    stated = CONTRACT.properties if properties is None else properties
    made = {
        column.name: FoundColumn(
            sql_type=column.sql_type.lower().replace(" ", ""),
            is_nullable=column.is_nullable,
            comment=column.comment,
        )
        for column in CONTRACT.columns
        if column.name not in without
    }
    return FoundTable(
        identifier="t",
        properties={CONTRACT_VERSION_PROPERTY: version, **stated},
        columns=made | columns,
        partition_by=partition_by,
        comment=CONTRACT.comment,
    )


def change(found, name, **values):
    return {name: dataclasses.replace(found.columns[name], **values)}


def test_a_table_of_this_version_needs_nothing():
    assert find_fault(CONTRACT, find()) is None
    assert list_all(CONTRACT, find()) == []
    assert list_kept(CONTRACT, find()) == []


def test_an_older_table_gets_columns_first_and_states_its_version_last():
    found = find("1", without=["text"], properties={"delta.a": "9"})
    assert find_fault(CONTRACT, found) is None
    assert [one.statement for one in list_all(CONTRACT, found)] == [
        "ALTER TABLE t ADD COLUMNS (`text` MAP<STRING, STRING> COMMENT 'Texts')",
        (
            "ALTER TABLE t SET TBLPROPERTIES ('delta.a' = '1', 'delta.b' = '2', "
            "'kafka_clientele.contract_version' = '2')"
        ),
    ]
    assert [text for one in list_all(CONTRACT, found) for text in one.texts] == [
        "add column text MAP<STRING, STRING>",
        "set delta.a = 1",
        "set delta.b = 2",
        "state contract version 2",
    ]


def test_migration_that_was_cut_off_before_the_version_is_gone_on_with():
    (last,) = list_all(CONTRACT, find("1"))
    assert last.texts == ("state contract version 2",)
    assert list_needed(CONTRACT, find("1")) == []


def test_what_an_owner_has_set_in_a_table_of_this_version_is_kept():
    found = find(properties={"delta.a": "9", "delta.own": "x"})
    (added,) = list_properties(CONTRACT, found)
    assert added.statement == "ALTER TABLE t SET TBLPROPERTIES ('delta.b' = '2')"
    assert list_kept(CONTRACT, found) == ["delta.a = 9 is kept (the contract says 1)"]


def test_a_column_that_may_be_null_now_is_let():
    found = find(**change(find(), "day", is_nullable=False))
    (let,) = list_needed(CONTRACT, found)
    assert let.statement == "ALTER TABLE t ALTER COLUMN `day` DROP NOT NULL"


def test_comments_become_those_of_the_contract_and_a_users_column_is_left():
    found = find(
        own=FoundColumn(sql_type="int", is_nullable=True, comment="mine"),
        **change(find(), "id", comment="was"),
    )
    found = dataclasses.replace(found, comment="")
    assert [one.statement for one in list_all(CONTRACT, found)] == [
        "COMMENT ON TABLE t IS 'It\\'s a thing'",
        "ALTER TABLE t ALTER COLUMN `id` COMMENT 'Key'",
    ]
    unseen = dataclasses.replace(found, comment=None)
    assert len(list_all(CONTRACT, unseen)) == 1


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (find("3"), "version 3 is newer than 2.*upgrade this program"),
        (find(""), "another program wrote it"),
        (find("x"), "another program wrote it"),
        (find("1", without=["id"]), "has a column id, and the table has none"),
        (
            find(**change(find(), "id", sql_type="string")),
            "column id is string, and the contract says BIGINT",
        ),
        (
            find(own=FoundColumn(sql_type="int", is_nullable=False)),
            "column own must not be null",
        ),
        (
            find(Text=FoundColumn(sql_type="int", is_nullable=True), without=["text"]),
            "column Text is text in the contract, .* copy without it",
        ),
        (find(partition_by=()), r"partitioned by \(\), and the contract says \(day\)"),
    ],
    ids=[
        *("newer", "none", "no number", "column", "type", "not null", "capitals"),
        "partitions",
    ],
)
def test_what_no_column_mends_is_a_fault(found, reason):
    assert re.search(reason, find_fault(CONTRACT, found))
