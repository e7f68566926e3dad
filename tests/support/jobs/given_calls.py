"""A command's call in the session and with the settings of a test."""

import os
import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.call import Call
from pipelines.settings import load_settings


@dataclass(frozen=True, kw_only=True)
class SharedCall(Call):
    """A call whose session is that of the tests, with more settings than it says."""

    spark: Any
    settings: tuple[str, ...]

    def session(self, _name, *, more=()):
        del more
        return nullcontext(self.spark)

    def read_settings(self):
        return load_settings(self.arguments.env, [*self.arguments.set, *self.settings])


def run_line(spark, line, *settings):
    """Run the command of a line, `./spark-submit.sh NAME WORDS`, in this process."""
    name, *words = shlex.split(line)[1:]
    call = SharedCall(
        arguments=parse_words([name, *words]),
        environ=os.environ,
        spark=spark,
        settings=settings,
    )
    command = COMMANDS_BY_NAME[name]
    command.check(call)
    assert command.run(call) == 0


class GivenCall:
    """What Call is to a command, without a Spark of its own."""

    def __init__(self, spark, settings, words):
        self.arguments = parse_words(words)
        self._spark, self._settings = spark, settings

    def read_settings(self):
        return self._settings

    def session(self, _name):
        return nullcontext(self._spark)
