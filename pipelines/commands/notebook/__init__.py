"""notebook: run a notebook and write it as a page."""

import shlex
from pathlib import Path

from pipelines.commands.call import Call
from pipelines.commands.options import CONFIG, ENV, SET, Command, option
from pipelines.settings.loading import list_overrides
from pipelines.settings.places import ROOT_PATH

from .cells import load_cells


def run(call: Call) -> int:
    """Run a notebook, write its page and print where it is."""
    from .page import Page, parse_widgets, run_cells

    arguments, settings = call.arguments, call.read_settings()
    path = Path(arguments.path)
    usual = ROOT_PATH / "data" / f"{path.stem}.html"
    output = Path(arguments.output or usual)
    overrides = [*list_overrides(call.environ), *arguments.set]
    given = {
        "env": arguments.env,
        "config": arguments.config or "",
        "set": shlex.join(overrides),
    }
    widgets = parse_widgets(given, arguments.widget)
    cells = load_cells(path)
    widgets.check_names(path, cells)
    Page.try_output(output)
    with call.session(f"notebook {path.name}") as spark:
        page = run_cells(spark, settings, path, cells, widgets)
    page.write(output)
    print(output)
    return 0


COMMAND = Command(
    name="notebook",
    help="run a notebook and write it as an HTML page",
    options=(
        option("path", "notebook in Databricks source format"),
        ENV,
        CONFIG,
        SET,
        option("--output", "the page (default: data/NAME.html)"),
        option(
            "--widget",
            "value of a widget, as name=value; may be repeated",
            default=[],
            action="append",
            metavar="NAME=VALUE",
        ),
    ),
    takes_spark_options=True,
    run=run,
)
