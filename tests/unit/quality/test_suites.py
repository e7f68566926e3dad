"""The files of suites are what great-expectations loads, and say what they expect."""

import json

import pytest
from great_expectations.core import ExpectationSuite

from pipelines.quality import expectations, suites
from pipelines.quality.frames import FRAMES
from pipelines.settings import CONF_PATH
from pipelines.tables.cluster import CLIENT_QUOTAS, CLUSTER_CHANGES
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES

NAMES = [*suites.CONTRACTS, *FRAMES]


@pytest.mark.parametrize("name", NAMES)
def test_great_expectations_loads_a_suite(name):
    given = suites.read_suite(name)
    loaded = ExpectationSuite(**given)
    assert loaded.name == name
    kinds = [one.configuration.type for one in loaded.expectations]
    assert kinds == [one["type"] for one in given["expectations"]]
    names = [one["meta"]["name"] for one in given["expectations"]]
    assert len(set(names)) == len(names)
    assert all(one["description"].endswith(".") for one in given["expectations"])


def test_each_file_is_about_a_table_or_a_frame():
    files = {path.stem for path in (CONF_PATH / suites.FOLDER).iterdir()}
    assert files == {*NAMES}


def test_columns_that_are_named_are_those_of_the_contract():
    for name, contract in suites.CONTRACTS.items():
        for one in suites.read_suite(name)["expectations"]:
            given = one["kwargs"]
            named = [*given.get("column_list", []), given.get("column", "")]
            assert {*named} - {""} <= {*contract.column_names}, one


def test_what_was_written_by_hand_stays(tmp_path):
    folder = tmp_path / suites.FOLDER
    folder.mkdir()
    own = {"type": "expect_rows_to_satisfy", "kwargs": {"condition": "true"}}
    own |= {"description": "Mine.", "meta": {"name": "mine"}}
    stale = own | {"meta": {"name": "stale", "from": "contract"}}
    path = folder / f"{CLIENT_QUOTAS.name}.json"
    path.write_text(json.dumps({"expectations": [own, stale]}))
    made = json.loads(suites.format_suite(CLIENT_QUOTAS, tmp_path))
    assert made["expectations"] == [*suites.expect_by_contract(CLIENT_QUOTAS), own]


def test_a_row_is_named_also_where_a_topic_was_made_anew():
    place = ("topic", "partition", "offset")
    assert suites.key_of(CLIENT_PUSHES) == (*place, "push_id")
    assert suites.key_of(CLIENT_METRICS) == (*place, "push_id", "point_index")
    assert suites.key_of(CLUSTER_CHANGES) == (*place, "record_key", "valid_from")
    assert suites.key_of(CLIENT_QUOTAS) == CLIENT_QUOTAS.merge_key


def test_a_class_of_ours_is_asked_of_tables_only():
    assert expectations.RowsExpectation.is_abstract()
    assert not expectations.ExpectRowsToSatisfy.is_abstract()
