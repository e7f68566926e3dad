"""reference: base.toml and the pages of docs/reference/ that code makes."""

from collections.abc import Callable, Mapping

from pipelines.commands.call import Call
from pipelines.commands.options import Command
from pipelines.settings.places import ROOT_PATH


def list_pages() -> Mapping[str, Callable[[], str]]:
    """Return path below the checkout to what makes the text that stands there."""
    from pipelines.quality.suites import list_suite_files
    from pipelines.settings import reference

    from . import bridge_metrics, commands, job_metrics, readers

    return {
        "conf/base.toml": reference.format_base,
        "docs/reference/settings.md": reference.format_reference,
        "docs/reference/commands.md": commands.format_commands,
        "docs/reference/tables.md": readers.format_tables,
        "docs/reference/views.md": readers.format_views,
        "docs/reference/quarantine-reasons.md": readers.format_quarantine_reasons,
        "docs/reference/metrics.md": bridge_metrics.format_metrics,
        "docs/reference/job-metrics.md": job_metrics.format_job_metrics,
        **list_suite_files(),
    }


def run(_call: Call) -> int:
    """Write the files that differ, and print their names."""
    for name, make in list_pages().items():
        path, text = ROOT_PATH / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(name)
    return 0


COMMAND = Command(
    name="reference",
    help="Generate conf/base.toml and the pages of docs/reference/",
    options=(),
    needs_checkout=True,
    run=run,
)
