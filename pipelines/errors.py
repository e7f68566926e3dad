"""Errors that end a command with one sentence.

Messages hold names, numbers and places, never a value that a client or a secret
store supplied.
"""

import traceback


class PipelineError(Exception):
    """Base of all errors that end a command with one clear sentence."""

    exit_code = 1


class InvalidSetting(PipelineError):
    """Raised when conf/ or --set holds a key or a value that cannot be used."""

    exit_code = 2


class UnresolvedSecret(PipelineError):
    """Raised when a secret reference points at nothing that can be read here."""

    exit_code = 2


class MissingService(PipelineError):
    """Raised when a service that the command needs does not answer."""


class MissingTopic(MissingService):
    """Raised when Kafka answers, and has no such topic."""


class UncreatedTopic(MissingTopic):
    """Raised when a topic is missing and its job has never read one of that name."""


class IncompatibleTable(PipelineError):
    """Raised when a table was written under a contract that this program lacks."""


class DamagedTable(PipelineError):
    """Raised when the log of a table is not as Delta wrote it."""


class MissingTable(PipelineError):
    """Raised when a command works on tables and there are none yet."""


class ChecksNotInstalled(PipelineError):
    """Raised when tables are to be checked and great-expectations is not here."""


class ReportNotInstalled(PipelineError):
    """Raised when a report is to be made and what draws its pictures is not here."""


class UnknownClient(PipelineError):
    """Raised when no row is about the client or principal that was named."""


class NothingToDo(PipelineError):
    """Raised when what a command was asked for does not exist; it may be a mistake."""


class TooManyConflicts(PipelineError):
    """Raised when others changed the same files of a table each time."""


class UnsafeStart(PipelineError):
    """Raised when starting would lose or repeat records without anyone's decision."""


class LostRecords(UnsafeStart):
    """Raised when Kafka no longer has records that a job had still to read."""


class TablesInUse(PipelineError):
    """Raised when another process writes the same tables by the same job."""


class FullDisk(PipelineError):
    """Raised when a file cannot be written for want of space."""


class EmbeddedKafkaError(PipelineError):
    """Raised when the embedded Apache Kafka does not start or does not stop."""


class PushNotTaken(PipelineError):
    """Raised when a configuration was pushed by a command and not accepted."""


class DemoIncomplete(PipelineError):
    """Raised when the demo did not see every client that it had started."""


def describe_exception(error: BaseException) -> str:
    """Return the type of an exception and the places that it passed, innermost last."""
    places = " > ".join(
        f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
    )
    return f"{type(error).__name__} at {places or 'no place'}"
