import logging

import pytest

from pipelines.kafka_logs import RepeatFilter

CONNECT = "Connect to ipv4#127.0.0.1:9092 failed: Connection refused"


@pytest.fixture
def log():
    """A log that takes what librdkafka says at a time, and the lines that pass."""
    lines = []
    logger = logging.Logger("librdkafka")  # noqa: LOG001 - of one test only
    logger.addFilter(RepeatFilter())
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger.addHandler(handler)

    def say(at_s, *words):
        made = logger.makeRecord("", logging.ERROR, "", 0, "%s [%s] %s", words, None)
        made.created = at_s
        logger.handle(made)
        return lines

    return say


def test_repeat_filter_same_reason_passes_one_line_a_minute_with_the_count(log):
    for second in range(59):
        for client in ("b-1#producer-1", "b-1#consumer-2"):
            broker = f"[thrd:k{second}:9092/bootstrap]: k{second}:9092/bootstrap"
            log(second, "FAIL", client, f"{broker}: {CONNECT} (after {second}ms in x)")
            log(second, "ERROR", client, f"[thrd:app]: {client}: k1:9092/1: {CONNECT}")
    lines = log(60, "FAIL", "b-1#producer-1", f"[thrd:k1:9092/1]: k1:9092/1: {CONNECT}")
    assert len(lines) == 2
    assert lines[0].endswith(f"k0:9092/bootstrap: {CONNECT} (after 0ms in x)")
    assert lines[1].endswith(f"{CONNECT} (repeated 235 times in 60 s)")


def test_repeat_filter_other_reason_passes_at_once(log):
    log(0, "FAIL", "b#producer-1", f"[thrd:k:1/1]: k:1/1: {CONNECT}")
    log(1, "FAIL", "b#producer-1", "[thrd:k:1/1]: k:1/1: Connection reset by peer")
    log(2, "ERROR", "b#producer-1", "[thrd:k:1/1]: 1/1 brokers are down")
    assert len(log(3, "SASLFAIL", "b#producer-1", "[thrd:k:1/1]: k:1/1: denied")) == 4


def test_repeat_filter_reason_that_returns_later_passes_without_a_count(log):
    log(0, "FAIL", "b#producer-1", CONNECT)
    assert log(100, "FAIL", "b#producer-1", CONNECT)[1].endswith("refused")


def test_repeat_filter_clock_set_back_passes_at_once(log):
    log(1000, "FAIL", "b#producer-1", CONNECT)
    assert len(log(10, "FAIL", "b#producer-1", CONNECT)) == 2


def test_repeat_filter_many_reasons_keeps_a_bounded_number(log):
    for number in range(2000):
        letters = "".join(chr(97 + int(digit)) for digit in str(number))
        log(0, "FAIL", "b#producer-1", f"reason {letters}")
    assert len(log(1, "FAIL", "b#producer-1", "reason a")) == 2001
