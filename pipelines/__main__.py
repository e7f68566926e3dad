"""Where every command starts: words, environment, logging, signals, exit codes.

`spark-submit.sh` runs this module; for a job it hands over to Spark's own spark-submit,
which runs this same file again with the word RUN in front.
"""

import os
import re
import signal
import sys

# In full: Spark starts this file as a script.
from pipelines.commands import COMMANDS_BY_NAME, is_available, parse_words
from pipelines.commands.call import Call
from pipelines.commands.failures import (
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    silence_libraries,
    tell_failure,
    told_in_a_sentence,
)
from pipelines.commands.log_lines import log_to
from pipelines.commands.options import Command
from pipelines.commands.trace_files import DETAILS_VARIABLE, tell_details
from pipelines.errors import InvalidSetting, PipelineError

RUN = "run"
"""The word before a job's own words, where spark-submit has started this process."""
UMASK_VARIABLE = "KAFKA_CLIENTELE_UMASK"
OWNER_ONLY = "077"


def main(words: list[str]) -> int:
    """Run one command; return its exit code."""
    is_driver = words[:1] == [RUN]
    words = words[1:] if is_driver else words
    command = COMMANDS_BY_NAME.get(words[0] if words else "")
    if command and not is_available(command):
        print(
            f"kafka-clientele: {command.name} is not available in an installation by "
            "pip. Clone the repository and run ./spark-submit.sh there",
            file=sys.stderr,
        )
        return InvalidSetting.exit_code
    spark_words: list[str] = []
    if command and command.takes_spark_options:
        from pipelines.commands.submit.spark_words import split_arguments

        own, spark_words = split_arguments(words[1:], command.own_options)
        words = [words[0], *own]
    arguments = parse_words(words)
    command = COMMANDS_BY_NAME[arguments.command]
    call = Call(
        arguments=arguments,
        environ=os.environ,
        spark_words=spark_words,
        is_driver=is_driver,
    )
    log_to(sys.stderr)
    silence_libraries()
    # A plain `kill` unwinds like Ctrl-C, so that brokers and folders are cleaned up.
    signal.signal(signal.SIGTERM, _raise_terminated)
    try:
        with told_in_a_sentence(is_verbose=arguments.verbose):
            limit_readers()
            return _run(command, call)
    except PipelineError as error:
        details = tell_details(os.environ.get(DETAILS_VARIABLE, ""))
        tell_failure(error, details, is_verbose=arguments.verbose)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"kafka-clientele: {command.name}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except _Terminated:
        return EXIT_TERMINATED


def _run(command: Command, call: Call) -> int:
    if not command.is_job or call.is_driver:
        return command.run(call)
    from pipelines.commands.session import hand_over
    from pipelines.commands.submit.cluster_mode import check_job

    command.check(call)
    settings = call.read_settings()  # a wrong key fails now, not after Spark started
    check_job(settings, command.name, call.spark_words)
    words = [RUN, command.name, *command.words_of(call.arguments)]
    return hand_over(words, call.spark_words, call.environ, is_small=command.is_small)


class _Terminated(BaseException):
    """Raised by SIGTERM; not an Exception, so that nothing on the way keeps it."""


def _raise_terminated(_signal: int, _frame: object) -> None:
    raise _Terminated


def limit_readers() -> None:
    """Let what this process and those that it starts make be for its owner.

    Raises: InvalidSetting.
    """
    text = os.environ.get(UMASK_VARIABLE) or OWNER_ONLY
    if not re.fullmatch("[0-7]{3,4}", text):
        raise InvalidSetting(
            f"{UMASK_VARIABLE}={text}: expects a mask of three octal digits, 077 for "
            "the owner alone or 027 for the group, too"
        )
    os.umask(int(text, base=8))


def start() -> None:
    """Run its command, without hypothesis, which kio imports where it is, for tests."""
    sys.modules["hypothesis"] = None  # type: ignore[assignment]
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    start()
