"""Queries as people type them: what is printed, what is refused, what is registered."""

import io
import json

import pytest
from pyspark.errors import PySparkException

from pipelines.commands import asking
from pipelines.commands.asking import Printing, print_query
from pipelines.commands.notebook import page
from pipelines.commands.notebook.cells import Cell, InvalidNotebook
from pipelines.commands.refused_queries import InvalidQuery
from pipelines.reading import views
from pipelines.settings import load_settings
from pipelines.tables.telemetry import TELEMETRY_CONTRACTS
from tests.support.spark.empty_tables import make_tables


class Terminal(io.StringIO):
    """What prints to people."""

    def isatty(self):
        return True


@pytest.fixture(scope="module")
def settings(spark, tmp_path_factory):
    made = load_settings("local", [f"tables.root_path={tmp_path_factory.mktemp('q')}"])
    make_tables(spark, made.tables, TELEMETRY_CONTRACTS)
    return made


def drop_views(spark):
    for name in list_registered(spark):
        spark.catalog.dropTempView(name)


def list_registered(spark):
    views = spark.sql("show views").collect()
    return {row["viewName"] for row in views if row["isTemporary"]}


@pytest.fixture
def ask(spark, settings):
    """Return what a query prints, in a session without views of other tests."""
    drop_views(spark)

    def ask(query, output=None, **options):
        output = output or io.StringIO()
        print_query(spark, settings, query, Printing(output=output, **options))
        return output.getvalue()

    yield ask
    drop_views(spark)


def test_moments_are_utc_and_numbers_whole(ask):
    query = "select timestamp'2026-03-01 06:00:00Z' as at, 0.00001D as value"
    assert ask(query).splitlines() == [
        "at                    value",
        "--------------------  -----",
        "2026-03-01 06:00:00Z  1e-05",
        "(1 row)",
    ]
    assert ask(query, format="csv") == "at,value\r\n2026-03-01T06:00:00Z,1e-05\r\n"
    told = json.loads(ask(query, format="json"))
    assert told == {"at": "2026-03-01T06:00:00Z", "value": 1e-05}


def test_what_spark_alone_can_show_is_a_text(ask):
    query = "select interval '1-2' year to month as a, 1 as b, parse_json('{}') as b"
    told = ask(query, format="csv").splitlines()
    assert told == ["a,b,b", "INTERVAL '1-2' YEAR TO MONTH,1,{}"]


def test_only_a_terminal_has_cells_and_rows_cut(ask, monkeypatch, capsys):
    monkeypatch.setattr(asking, "ROWS_AT_A_TERMINAL", 2)
    query = "select id, repeat('x', 70) as text from range(3)"
    piped = ask(query)
    assert "(3 rows)" in piped
    assert "x" * 70 in piped
    seen = ask(query, Terminal())
    assert "(the first 2 rows; --limit shows more)" in seen
    assert "x" * 59 + "…" in seen
    assert len(ask(query, format="json").splitlines()) == 3
    assert len(ask(query, format="json", limit=1).splitlines()) == 1
    assert capsys.readouterr().err == "the first 1 row; --limit shows more\n"


def test_a_query_has_what_it_names_and_no_more(spark, ask):
    ask("select 1")
    assert list_registered(spark) == set()
    assert "(0 rows)" in ask("select state from clients")
    # `clients` selects from the view of states, which is computed once for several.
    tables = {"client_instances", "client_pushes"}
    assert list_registered(spark) == {"clients", "client_states"} | tables
    assert "(0 rows)" in ask("select * from identifier('quaran' || 'tine')")
    assert "newest_values" in ask("show tables")
    assert "received_at" in ask("describe client_pushes")


REFUSED = {
    "select * from client_configs": (
        "there is no client_configs in ROOT yet; client_configs_to_delta makes it"
    ),
    "select * from client_config_at('a', now())": (
        "there is no client_config_at in ROOT yet; client_configs_to_delta makes it"
    ),
    "select * from nothing_like_it": (
        "there is no table, view or function nothing_like_it; SHOW TABLES names all"
    ),
    "select clientid from clients": (
        "the query was refused: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, "
        "or function parameter with name `clientid` cannot be resolved. "
        "(line 1, column 8)"
    ),
    "selec 1": (
        "the query was refused: Syntax error at or near 'selec' (line 1, column 1)"
    ),
    "select 1\nfrom x y z": (
        "the query was refused: Syntax error at or near 'z': extra input 'z' (line 2, column 10)"
    ),
    "select 1/0": (
        "the query was refused: [DIVIDE_BY_ZERO] Division by zero. (line 1, column 8)"
    ),
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_refused_is_one_sentence(settings, ask, query):
    with pytest.raises(InvalidQuery) as refused:
        ask(query)
    expected = REFUSED[query].replace("ROOT", settings.tables.root_path)
    told = str(refused.value)
    assert "\n" not in told
    assert told == expected


def test_names_that_json_cannot_hold_are_refused(ask):
    with pytest.raises(InvalidQuery, match="several columns are called a"):
        ask("select 1 as a, 2 as a", format="json")


def test_the_shell_says_the_same_sentence(spark, settings, capsys):
    prompt = asking.make_prompt(spark, settings, {"spark": spark})
    prompt.push("spark.table('client_configs')")
    prompt.push("spark.sql('selec 1')")
    prompt.push("raise KeyboardInterrupt")
    prompt.push("1/0")
    said = capsys.readouterr().err.splitlines()
    assert said[0] == views.explain_missing("client_configs", settings)
    assert said[1] == REFUSED["selec 1"]
    assert said[2] == "interrupted"
    assert said[3] == "Traceback (most recent call last):"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sql", "select * from client_configs"),
        ("python", "spark.table('client_configs')"),
    ],
)
def test_a_notebook_says_it_with_the_place(spark, settings, tmp_path, language, text):
    path = tmp_path / "a.py"
    cell = Cell(language=language, text=text, first_line=7)
    widgets = page.parse_widgets({}, [])
    with pytest.raises(InvalidNotebook) as refused:
        page.run_cells(spark, settings, path, [cell], widgets)
    sentence = views.explain_missing("client_configs", settings)
    assert str(refused.value) == f"{path}, cell at line 7: {sentence}"
    assert isinstance(refused.value.__cause__, PySparkException)
