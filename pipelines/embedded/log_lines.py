"""The log of the brokers: how it is written, and what of it an error shows."""

from collections.abc import Iterable

# Kafka's own levels below WARN say nothing that a failed start needs.
_TIME = "%d{yyyy-MM-dd'T'HH:mm:ss.SSS}{UTC}Z"
_LOG4J = """\
rootLogger.level=WARN
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern={time} broker {broker_id} %-5p %c{{1}}: %m%n
"""
_SHOWN_LINES = 5
_SHOWN_CHARACTERS = 300
_FAULT_MARKS = (" ERROR ", " FATAL ", "Exception", "Error:", "Error occurred")
_PORT_CLASH_MARKS = ("java.net.BindException", "Address already in use")
_REDACTED = "***"


def log4j_text(broker_id: int) -> str:
    """Return the log4j2.properties of one broker."""
    return _LOG4J.format(broker_id=broker_id, time=_TIME)


def is_port_clash(log: str) -> bool:
    """Return whether a broker ended because another process took its port."""
    return any(mark in log for mark in _PORT_CLASH_MARKS)


def last_useful_lines(log: str, secrets: Iterable[str]) -> str:
    """Return the end of a log as one line, without stack frames and secrets.

    Lines that tell of a fault are preferred; without one the last lines are shown.
    """
    for secret in sorted(secrets, key=len, reverse=True):
        log = log.replace(secret, _REDACTED)
    lines = [line for line in log.splitlines() if line and not line[0].isspace()]
    faults = [line for line in lines if any(mark in line for mark in _FAULT_MARKS)]
    shown = (faults or lines)[-_SHOWN_LINES:]
    text = " | ".join(line[:_SHOWN_CHARACTERS] for line in shown)
    return text or "its log is empty"
