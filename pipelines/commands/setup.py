"""setup: everything that the other commands need, once."""

from pipelines.errors import InvalidSetting

from .call import Call
from .options import Command, flag


def run(_call: Call) -> int:
    """Refuse what spark-submit.sh has not done itself.

    Raises: InvalidSetting.
    """
    raise InvalidSetting("setup is done by spark-submit.sh, and takes no other words")


COMMAND = Command(
    name="setup",
    help="install what is needed below .venv and .cache; other commands do it, too",
    options=(
        flag("--without-java", "leave out what needs a Java: enough for the bridge"),
        flag(
            "--with-checks",
            "add great-expectations, which check_tables and maintain_tables need",
        ),
        flag("--with-report", "add Jinja2 and Vega-Altair, which report needs"),
        flag(
            "--with-tests",
            "add linters and what tests need, and what checks and report need",
        ),
    ),
    needs_checkout=True,
    run=run,
)
