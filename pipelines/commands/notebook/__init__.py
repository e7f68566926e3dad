"""notebook: run a notebook and write it as a page, or as Jupyter has it."""

import shlex
from pathlib import Path

from pipelines.commands.call import Call
from pipelines.commands.options import CONFIG, ENV, SET, Command, option
from pipelines.settings.loading import list_overrides
from pipelines.settings.places import ROOT_PATH

from .cells import load_cells

HTML, IPYNB = "html", "ipynb"


def run(call: Call) -> int:
    """Run a notebook, write what it shows and print where that is."""
    from .ipynb import format_ipynb
    from .page import Page, parse_widgets, run_cells

    arguments, settings = call.arguments, call.read_settings()
    path = Path(arguments.path)
    usual = ROOT_PATH / "data" / f"{path.stem}.{arguments.to}"
    output = Path(arguments.output or usual)
    given = {"env": arguments.env, "config": arguments.config or ""}
    overrides = [*list_overrides(call.environ), *arguments.set]
    widgets = parse_widgets(given | {"set": shlex.join(overrides)}, arguments.widget)
    cells = load_cells(path)
    widgets.check_names(path, cells)
    Page.try_output(output)
    with call.session(f"notebook {path.name}") as spark:
        page = run_cells(spark, settings, path, cells, widgets)
    if arguments.to == IPYNB:
        # What the environment says, the one that Jupyter runs in says there.
        own = widgets.given | {"set": shlex.join(arguments.set)}
        text = format_ipynb(page, own)
    else:
        text = page.format()
    output.write_text(text, encoding="utf-8")
    print(output)
    return 0


COMMAND = Command(
    name="notebook",
    help="Run a notebook and write it as an HTML page or for Jupyter",
    options=(
        option("path", "Notebook in Databricks source format"),
        ENV,
        CONFIG,
        SET,
        option(
            "--to",
            "Format of the output: HTML page or Jupyter notebook",
            default=HTML,
            choices=(HTML, IPYNB),
        ),
        option("--output", "Output file (default: data/NAME.html or data/NAME.ipynb)"),
        option(
            "--widget",
            "Value of a widget, as name=value; may be repeated",
            default=[],
            action="append",
            metavar="NAME=VALUE",
        ),
    ),
    takes_spark_options=True,
    run=run,
)
