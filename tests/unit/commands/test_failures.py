"""What is no error of ours is one line; with --verbose all of it is there."""

import json
import logging
import re

import pytest
from confluent_kafka import KafkaError, KafkaException
from pyspark.errors import AnalysisException

from pipelines.__main__ import main
from pipelines.commands import COMMANDS_BY_NAME, parse_words
from pipelines.commands.failures import (
    UnforeseenFailure,
    describe,
    silence_libraries,
    tell_failure,
    told_in_a_sentence,
)
from pipelines.commands.options import CommandFault
from pipelines.errors import MissingTable, PipelineError


class JavaError:
    """What py4j hands over of a throwable: three methods."""

    def __init__(self, name, message, cause=None):
        self.name, self.message, self.cause = name, message, cause

    def getClass(self):  # noqa: N802 - Java's
        return self

    def getName(self):  # noqa: N802 - Java's
        return self.name

    def getMessage(self):  # noqa: N802 - Java's
        return self.message

    def getCause(self):  # noqa: N802 - Java's
        return self.cause


class RaisedByJava(Exception):
    def __init__(self, java_exception):
        super().__init__("An error occurred while calling o1.x.\n: stack")
        self.java_exception = java_exception


PYTHON_STACK = """An exception was raised by the Python Proxy. Return Message: Traceback \
(most recent call last):
  File "x.py", line 1, in call
    raise IncompatibleTable("a. b")
pipelines.errors.IncompatibleTable: table x is newer"""


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("one. Two"), "ValueError: one."),
        (ValueError("of 3.5 and e.g. this"), "ValueError: of 3.5 and e.g. this"),
        (ValueError(""), "ValueError"),
        (ValueError("a\x1b[2J\nb"), "ValueError: a\ufffd[2J"),
        (FileNotFoundError(2, "no", "/x"), "FileNotFoundError: [Errno 2] no: '/x'"),
        (
            RaisedByJava(
                JavaError("org.x.E", "[COND] It broke. SQLSTATE: 1\n\tat a.b")
            ),
            "E: [COND] It broke.",
        ),
        (
            RaisedByJava(
                JavaError(
                    "java.lang.reflect.InvocationTargetException",
                    None,
                    JavaError("org.x.E", "It broke\nJVM stacktrace:\n\tat c"),
                )
            ),
            "E: It broke",
        ),
        (
            RaisedByJava(
                JavaError(
                    "org.x.E",
                    "Error while instantiating 'x.Builder':",
                    JavaError("org.x.F", "s.t should be int, but was abc"),
                )
            ),
            "F: s.t should be int, but was abc",
        ),
        (RaisedByJava(JavaError("org.x.E", "It broke:")), "E: It broke:"),
        (RaisedByJava(JavaError("org.x.E", None)), "E"),
        (
            RaisedByJava(JavaError("py4j.Py4JException", PYTHON_STACK)),
            "table x is newer",
        ),
    ],
)
def test_an_error_is_its_simple_class_and_first_sentence(error, line):
    assert describe(error) == line


class SomeFault(Exception):
    """As an error of ours that is no PipelineError."""

    __module__ = "pipelines.somewhere"


@pytest.mark.parametrize(
    "error",
    [
        json.JSONDecodeError("no", "x", 0),
        KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN)),
        AnalysisException("no table"),
        CommandFault("no file"),
        SomeFault("no file"),
        OSError("java.io.IOException: org.apache.hadoop.fs.PathIOException: no disk"),
        RaisedByJava(JavaError("org.x.Outer$E", "a.b.C: no disk")),
    ],
    ids=lambda one: type(one).__name__,
)
def test_sentence_of_an_exception_has_no_dotted_class_name(error, capsys):
    end(error, is_verbose=False)
    said = capsys.readouterr().err
    assert said.startswith("kafka-clientele: ")
    assert re.findall(r"(?:\w+\.)+[A-Z]\w+", said) == []
    assert "no" in said or "brokers" in said.lower()


@pytest.mark.parametrize(
    "line",
    [
        "findings check --client-type producer --properties {missing}",
        "push-config --client-type producer --properties {missing}",
        "push-config --client-type admin --properties {empty} --client-instance-id x",
    ],
)
def test_command_with_unusable_file_ends_with_a_sentence(line, tmp_path, capsys):
    (tmp_path / "empty").write_text("bootstrap.servers=127.0.0.1:1\n")
    names = {"missing": tmp_path / "missing", "empty": tmp_path / "empty"}
    assert main(line.format(**names).split()) in {1, 2}
    said = capsys.readouterr().err
    assert re.findall(r"(?:\w+\.)+[A-Z]\w+", said) == []
    assert "--verbose" not in said


def test_a_jvm_that_is_gone_is_said():
    gone = RaisedByJava(object())
    assert describe(gone) == (
        "RaisedByJava: the Java process of Spark has ended; what it said stands above"
    )


def end(error, *, is_verbose):
    """End as a command does that fails."""
    try:
        with told_in_a_sentence(is_verbose=is_verbose):
            raise error
    except UnforeseenFailure as told:
        tell_failure(told, "", is_verbose=is_verbose)
    except PipelineError as told:
        tell_failure(told, "", is_verbose=is_verbose)


def test_one_line_is_printed_and_the_stack_with_verbose(capsys):
    end(OSError("no disk"), is_verbose=False)
    said = capsys.readouterr().err
    assert said == "kafka-clientele: OSError: no disk (--verbose shows the rest)\n"
    end(OSError("no disk"), is_verbose=True)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Traceback (most recent call last):"
    assert said[-1] == "kafka-clientele: OSError: no disk"


def test_errors_of_ours_are_sentences_already(capsys):
    end(MissingTable("no table"), is_verbose=False)
    assert capsys.readouterr().err == "kafka-clientele: no table\n"
    end(MissingTable("no table"), is_verbose=True)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Traceback (most recent call last):"
    assert said[-1] == "kafka-clientele: no table"


def test_ctrl_c_is_no_failure():
    with pytest.raises(KeyboardInterrupt), told_in_a_sentence(is_verbose=True):
        raise KeyboardInterrupt


def test_py4j_and_pyspark_log_nothing(caplog):
    logging.getLogger().addHandler(caplog.handler)
    try:
        silence_libraries()
        record = logging.LogRecord(
            "root", logging.ERROR, "/x.zip/py4j/java_gateway.py", 1, "cut", (), None
        )
        logging.getLogger().handle(record)
        logging.getLogger("SQLQueryContextLogger").error("JSON")
        logging.getLogger("ours").error("said")
    finally:
        logging.getLogger().removeHandler(caplog.handler)
        logging.getLogger("SQLQueryContextLogger").disabled = False
        logging.getLogger("DataFrameQueryContextLogger").disabled = False
    assert {record.message for record in caplog.records} == {"said"}


NEEDED = {
    "scram-credential": ["--name", "a"],
    "explain-rule": ["--key", "acks"],
    "replay_pushes": ["--from", "2026-03-01", "--to", "2026-03-02"],
    "sql": ["select 1"],
    "completion": ["bash"],
    "brokers": ["list"],
    "configs": ["describe"],
    "quotas": ["explain"],
    "clients": ["coverage"],
    "notebook": ["a.py"],
    "push-config": ["--properties", "a", "--client-type", "producer"],
}


@pytest.mark.parametrize("name", COMMANDS_BY_NAME)
def test_every_command_takes_verbose_and_hands_it_on(name):
    arguments = parse_words([name, *NEEDED.get(name, []), "--verbose"])
    assert arguments.verbose
    assert COMMANDS_BY_NAME[name].own_options["--verbose"] is False
