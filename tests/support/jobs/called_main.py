"""A command as its user calls it, in this process."""

import signal

from pipelines.__main__ import main


def call_main(capsys, *words):
    """Return exit code, standard output and standard error of a call."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        code = main([*words])
    except SystemExit as ending:
        code = ending.code
    finally:
        signal.signal(signal.SIGTERM, handler)
    printed = capsys.readouterr()
    return code, printed.out, printed.err
