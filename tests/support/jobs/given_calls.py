"""A command's call in the session and with the settings of a test."""

from contextlib import nullcontext

from pipelines.commands import parse_words


class GivenCall:
    """What Call is to a command, without a Spark of its own."""

    def __init__(self, spark, settings, words):
        self.arguments = parse_words(words)
        self._spark, self._settings = spark, settings

    def read_settings(self):
        return self._settings

    def session(self, _name):
        return nullcontext(self._spark)
