"""completion: let a shell complete commands and options."""

import sys

from .call import Call
from .options import Command, option

SHELLS = ("bash", "zsh", "tcsh")


def run(call: Call) -> int:
    """Print the shell's script."""
    import shtab

    from . import build_parser

    sys.stdout.write(shtab.complete(build_parser(), shell=call.arguments.shell))
    return 0


COMMAND = Command(
    name="completion",
    help="Print a completion script for bash, zsh or tcsh",
    options=(option("shell", "Shell of the script", choices=SHELLS),),
    run=run,
)
