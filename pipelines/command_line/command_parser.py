"""How a command answers wrong options: as argparse does, or as Apache Kafka's tools."""

import argparse
import re
import sys
from typing import NoReturn

# argparse's words for a misuse, and those of Kafka's tools.
_KAFKA_WORDS = (
    (re.compile(r"argument --(\S+): expected one argument"), "requires an argument"),
    (
        re.compile(r"unrecognized arguments: -+([^\s=]+).*"),
        "is not a recognized option",
    ),
)
_KAFKA_MISUSE = 1


class CommandParser(argparse.ArgumentParser):
    """A parser that can answer a misuse as Apache Kafka's tools do."""

    is_kafka_tool = False
    takes_secrets = False
    """As its Command says."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and how it is right, and end the process."""
        if not self.is_kafka_tool:
            super().error(message)
        for pattern, words in _KAFKA_WORDS:
            if found := pattern.fullmatch(message):
                is_missing = words.startswith("requires")
                message = f"{'Option ' if is_missing else ''}{found[1]} {words}"
        print(message, file=sys.stderr)
        self.print_help(sys.stderr)
        sys.exit(_KAFKA_MISUSE)
