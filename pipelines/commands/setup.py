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
    help="Install dependencies into .venv and .cache; other commands do it as well",
    options=(
        flag(
            "--without-java", "Skip everything that needs Java; enough for the bridge"
        ),
        flag(
            "--with-checks",
            "Add great-expectations for check_tables and maintain_tables",
        ),
        flag("--with-report", "Add Jinja2 and Vega-Altair for report"),
        flag(
            "--with-tests",
            "Add linters and the packages of tests, checks and report",
        ),
    ),
    needs_checkout=True,
    run=run,
)
