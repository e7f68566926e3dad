"""A query has registered what it names, and nothing that costs more."""

import pytest

from pipelines.reading.views import explain_missing, find_names, find_names_in
from pipelines.reading.views.registry import VIEWS_AND_FUNCTIONS
from pipelines.settings import load_settings

REPORTING = {"client_instances", "client_configs", "client_wire_configs"}
CLIENTS = {"clients", "client_states", "client_pushes"} | REPORTING
KNOWN = {"known_instances", "client_pushes"} | REPORTING


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("select 1", set()),
        ("SELECT * FROM Quarantine -- clients?", {"quarantine"} | CLIENTS),
        ("select * from `clients`", CLIENTS),
        ("with x as (select * from newest_values) select * from x", None),
        ("(select 1) union (table client_pushes)", {"client_pushes"}),
        ("describe table extended client_pushes", {"client_pushes"}),
        ("/* a */ -- b\n values (1)", set()),
    ],
)
def test_what_a_query_names(query, names):
    if names is None:
        names = {"newest_values", "client_metrics", "client_instances"}
    assert find_names(query) == names


@pytest.mark.parametrize(
    "query",
    [
        "show tables",
        "SHOW VIEWS",
        "create temporary view x as select 1",
        "select * from identifier('cli' || 'ents')",
        "",
    ],
)
def test_what_a_text_cannot_tell_needs_everything(query):
    assert find_names(query) is None


HISTORY = {"client_configs", "client_config_history", "client_config_pushes"}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "client_config_entries",
            {"client_configs", "config_defaults", "client_wire_configs"},
        ),
        ("client_config_timeline", HISTORY | KNOWN),
        ("client_config_at", HISTORY | KNOWN | {"client_config_timeline"}),
        ("client_config_diff", HISTORY | {"client_config_at"}),
    ],
)
def test_find_names_view_of_views_returns_all_its_tables(name, parts):
    found = set(find_names_in(f"spark.table('{name}')"))
    assert parts | {name} <= found
    assert not {"client_metrics", "quarantine"} & found


def test_registry_view_follows_what_it_needs():
    places = {one.name: place for place, one in enumerate(VIEWS_AND_FUNCTIONS)}
    assert len(places) == len(VIEWS_AND_FUNCTIONS)
    for one in VIEWS_AND_FUNCTIONS:
        for part in {*one.needs, *one.uses} & places.keys():
            assert places[part] < places[one.name], (one.name, part)


def test_a_table_that_is_missing_is_explained():
    settings = load_settings("local", ["tables.root_path=/x/tables"])
    assert explain_missing("client_metrics", settings) == (
        "there is no client_metrics in /x/tables yet; client_telemetry_to_delta makes it"
    )
    assert explain_missing("client_config_at", settings).endswith(
        "; client_configs_to_delta makes it"
    )
    assert explain_missing("quarantin", settings) == (
        "there is no table, view or function quarantin; there is quarantine"
    )
    assert explain_missing("foo", settings).endswith("; SHOW TABLES names all")
