"""Lines of the log; the time is that of the records."""

import io
import json
import logging
import uuid

import pytest
from kio.schema.errors import ErrorCode

from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection, make_identity
from pipelines.bridge.operations.logs import (
    log_counters,
    log_refused,
    log_unexpected,
    make_handler,
)

NOW = 1_700_000_000.5
SECRET = "value-of-a-client"


class Log:
    def __init__(self, log_format):
        self._stream = io.StringIO()
        self.handler = make_handler(log_format, self._stream)

    def write(self, text="a line", *values, at=0.0, level=logging.INFO, **fields):
        record = logging.LogRecord("bridge", level, "f.py", 1, text, values, None)
        record.created = NOW + at
        vars(record).update(fields)
        self.handler.handle(record)

    @property
    def lines(self):
        return self._stream.getvalue().splitlines()

    @property
    def objects(self):
        return [json.loads(line) for line in self.lines]


@pytest.fixture
def log():
    return Log("json")


def test_json_line_holds_what_applies(log):
    log.write("closed: %s", "why", connection_id=7, error_code=42, other="dropped")
    assert log.objects == [
        {"time": "2023-11-14T22:13:20.500Z", "level": "INFO", "logger": "bridge",
         "message": "closed: why", "connection_id": 7, "error_code": 42},
    ]  # fmt: skip


def test_console_line_holds_what_applies():
    log = Log("console")
    log.write("closed", connection_id=7)
    assert log.lines == ["2023-11-14T22:13:20.500Z INFO bridge: closed connection_id=7"]


@pytest.mark.parametrize("log_format", ["console", "json"])
def test_record_is_one_line_whatever_is_in_it(log_format):
    log = Log(log_format)
    log.write("a\nb\r\x1b[31m %s", "c\u2028d\ne")
    assert len(log.lines) == 1
    assert "\x1b" not in log.lines[0]


def test_one_line_a_second_for_what_a_peer_can_cause(log):
    for number in range(1_000):
        log.write("closed: %d", number, reason="malformed", connection_id=number)
    log.write("closed: %d", 5, reason="unsupported")
    assert [line["message"] for line in log.objects] == ["closed: 0", "closed: 5"]
    log.write("closed: %d", 1_000, reason="malformed", at=1)
    held_back, next_line = log.objects[2:]
    assert (held_back["message"], held_back["repeated"]) == ("closed: 999", 999)
    assert held_back["connection_id"] == 999
    assert (next_line["message"], "repeated" in next_line) == ("closed: 1000", False)


def test_ten_lines_a_second_for_others(log):
    for number in range(25):
        log.write("line %d", number)
    assert len(log.lines) == 10
    log.write("another", at=1)
    assert [line.get("repeated") for line in log.objects[10:]] == [15, None]


def test_what_librdkafka_says_again_is_one_line_and_a_count(log):
    for number in range(25):
        log.write(
            "%s [%s] %s", "FAIL", "rdkafka#1", f"refused (after {number}ms in CONNECT)"
        )
    log.write("%s [%s] %s", "FAIL", "rdkafka#1", "another broker refused")
    assert len(log.lines) == 2
    log.handler.close()
    assert [line.get("repeated") for line in log.objects] == [None, None, 24]


def test_counters_are_few_words_in_text_and_whole_in_json(caplog):
    counters = BridgeCounters(gets=4)
    with caplog.at_level(logging.INFO, "pipelines.bridge.operations.logs"):
        log_counters("bridge", counters)
    (record,) = caplog.records
    for_people, for_programs = Log("console"), Log("json")
    for_people.handler.handle(record)
    for_programs.handler.handle(record)
    assert for_people.lines[0].endswith(": bridge: gets=4")
    assert for_programs.objects[0]["counters"] == counters.numbers()


def test_what_was_held_back_is_written_at_the_end(log):
    for _ in range(3):
        log.write(reason="r")
    log.handler.close()
    assert [line.get("repeated") for line in log.objects] == [None, 2]


def test_kinds_of_records_do_not_pile_up(log):
    for number in range(5_000):
        log.write(f"kind {number}")
    assert len(log.handler._kinds) <= 1_000
    assert len(log.lines) == 5_000


def fail():
    raise ValueError(SECRET)


def test_exception_is_its_type_and_places_and_not_its_text(log):
    try:
        fail()
    except ValueError as error:
        log.write("failed", exc_info=(type(error), error, error.__traceback__))
    (line,) = log.objects
    assert line["message"].startswith("failed: ValueError at test_logs.py:")
    assert SECRET not in log.lines[0]


def test_unexpected_error_of_the_loop_shows_no_arguments(caplog):
    try:
        fail()
    except ValueError as error:
        log_unexpected({"message": f"in callback f({SECRET})", "exception": error})
    log_unexpected({"message": SECRET})
    assert "ValueError at test_logs.py:" in caplog.text
    assert "no exception" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (ErrorCode.telemetry_too_large, logging.INFO),
        (ErrorCode.invalid_request, logging.INFO),
        (ErrorCode.throttling_quota_exceeded, logging.DEBUG),
        (ErrorCode.unknown_subscription_id, logging.DEBUG),
    ],
)
def test_refused_request_is_logged_with_who_and_why(caplog, error, level):
    connection = Connection(connection_id=9, identity=make_identity("L", "h", 1))
    with caplog.at_level(logging.DEBUG, "pipelines.bridge.operations.logs"):
        log_refused(connection, uuid.UUID(int=1), error)
        log_refused(connection, None, error)
    first, second = caplog.records
    assert first.levelno == level
    assert (first.reason, first.error_code) == (error.name, error.value)
    assert (first.connection_id, first.client_instance_id) == (
        9, "AAAAAAAAAAAAAAAAAAAAAQ",
    )  # fmt: skip
    assert second.client_instance_id is None
