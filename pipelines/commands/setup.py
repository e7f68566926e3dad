"""setup: everything that the other commands need, once."""

from .call import Call
from .options import Command, flag


def run(_call: Call) -> int:
    """Do nothing: spark-submit.sh has set up before it starts any command."""
    return 0


COMMAND = Command(
    name="setup",
    help="install what is needed below .venv and .cache; other commands do it, too",
    options=(
        flag("--without-java", "leave out what needs a Java: enough for the bridge"),
        flag("--with-tests", "add linters and what tests need"),
    ),
    run=run,
)
