"""The notebooks, run on one made-up site: they tell something, and say in which unit."""

import json
import re
import shlex
from datetime import UTC, datetime

import nbformat
import pytest
from matplotlib.figure import Figure
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.commands.notebook.cells import load_cells
from pipelines.commands.notebook.ipynb import format_ipynb
from pipelines.commands.notebook.jupyter import start
from pipelines.commands.notebook.page import Page, Utilities, Widgets
from pipelines.errors import UnknownClient
from pipelines.reading import charts, comparisons, groups, latency, views
from pipelines.reading.chosen import choose
from pipelines.reading.points import with_meaning
from pipelines.settings import CONF_PATH
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.support.spark.gallery_tables import GalleryTables
from tests.unit.test_databricks_dashboard import DASHBOARD, list_widgets

ROOT = CONF_PATH.parent
GUIDE = "docs/guide/notebooks.md"
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.py"))
TOLD = {
    "before_and_after": "<td>sure</td>",
    "brokers": "num.io.threads",
    "client_configuration": "click-writer",
    "clients_overview": "apache-kafka-java 3.9.2",
    "config_outliers": "click-writer",
    "consumer_groups": "restless",
    "data_quality": "wrong_codec",
    "latency": "search-reader",
    "one_client": "session.timeout.ms",
    "quotas": "users/shop",
}
"""What each must tell of the site."""


@pytest.fixture(scope="module")
def telemetry(spark, tmp_path_factory):
    return GalleryTables(spark, tmp_path_factory.mktemp("telemetry"), is_whole=False)


@pytest.fixture(scope="module")
def points(spark, telemetry):
    root = telemetry.settings.tables.root_path
    tables = (
        spark.read.format("delta").load(f"{root}/{name}")
        for name in ("client_metrics", "client_instances")
    )
    return with_meaning(*tables)


@pytest.fixture(scope="module")
def site(spark, tmp_path_factory):
    return GalleryTables(spark, tmp_path_factory.mktemp("site"))


def run_notebook(spark, tables, name, **given):
    """Return the page of a notebook, and the figures that it shows."""
    page, figures = Page(title=name), []

    def display(shown):
        page.display(shown)
        if isinstance(shown, Figure):
            figures.append(shown)

    widgets = {"env": "local", "config": "", "set": tables.root, **given}
    names = {"spark": spark, "dbutils": Utilities(Widgets(widgets)), "display": display}
    for cell in load_cells(ROOT / "notebooks" / f"{name}.py"):
        page.begin(cell)
        if cell.language == "python":
            exec(cell.text, names)  # noqa: S102 - as the command does
    return page, figures


def check_figures(figures):
    """Hold pictures to their form: a title, units, a short legend, something drawn.

    One value, or only zeros, is a sentence in place of axes.
    """
    assert figures
    for figure in figures:
        assert figure.axes[0].get_title(loc="left")
        drawn = [axes for axes in figure.axes if axes.axison]
        assert not drawn or drawn[-1].get_xlabel()
        for axes in figure.axes:
            assert axes in drawn or axes.texts
        for axes in drawn:
            assert axes.get_ylabel()
            legend = axes.get_legend()
            # The rest has a name, and two kinds of marks.
            assert legend is None or len(legend.texts) <= charts.MOST + 3
            assert axes.lines or axes.patches or axes.collections
        for axes in figure.axes:
            assert "nothing to show" not in {text.get_text() for text in axes.texts}


def check_page(name, html):
    """Hold a page to its form: a question, and a picture that answers it."""
    assert re.search(r"<h1>.*\?</h1>", html)
    assert re.search(r"<img|<table", html)[0] == "<img"
    assert TOLD[name] in html


@pytest.mark.long
def test_a_notebook_of_the_guide_is_one_of_jupyter(spark, telemetry, tmp_path, capsys):
    (command,) = find_block(GUIDE, "notebook-jupyter").commands
    words = shlex.split(command)
    assert words[2] == "notebooks/latency.py"
    line = command.replace("notebooks/", f"{ROOT}/notebooks/")
    mine, output = tmp_path / "mine.toml", tmp_path / "latency.ipynb"
    root = telemetry.settings.tables.root_path
    mine.write_text(f'[tables]\nroot_path = "{root}"\n')
    run_line(spark, f"{line} --output {output} --config {mine}", telemetry.root)
    assert capsys.readouterr().out.strip() == str(output)
    text = output.read_text(encoding="utf-8")
    read = nbformat.reads(text, as_version=4)
    nbformat.validate(read)
    assert text.count('"image/png"') == 4
    # Its cells run in Jupyter: what the first one asks for makes the others work.
    head, *cells = [one.source for one in read.cells if one.cell_type == "code"]
    values = json.loads(re.search(r"start\(display, environ, (\{.*\})\)", head)[1])
    assert values["since"] == "7d"
    shown, figures = [], []
    _, dbutils, display = start(shown.append, {}, values | {"client": "orders"})
    names = {"spark": spark, "dbutils": dbutils}
    for cell in cells:
        names["display"] = lambda one: (figures.append(one), display(one))
        exec(cell, names)  # noqa: S102 - as Jupyter does
    forms = [one._repr_mimebundle_() for one in shown]
    assert [set(one) for one in forms].count({"image/png", "text/plain"}) == 4
    assert any("orders" in one.get("text/html", "") for one in forms)
    assert not any("billing" in one.get("text/html", "") for one in forms)
    check_figures([one for one in figures if isinstance(one, Figure)])


def test_groups_and_brokers_are_told_by_their_worst(points):
    of_group = groups.select_groups(points).toPandas().set_index("group_id")
    assert list(of_group.index) == ["restless", "billing", "search"]
    restless = of_group.loc["restless"]
    assert (restless["members"], restless["partitions"]) == (3, 12)
    assert (restless["rebalances"], restless["rebalance_s"]) == (20, 50)
    assert restless["longest_rebalance_ms"] == 3_000  # NaN is none
    by_broker = latency.select_latency_by_broker(points).collect()
    assert by_broker[0]["broker"] == 2
    assert {row["clients"] for row in by_broker} == {24}


def test_notebook_command_with_unknown_principal_names_known_ones_with_exit_code_1(
    spark, telemetry, tmp_path
):
    line = f"./spark-submit.sh notebook {ROOT}/notebooks/latency.py"
    words = f"--output {tmp_path}/page.html --widget principal=nobody"
    with pytest.raises(UnknownClient) as refused:
        run_line(spark, f"{line} --set {telemetry.root} {words}")
    assert refused.value.exit_code == 1
    assert str(refused.value).startswith("principal nobody not found. Known principals")
    assert "User:" in str(refused.value)
    assert not (tmp_path / "page.html").exists()


def test_windows_fit_what_there_is(points):
    picked = choose(now=datetime.now(tz=UTC), since="90d")
    assert picked.window_of(points) == 300  # two hours
    assert picked.window_of(points.limit(0)) == 10


def test_who_counts_no_rebalances_is_known_by_their_time(points):
    uncounted = points.where(F.col("metric") != groups.REBALANCES)
    told = groups.select_groups(uncounted).toPandas().set_index("group_id")
    assert told["rebalances"].to_dict() == {"restless": 20, "billing": 1, "search": 1}


def test_a_number_is_a_client_or_five_minutes_of_few(points):
    moment = comparisons.find_middle(points)
    side = comparisons.split_at(moment)
    samples = comparisons.select_samples(points, side).toPandas()
    counts = samples.groupby(["metric", "side"]).size()
    prefix = "org.apache.kafka."
    of_latency = counts[f"{prefix}producer.request.latency.avg"]
    assert of_latency.to_dict() == {"before": 11, "after": 12}  # one begins later
    table = comparisons.compare_metrics(samples).set_index("metric")
    assert table.loc[f"{prefix}producer.request.latency.avg", "how_sure"] == "sure"
    assert table.loc[f"{prefix}producer.batch.size.avg", "how_sure"] == "cannot tell"
    of_few = points.where("client_id = 'orders'")
    samples = comparisons.select_samples(of_few, side).toPandas()
    counts = samples.groupby(["metric", "side"]).size()
    # Two instances, and twelve or thirteen times five minutes.
    assert counts[f"{prefix}producer.request.latency.avg"].between(24, 26).all()


@pytest.mark.long
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_notebook_tells_a_story(spark, site, name):
    page, figures = run_notebook(spark, site, name)
    check_page(name, page.format())
    check_figures(figures)
    text = format_ipynb(page, {})
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert text.count('"image/png"') == len(figures)


@pytest.mark.long
@pytest.mark.parametrize("name", [one for one in NOTEBOOKS if one != "brokers"])
def test_notebook_with_unknown_client_is_refused(spark, site, name):
    with pytest.raises(UnknownClient, match=r"client ordrs not found\. .* orders"):
        run_notebook(spark, site, name, client="ordrs")


@pytest.mark.long
def test_the_guide_asks_functions_and_chooses_a_client(spark, site, tmp_path, capsys):
    for command in find_block(GUIDE, "functions").commands:
        run_line(spark, command, site.root)
        assert re.search(r"\([1-9]\d* rows?\)", capsys.readouterr().out)
    (command,) = find_block(GUIDE, "notebook-widgets").commands
    line = command.replace("notebooks/", f"{ROOT}/notebooks/")
    mine, output = tmp_path / "mine.toml", tmp_path / "page.html"
    mine.write_text(f'[tables]\nroot_path = "{site.settings.tables.root_path}"\n')
    run_line(spark, f"{line} --output {output} --config {mine}", site.root)
    page = output.read_text(encoding="utf-8")
    assert 'alt="What orders did, and what happened to it"' in page
    assert "billing" not in page


@pytest.mark.long
def test_versions_are_compared(spark, site):
    page, figures = run_notebook(spark, site, "before_and_after", compare="versions")
    check_page("before_and_after", page.format())
    check_figures(figures)
    assert (
        figures[0].axes[0].get_title(loc="left")
        == "apache-kafka-java version 4.3.1 against 3.9.2"
    )


@pytest.mark.long
@pytest.mark.parametrize("dataset", DASHBOARD["datasets"], ids=lambda one: one["name"])
def test_a_query_of_the_dashboard_has_what_is_shown(spark, site, dataset):
    query = "".join(dataset["queryLines"])
    views.register(spark, site.settings, views.find_names(query))
    answer = spark.sql(query)
    assert answer.count()
    asked = [
        field["expression"].strip("`")
        for one in list_widgets()
        for query in one["widget"].get("queries", ())
        if query["query"]["datasetName"] == dataset["name"]
        for field in query["query"]["fields"]
    ]
    assert {*asked} <= {*answer.columns}
