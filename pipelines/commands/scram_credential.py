"""scram-credential: the line of a user's verifier, made of a password that is read."""

import getpass
import os
import secrets
import stat
import sys

from pipelines.errors import InvalidSetting
from pipelines.settings.listener_records import SCRAM_MECHANISMS

from .call import Call
from .options import Command, option

_OWNER_ONLY = 0o600
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def run(call: Call) -> int:
    """Read a password from the standard input; print the line of its verifier.

    Raises: InvalidSetting.
    """
    from pipelines.bridge.security.sasl.credentials import (
        SALT_BYTES,
        InvalidCredentials,
        make_credential,
    )

    if sys.stdin.isatty():
        password = getpass.getpass("password: ")
    else:
        password = sys.stdin.readline().removesuffix("\n").removesuffix("\r")
    try:
        credential = make_credential(
            name=call.arguments.name,
            password=password,
            mechanism=call.arguments.mechanism,
            iterations=call.arguments.iterations,
            salt=secrets.token_bytes(SALT_BYTES),
        )
    except InvalidCredentials as error:
        raise InvalidSetting(f"scram-credential: {error}") from None
    _write_line(credential.as_line(), call.arguments.output)
    return 0


def _write_line(line: str, path: str | None) -> None:
    """Add a line to a file, or print it; warn where others may read it.

    Args:
        line: Of a file of credentials.
        path: The file; None prints.
    Raises: InvalidSetting where the file cannot be written.
    """
    if path is None:
        print(line, flush=True)
        status, name = os.fstat(sys.stdout.fileno()), "the file that this is written to"
        hint = "--output FILE makes one of its owner's; "
    else:
        status, name, hint = _append(line, path), path, ""
    if stat.S_ISREG(status.st_mode) and status.st_mode & _OTHERS_READ:
        print(
            f"kafka-clientele: others may read {name} (mode "
            f"{stat.S_IMODE(status.st_mode):o}), and with it guess passwords: "
            f"{hint}chmod 600 closes it",
            file=sys.stderr,
        )


def _append(line: str, path: str) -> os.stat_result:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, _OWNER_ONLY)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{line}\n")
            return os.fstat(descriptor)
    except OSError as error:
        raise InvalidSetting(
            f"--output {path}: cannot be written ({error.strerror})"
        ) from None


COMMAND = Command(
    name="scram-credential",
    help="Create a SCRAM credential from a password read on stdin",
    options=(
        option("--name", "Name of the user", required=True, metavar="USER"),
        option(
            "--mechanism",
            "SCRAM mechanism of the clients (default: SCRAM-SHA-512)",
            choices=SCRAM_MECHANISMS,
            default=SCRAM_MECHANISMS[-1],
        ),
        option(
            "--iterations",
            "Iterations of the hash: 4096 to 16384 (default: 8192)",
            type=int,
            default=8_192,
            metavar="COUNT",
        ),
        option(
            "--output",
            "File to append the credential to (default: print it)",
            metavar="FILE",
        ),
    ),
    run=run,
)
