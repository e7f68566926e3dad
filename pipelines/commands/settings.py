"""settings: what is in force, or the page about all keys."""

from pipelines.settings import reference

from .call import Call
from .options import CONFIG, ENV, SET, Command, flag


def run(call: Call) -> int:
    """Print them."""
    if call.arguments.reference:
        print(reference.format_reference(), end="")
    else:
        print(reference.format_settings(call.read_settings()))
    return 0


COMMAND = Command(
    name="settings",
    help="Print the effective settings",
    options=(
        ENV,
        CONFIG,
        SET,
        flag("--reference", "Print the reference of all keys instead"),
    ),
    run=run,
)
