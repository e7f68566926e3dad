"""From the telemetry topic to a receiver, at least once.

Strategy: one request at a time. Its offsets are committed after the receiver's yes;
until then partitions are paused, so that a dead receiver costs nothing but lag, and the
group is polled, so that it keeps us. Whatever changes in the group meanwhile ends the
batch, which is read again from what is committed.
"""

import logging
import threading
import time
from dataclasses import dataclass, field

from confluent_kafka import Message

from pipelines.errors import InvalidSetting
from pipelines.settings.kafka import publisher_config
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader

from .bodies import (
    Change,
    Selection,
    UnreadablePush,
    choose_points,
    leave_out_empty,
    make_labels,
    read_push,
)
from .group import PATIENCE_S, Group
from .pages import Watch, serve_pages
from .receiver import Receiver, pause_s
from .sums import Sums
from .targets import make_target

logger = logging.getLogger(__name__)
_INSTANCE = "client_instance_id"


@dataclass(frozen=True, slots=True)
class _Body:
    """What goes on of one record."""

    message: Message
    body: bytes
    points: int


@dataclass(slots=True)
class _Batch:
    """Records that are sent together."""

    changes: int
    """Of the group, when it was begun."""
    bodies: list[_Body] = field(default_factory=list)
    offsets: dict[int, int] = field(default_factory=dict)
    """Of each partition, the one behind the last record."""
    records: int = 0
    size_bytes: int = 0


class Forwarder:
    """Reads, sends and commits until it is stopped."""

    def __init__(self, settings: Settings, secrets: SecretReader) -> None:
        """Check what settings say; nothing is connected yet.

        Raises: InvalidSetting, UnresolvedSecret.
        """
        forward = settings.forward
        self._settings = settings
        self._selection = Selection(
            allow_metrics=forward.allow_metrics,
            drop_metrics=forward.drop_metrics,
            allow_labels=frozenset(forward.allow_labels),
            drop_labels=frozenset(forward.drop_labels),
        )
        self._target = make_target(forward)
        self._receiver = Receiver(forward, secrets, self._target)
        self._sums = self._open_sums()
        self._kafka = publisher_config(settings.kafka, secrets)
        self.watch = Watch(PATIENCE_S + forward.timeout_ms / 1000)

    def _open_sums(self) -> Sums | None:
        forward = self._settings.forward
        if not self._target.is_summed:
            return None
        if not self._selection.takes_label(_INSTANCE):
            raise InvalidSetting(
                f"forward.drop_labels, forward.allow_labels: take {_INSTANCE} off, and "
                "sums of several clients would be one series; take it off at the "
                "receiver, by an aggregation there"
            )
        return Sums(
            forward.state_location,
            topic=self._settings.topics.telemetry,
            group_id=forward.group_id,
            max_series=forward.max_series,
            idle_ms=forward.max_idle_ms,
        )

    def run(self, stop: threading.Event) -> None:
        """Forward until told to stop.

        Raises: MissingService, InvalidSetting.
        """
        forward = self._settings.forward
        group = Group(self._settings, self._kafka, self._sums, self.watch)
        pages = None
        try:
            if forward.http_port >= 0:
                pages = serve_pages(self.watch, forward.http_host, forward.http_port)
                logger.info("pages at port %d", pages.server_address[1])
            group.join(stop)
            logger.info(
                "Forwarding metrics: topic=%s group_id=%s receiver=%s protocol=%s",
                self._settings.topics.telemetry, forward.group_id,
                self._receiver.address, forward.protocol,
            )  # fmt: skip
            self.watch.is_ready = True
            while not stop.is_set():
                self._forward_batch(group, stop)
        finally:
            if pages is not None:
                pages.shutdown()
                pages.server_close()
            group.close()
            self._receiver.close()
            if self._sums is not None:
                self._sums.close()

    def _forward_batch(self, group: Group, stop: threading.Event) -> None:
        self.watch.turn()
        group.read()
        batch = _Batch(group.changes)
        # A batch ends early where its records take long, so that the group is polled.
        while (
            batch.size_bytes < self._settings.forward.batch_bytes
            and not (batch.offsets and group.is_poll_due)
            and (message := group.take()) is not None
        ):
            self._add(batch, message)
        if batch.offsets and (
            not batch.bodies or self._send(group, batch.bodies, batch, stop)
        ):
            self._commit(group, batch)
        elif self._sums is not None:
            self._sums.abandon()
        group.note_lag()

    def _add(self, batch: _Batch, message: Message) -> None:
        headers = _read_headers(message)
        partition, offset = message.partition() or 0, message.offset() or 0
        batch.offsets[partition] = offset + 1
        batch.records += 1
        limit = self._settings.client_telemetry_to_delta.max_decompressed_bytes
        try:
            push = read_push(message.value(), headers, limit)
            labels = make_labels(headers, self._selection)
        except UnreadablePush as fault:
            self.watch.skipped.inc()
            logger.warning(
                "a record was skipped: %s, partition %d, offset %d: %s",
                message.topic(), partition, offset, fault,
            )  # fmt: skip
            return
        # A large push takes seconds in each of these steps.
        self.watch.turn()
        change, left_out = self._sum_up(partition, headers)
        points = choose_points(
            push, self._selection, change, is_described=self._target.is_described
        )
        self.watch.turn()
        if self._sums is not None and self._sums.left_out > left_out:
            leave_out_empty(push.data)
            self.watch.left_out.inc(self._sums.left_out - left_out)
        written = self._target.write(push.data, labels)
        self.watch.left_out.inc(written.left_out)
        self.watch.turn()
        if written.body:
            points -= written.left_out
            batch.bodies.append(_Body(message, written.body, points))
            batch.size_bytes += len(written.body)

    def _sum_up(
        self, partition: int, headers: dict[str, bytes]
    ) -> tuple[Change | None, int]:
        """Return what sums up the deltas of a push, and what was left out before."""
        sums = self._sums
        if sums is None:
            return None, 0
        instance = headers[_INSTANCE]
        series = sums.open_instance(partition, instance)
        if headers.get("terminating") == b"true":
            sums.end_instance(partition, instance)
        return lambda resource, metric: sums.add(
            series, resource, metric
        ), sums.left_out

    def _send(
        self,
        group: Group,
        part: list[_Body],
        batch: _Batch,
        stop: threading.Event,
    ) -> bool:
        """Send until the receiver has said yes; False where the batch is given up."""
        body = b"".join([one.body for one in part])
        points = sum(one.points for one in part)
        attempt = 0
        while True:
            answer = self._receiver.post(body)
            self.watch.is_ready = answer.is_taken or answer.is_refused
            if answer.is_taken:
                self.watch.taken_at.set(time.time())
                self.watch.rejected.inc(answer.rejected)
                self.watch.points.inc(max(points - answer.rejected, 0))
                if answer.rejected:
                    logger.warning("the receiver rejected %d points", answer.rejected)
                return True
            self.watch.attempts.inc()
            if answer.is_refused:
                return self._send_halves(group, part, batch, stop, answer.status)
            logger.warning(
                "the receiver does not take metrics (%s)", answer.status or "no answer"
            )
            if not group.stay(pause_s(attempt, answer), batch.changes, stop):
                return False
            attempt += 1

    def _send_halves(
        self,
        group: Group,
        part: list[_Body],
        batch: _Batch,
        stop: threading.Event,
        status: int,
    ) -> bool:
        """Find out which records of a request are refused, and leave these out."""
        if len(part) > 1:
            middle = len(part) // 2
            return all(
                group.stay(0, batch.changes, stop)
                and self._send(group, half, batch, stop)
                for half in (part[:middle], part[middle:])
            )
        refused = part[0]
        self.watch.rejected.inc(refused.points)
        logger.warning(
            "the receiver refused (%d) %s, partition %s, offset %s", status,
            refused.message.topic(), refused.message.partition(),
            refused.message.offset(),
        )  # fmt: skip
        return True

    def _commit(self, group: Group, batch: _Batch) -> None:
        sums = self._sums
        if sums is not None:
            before = sums.forgotten
            sums.commit(batch.offsets, int(time.time() * 1000))
            self.watch.forgotten.inc(sums.forgotten - before)
            self.watch.series.set(sums.series)
        group.commit(batch.offsets)
        self.watch.records.inc(batch.records)


def _read_headers(message: Message) -> dict[str, bytes]:
    """Return headers by name; of several of one name the last, as everywhere."""
    # Typed as a dict, too, which librdkafka never gives.
    return {
        name: value
        for name, value in list(message.headers() or ())
        if isinstance(name, str) and isinstance(value, bytes)
    }
