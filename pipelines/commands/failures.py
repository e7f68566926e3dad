"""What is no error of ours, in one line: its class and its first sentence."""

import logging
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import PipelineError
from pipelines.reading.text_tables import make_printable

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143
"""As a shell has them: 128, and the number of the signal."""
_TRACEBACK = "Traceback (most recent call last):"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\[\"'`A-Z])")
_STACK_LINE = re.compile(r"\s+at |\s*JVM stacktrace:|\s*== ")
# Wrappers of Java that say nothing which their cause does not say.
_WRAPPERS = {
    "java.lang.reflect.InvocationTargetException",
    "java.util.concurrent.ExecutionException",
    "java.lang.reflect.UndeclaredThrowableException",
}
_CLASS_NAME = re.compile(r"\b(?:[A-Za-z_]\w*\.)+([A-Z]\w*(?:\$\w+)*)(?=:|$)")
"""A class with its package, as programs put it before what they say."""
_OWN_CLASS = re.compile(r"(?:pipelines|udfs)(?:\.\w+)+: ")
_OWN_PACKAGES = frozenset({"pipelines", "udfs"})
_MAX_CAUSES = 20
_MAX_LENGTH = 400
_JVM_IS_GONE = "the Java process of Spark has ended; what it said stands above"


class UnforeseenFailure(PipelineError):
    """Raised for what a library or the system refused, in its own words."""


@contextmanager
def told_in_a_sentence(*, is_verbose: bool) -> Iterator[None]:
    """Let nothing leave the block but an error that is one sentence.

    Stands where the JVM still lives: what it has refused, only it can tell.

    Args:
        is_verbose: Whether what is no error of ours is printed with its stack as well.
    Raises: PipelineError.
    """
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:  # noqa: BLE001 - all that has no sentence yet
        if is_verbose:
            traceback.print_exc(file=sys.stderr)
        raise UnforeseenFailure(describe(error)) from None


def silence_libraries() -> None:
    """Let libraries log nothing that is raised as well."""
    # py4j tells of each connection to the JVM, and of each that an end cuts off,
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    for handler in logging.getLogger().handlers:
        # also in the name of no logger.
        handler.addFilter(lambda record: "py4j" not in Path(record.pathname).parts)
    # What Spark refuses, PySpark logs as JSON with all of its stack before raising it.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True


def tell_failure(error: PipelineError, details: str, *, is_verbose: bool) -> None:
    """Print an error that ends the command, as one line.

    Args:
        error: What ends it.
        details: What follows the sentence: where a trace is, if there is one.
        is_verbose: Whether the stack of an error of ours is printed as well.
    """
    is_ours = not isinstance(error, UnforeseenFailure)
    if is_verbose and is_ours:
        traceback.print_exception(error, file=sys.stderr)
    hint = "" if is_verbose or is_ours else " (--verbose shows the rest)"
    print(f"kafka-clientele: {error}{details}{hint}", file=sys.stderr)


def describe(error: BaseException) -> str:
    """Return the simple class name of an error and its first sentence, in one line.

    For a Java error this is the Java class, and for a wrapper the class that it wraps.
    An error of this product is its sentence alone.
    """
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is not None:
        try:
            return _describe_java(java)
        except Exception:  # noqa: BLE001 - whatever it is, there is no JVM to ask
            return _shorten(type(error).__name__, _JVM_IS_GONE)
    if type(error).__module__.startswith("py4j.") or isinstance(error, EOFError):
        return _shorten(type(error).__name__, _JVM_IS_GONE)
    is_own = type(error).__module__.partition(".")[0] in _OWN_PACKAGES and str(error)
    return _shorten("" if is_own else type(error).__name__, str(error))


def first_sentence(text: str) -> str:
    """Return the first sentence of what a program says, in one line.

    Of a Python traceback it is what was raised; stacks of Java are left out.
    """
    _, mark, trace = text.partition(_TRACEBACK)
    lines = [line for line in text.splitlines() if line.strip()]
    if mark:
        # Lines of a stack and of the source are indented.
        raised = [line for line in trace.splitlines() if re.match(r"\w[\w.]*: ", line)]
        lines = raised[-1:] or lines
    kept = ""
    for line in lines:
        if _STACK_LINE.match(line):
            break
        kept = f"{kept} {line.strip()}".strip()
        sentence, *more = _SENTENCE_END.split(kept, maxsplit=1)
        if more or not line.rstrip().endswith((",", ":")):
            kept = sentence
            break
    return make_printable(kept)


def _describe_java(told: "JavaObject") -> str:
    for _ in range(_MAX_CAUSES):
        cause = told.getCause()
        message = str(told.getMessage() or "")
        # With a colon at its end it leaves to the cause what it is about.
        is_bare = not message or message.rstrip().endswith(":")
        if cause is None or not (is_bare or told.getClass().getName() in _WRAPPERS):
            break
        told = cause
    name = str(told.getClass().getName()).rpartition(".")[2]
    return _shorten(name, str(told.getMessage() or ""))


def _shorten(name: str, message: str) -> str:
    sentence = first_sentence(message)
    if own := _OWN_CLASS.match(sentence):
        name, sentence = "", sentence[own.end() :]
    sentence = _CLASS_NAME.sub(r"\1", sentence)
    if len(sentence) > _MAX_LENGTH:
        sentence = f"{sentence[:_MAX_LENGTH]}…"
    return ": ".join(part for part in (name, sentence) if part)
