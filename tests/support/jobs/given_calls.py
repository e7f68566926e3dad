"""A command's call in the session and with the settings of a test."""

import os
import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.call import Call
from pipelines.settings import load_settings
from tests.support.spark.writer_option import writer_override


@dataclass(frozen=True, kw_only=True)
class SharedCall(Call):
    """A call whose session is that of the tests, with more settings than it says."""

    spark: Any
    settings: tuple[str, ...]

    def session(self, _name, *, more=()):
        del more
        return nullcontext(self.spark)

    def read_settings(self):
        own = self.arguments.set
        return load_settings(
            self.arguments.env, [*own, writer_override(), *self.settings]
        )


def run_line(spark, line, *settings, exit_code=0):
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
    assert command.run(call) == exit_code
