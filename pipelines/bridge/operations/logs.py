"""The bridge's log: text or JSON lines, which no stranger can flood.

Strategy: one line a second for records that a peer can cause (they have a `reason`),
ten for others, none of which says the same again; what was held back follows as one
line with how many it stands for, with the next record that is written, which is after
a minute at the latest. Records are told apart by their text before values are put in,
so that there are few kinds. An exception is written as its type and the places in the
code, never as its text, which may hold what a peer has sent.
"""

import json
import logging
import re
import uuid
from collections.abc import Mapping
from typing import IO, Any

from kio.schema.errors import ErrorCode

from pipelines.bridge.core.client_identity import uuid_text
from pipelines.bridge.core.counters import BridgeCounters
from pipelines.bridge.core.handlers import Connection
from pipelines.errors import describe_exception
from pipelines.log_times import format_log_time

logger = logging.getLogger(__name__)

FIELDS = ("reason", "connection_id", "client_instance_id", "error_code", "repeated")
"""What a record may say beside its text, by `extra`; names and numbers only."""
CONSOLE, JSON = "console", "json"
CAUSED_PER_S = 1
OWN_PER_S = 10
_MAX_KINDS = 1_000
_REASON = "reason"
_COUNTERS = "counters"
# librdkafka tells how long each of its attempts took, and how many it did not tell of.
_VARYING = re.compile(r"\d+(?=ms\b| identical )")
_EXPECTED = frozenset(
    {ErrorCode.throttling_quota_exceeded, ErrorCode.unknown_subscription_id}
)
"""Refusals that belong to the protocol's everyday."""

_Kind = tuple[str, object, str]


def make_handler(log_format: str, stream: IO[str]) -> logging.Handler:
    """Return the handler that writes a bridge's log."""
    handler = FloodProofHandler(stream)
    handler.setFormatter(_FORMATTERS[log_format]())
    return handler


def log_refused(
    connection: Connection, client_instance_id: uuid.UUID | None, error: ErrorCode
) -> None:
    """Say which request the rules did not accept."""
    level = logging.DEBUG if error in _EXPECTED else logging.INFO
    if not logger.isEnabledFor(level):
        return
    known = None if client_instance_id is None else uuid_text(client_instance_id)
    fields = {
        _REASON: error.name,
        "connection_id": connection.connection_id,
        "client_instance_id": known,
        "error_code": error.value,
    }
    logger.log(level, "a telemetry request was refused", extra=fields)


def log_counters(text: str, counters: BridgeCounters) -> None:
    """Say what was counted so far: in text what is not 0, in JSON all of it."""
    extra = {_COUNTERS: counters.numbers()}
    logger.info("%s: %s", text, counters.as_text(), extra=extra)


def log_unexpected(context: Mapping[str, Any]) -> None:
    """Say where the event loop met an exception that nobody expected.

    Its own text would show the arguments of the failed call, which may be payloads.
    """
    error = context.get("exception")
    logger.error(
        "unexpected error: %s",
        "no exception" if error is None else describe_exception(error),
    )


class _Second:
    """What was written of one kind of record in one second."""

    __slots__ = ("held_back", "last", "second", "texts", "written")

    def __init__(self, second: int) -> None:
        self.second = second
        self.written = 0
        self.held_back = 0
        self.last: logging.LogRecord | None = None
        self.texts: set[str] = set()
        """Those written, of a kind that no peer causes."""

    def takes(self, record: logging.LogRecord, *, is_caused: bool) -> bool:
        """Say whether a record is written, and count it."""
        if is_caused:
            is_taken = self.written < CAUSED_PER_S
        else:
            text = _VARYING.sub("", f"{record.msg} {record.args}")
            is_taken = self.written < OWN_PER_S and text not in self.texts
            self.texts.add(text)
        self.written += is_taken
        return is_taken


class FloodProofHandler(logging.StreamHandler[IO[str]]):
    """Writes some records of each kind in a second, and then how many more there were.

    The time is that of the records.
    """

    def __init__(self, stream: IO[str]) -> None:
        super().__init__(stream)
        self._kinds: dict[_Kind, _Second] = {}
        self._newest_second = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or hold it back."""
        now = int(record.created)
        if now != self._newest_second:
            self._newest_second = now
            self._write_held_back(before=now)
        reason = getattr(record, _REASON, "")
        kind = record.name, record.msg, str(reason)
        seen = self._kinds.get(kind)
        if seen is None or seen.second != now:
            if len(self._kinds) >= _MAX_KINDS:
                self._kinds.clear()
            seen = self._kinds[kind] = _Second(now)
        if seen.takes(record, is_caused=bool(reason)):
            super().emit(record)
        else:
            seen.held_back += 1
            seen.last = record

    def close(self) -> None:
        """Write what was held back, and end."""
        self.acquire()
        try:
            self._write_held_back(before=None)
        finally:
            self.release()
        super().close()

    def _write_held_back(self, *, before: int | None) -> None:
        for seen in self._kinds.values():
            is_over = before is None or seen.second < before
            if seen.last is not None and is_over:
                last, seen.last = seen.last, None
                last.repeated = seen.held_back
                super().emit(last)


class ConsoleFormatter(logging.Formatter):
    """One line of text a record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; control characters are escaped, so that it stays one."""
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        line = (
            f"{format_log_time(record.created)} {record.levelname} {record.name}: "
            f"{_message(record)}{fields}"
        )
        return "".join(
            one if one.isprintable() else one.encode("unicode_escape").decode()
            for one in line
        )


class JsonFormatter(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object; fields that do not apply are left out."""
        counters = getattr(record, _COUNTERS, None)
        return json.dumps(
            {
                "time": format_log_time(record.created),
                "level": record.levelname,
                "logger": record.name,
                "message": _message(record),
                **_fields(record),
                **({} if counters is None else {_COUNTERS: counters}),
            }
        )


_FORMATTERS: Mapping[str, type[logging.Formatter]] = {
    CONSOLE: ConsoleFormatter,
    JSON: JsonFormatter,
}


def _message(record: logging.LogRecord) -> str:
    text = record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    return text if error is None else f"{text}: {describe_exception(error)}"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    values = {name: getattr(record, name, None) for name in FIELDS}
    return {name: value for name, value in values.items() if value is not None}
