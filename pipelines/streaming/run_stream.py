"""A streaming job, from what it states to its query: read where its tables end."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Lock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.delta_tables import transactions
from pipelines.delta_tables.batch_files import BatchCounts
from pipelines.delta_tables.locations import has_table, identify_table, qualify_path
from pipelines.delta_tables.loss_rows import write_loss_rows
from pipelines.delta_tables.setup import ensure_tables
from pipelines.delta_tables.writers import TableWriter, open_writer
from pipelines.errors import LostRecords, MissingTopic, UncreatedTopic
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from pipelines.settings.stream_job_settings import StreamJobSettings
from pipelines.tables.contract import TableContract

from . import batch_slices
from .batch_slices import AtOnce, ReadRanges, SlicedBatches
from .checkpoint_files import has_planned_batches
from .logins import read_source_options
from .loss_sentences import list_losses
from .offsets import Offsets
from .positions import TopicBounds, list_own_configs, read_topic_bounds, read_topic_id
from .progress import BatchListener, ProgressObserver, log_batch
from .sources import Gathering, read_kafka, read_kafka_ranges
from .start_records import (
    ACCEPT_OPTION,
    EARLIEST_OFFSET,
    JobStart,
    Ledger,
    find_topic,
)
from .starts import decide_start
from .stored_offsets import keep_topic_id
from .table_claims import Claim, claim_tables

_CONFIGS_OF_BRIDGE = ("retention.ms", "max.message.bytes")
"""What `bridge.topics` creates topics with."""
_logger = logging.getLogger(__name__)


class RunIsEnding(Exception):
    """Raised in place of a micro-batch where none is to begin any more."""


@dataclass(slots=True, kw_only=True)
class JobRun:
    """One run of a job: what its command decides, and what has ended it."""

    accepts_data_loss: bool = False
    """Whether to go on behind records that Kafka no longer has."""
    failure: Exception | None = None
    """What the newest micro-batch has raised; Spark tells of it as a text only."""
    claim: Claim | None = None
    """What keeps others off the tables, until it is released."""
    query: StreamingQuery | None = None
    """What it has started; null where it never came so far."""
    listener: BatchListener | None = None
    """What tells of its micro-batches, until its end."""
    is_ending: bool = False
    """Whether no other micro-batch is to begin."""
    batch: Lock = field(default_factory=Lock)
    """Held as long as a micro-batch is being written."""
    is_warm: Event = field(default_factory=Event)
    """Set when its first micro-batch is written, which takes longest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """How a job is run this time."""

    secrets: SecretReader
    """Reads the secrets of the Kafka connection."""
    is_once: bool
    """Read what the topic holds now and end, instead of going on."""
    observer: transactions.Observer = transactions.log_progress
    """Told each point of each micro-batch, `before` and `after` each table and `before
    commit`, with the number of rows."""
    on_batch: ProgressObserver = log_batch
    """Told of each micro-batch that is written, and how far behind it is."""
    job_run: JobRun | None = None
    """What was decided for this run; it takes what ends it."""
    gathering: Gathering | None = None
    """How records are waited for that are few; null: they are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWriting:
    """What becomes of a micro-batch; the same one may come again, wherever it ended."""

    write_slice: Callable[[DataFrame, transactions.Transaction], BatchCounts]
    """Writes one, or a part of it whose size is bounded, the ledger last."""
    write_at_once: AtOnce | None = None
    """As SlicedBatches takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What a streaming job reads, and who writes it."""

    ledger: Ledger
    contracts: Sequence[TableContract]
    """Tables that are there before anything is read."""
    rows_name: str
    """What its log calls the rows that it writes."""
    max_value_bytes: int
    """Largest value that is read; of a larger one only its place is kept."""
    make_writing: "Callable[[JobRecords], BatchWriting]"
    is_transactional: bool = False
    """Whether its topic is written in transactions, of which aborted ones are none."""
    slice_bytes: int | None = None
    """Of the records of a slice; null: what suits a job whose workers do all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecords:
    """What a job reads, and where it began."""

    records: DataFrame
    """A streaming DataFrame: columns of Spark's Kafka source."""
    tables: TableWriter
    start: JobStart
    checkpoint_location: str
    """With its file system."""
    read_ranges: ReadRanges
    """Reads a part of the topic again."""
    options: Mapping[str, str] = field(repr=False)
    """Of the Kafka connection; they hold secrets."""
    job_run: JobRun

    def guard(self, write_batch: transactions.WriteBatch) -> transactions.WriteBatch:
        """Return a writer that begins no micro-batch upon other tables or topics."""

        def write(records: DataFrame, batch_id: int) -> None:
            session = records.sparkSession
            with self.job_run.batch:
                if self.job_run.is_ending:
                    raise RunIsEnding
                try:
                    if self.job_run.claim is not None:
                        self.job_run.claim.check()
                    self.tables.check_are_there(session)
                    self._check_topic(session)
                    write_batch(records, batch_id)
                except Exception as error:
                    self.job_run.failure = error
                    raise
                finally:
                    self.job_run.is_warm.set()

        return write

    def _check_topic(self, session: SparkSession) -> None:
        """Refuse records of a topic that was recreated while the job was running.

        Where it has more records than the former one, Spark reads on in the midst.
        """
        known = self.start.topic_id
        now = read_topic_id(session, self.options, self.start.topic) if known else None
        if now is not None and now != known:
            raise LostRecords(f"topic {self.start.topic} was deleted and recreated")


def run_stream(
    spark: SparkSession, settings: Settings, spec: JobSpec, context: RunContext
) -> StreamingQuery:
    """Start a job.

    Args:
        context: Who gives a job_run with it releases its claim.
    Raises: MissingService, TablesInUse, IncompatibleTable, UnsafeStart, InvalidSetting,
        UnresolvedSecret; nothing has been read then.
    """
    name = spec.ledger.job_name
    opened = _open_records(spark, settings, spec, context)
    listener = BatchListener(name, context.on_batch, rows_name=spec.rows_name)
    spark.streams.addListener(listener)
    opened.job_run.listener = listener
    writing = spec.make_writing(opened)
    batches = SlicedBatches(
        read_ranges=opened.read_ranges,
        write_slice=writing.write_slice,
        note_counts=listener.note_counts,
        observer=context.observer,
        checkpoint_location=opened.checkpoint_location,
        max_value_bytes=spec.max_value_bytes,
        write_at_once=writing.write_at_once,
        slice_bytes=spec.slice_bytes or batch_slices.SLICE_BYTES,
    )
    job: StreamJobSettings = getattr(settings, name)
    return transactions.start_batches(
        opened.records,
        opened.guard(batches.write),
        query_name=name,
        checkpoint_location=opened.checkpoint_location,
        trigger_interval_ms=None if context.is_once else job.trigger_interval_ms,
    )


def _open_records(
    spark: SparkSession, settings: Settings, spec: JobSpec, context: RunContext
) -> JobRecords:
    """Bring the tables of a job up to date and open its topic."""
    ledger, contracts, job_run = spec.ledger, spec.contracts, context.job_run
    job: StreamJobSettings = getattr(settings, ledger.job_name)
    topic = find_topic(settings, ledger)
    options = read_source_options(spark, settings.kafka, context.secrets)
    try:
        bounds = read_topic_bounds(
            spark, options, topic, topic_setting=ledger.topic_setting
        )
    except MissingTopic as error:
        if has_table(spark, identify_table(spark, settings.tables, ledger.contract)):
            raise
        raise UncreatedTopic(str(error)) from None
    checkpoint_location = qualify_path(spark, job.checkpoint_location)
    is_claimed = job_run is not None
    run = job_run or JobRun()

    def claim() -> None:
        """Take the tables and the checkpoint location as it is now."""
        if not is_claimed:
            return
        if run.claim is not None:
            run.claim.release()
        run.claim = claim_tables(
            spark, settings.tables, ledger.job_name, checkpoint_location
        )

    claim()
    _logger.info("%s: preparing %d tables", ledger.job_name, len(contracts))
    ensure_tables(spark, settings.tables, contracts)
    start = _decide(
        spark,
        settings,
        options,
        ledger,
        bounds=bounds,
        accepts_data_loss=run.accepts_data_loss,
        on_moved=claim,
    )
    _tell_losses(spark, settings, ledger, start)
    keep_topic_id(spark, settings.tables, ledger, topic, start.topic_id)
    records = read_kafka(
        spark,
        options,
        topic=topic,
        starting_offsets=start.starting_offsets_json,
        max_offsets_per_trigger=job.max_offsets_per_trigger,
        is_transactional=spec.is_transactional,
        gathering=None if context.is_once else context.gathering,
    )
    _logger.info(
        "reads %s at %s from %s; writes to %s",
        topic,
        settings.kafka.bootstrap_servers,
        f"where {checkpoint_location} ended"
        if has_planned_batches(spark, checkpoint_location)
        else describe_offsets(start.starting_offsets),
        settings.tables.catalog_schema or settings.tables.root_path,
    )
    return JobRecords(
        records=records,
        tables=open_writer(spark, settings.tables, contracts, context.observer),
        start=start,
        checkpoint_location=checkpoint_location,
        read_ranges=lambda session, ranges: read_kafka_ranges(
            session,
            options,
            topic=topic,
            ranges=ranges,
            is_transactional=spec.is_transactional,
        ),
        options=options,
        job_run=run,
    )


def describe_offsets(offsets: Offsets) -> str:
    """Say in words where the partitions of a topic are read from."""
    if all(offset == EARLIEST_OFFSET for offset in offsets.values()):
        return "its oldest records"
    return "offsets (partition: first) " + ", ".join(
        f"{partition}: {'oldest' if offset == EARLIEST_OFFSET else offset}"
        for partition, offset in sorted(offsets.items())
    )


def check_records(
    spark: SparkSession, settings: Settings, secrets: SecretReader, ledger: Ledger
) -> None:
    """Look whether a job that was started before can go on.

    Raises: MissingService, UnsafeStart where it cannot.
    """
    options = read_source_options(spark, settings.kafka, secrets)
    topic = find_topic(settings, ledger)
    bounds = read_topic_bounds(
        spark, options, topic, topic_setting=ledger.topic_setting
    )
    _decide(spark, settings, options, ledger, bounds=bounds, accepts_data_loss=False)


def _decide(
    spark: SparkSession,
    settings: Settings,
    options: Mapping[str, str],
    ledger: Ledger,
    *,
    bounds: TopicBounds,
    accepts_data_loss: bool,
    on_moved: Callable[[], None] = lambda: None,
) -> JobStart:
    job: StreamJobSettings = getattr(settings, ledger.job_name)
    topic = find_topic(settings, ledger)
    return decide_start(
        spark,
        settings.tables,
        ledger,
        topic,
        bounds,
        checkpoint_location=qualify_path(spark, job.checkpoint_location),
        starting_offsets=job.starting_offsets,
        accepts_data_loss=accepts_data_loss,
        tell_topic=lambda: _tell_configs(spark, options, topic),
        on_moved=on_moved,
    )


def _tell_losses(
    spark: SparkSession, settings: Settings, ledger: Ledger, start: JobStart
) -> None:
    """Write down what is left out, once, before anything is read behind it."""
    if start.losses_id is None:
        return
    rows = [
        {
            "topic": start.topic,
            "partition": loss.partition,
            "offset": loss.marked_offset,
            "source_job": ledger.job_name,
            "reason": loss.reason,
            "detail": f"not read: {loss.as_text()}",
        }
        for loss in start.losses
    ]
    name = f"{ledger.job_name}/losses/{start.losses_id}"
    if write_loss_rows(spark, settings.tables, rows, transaction=name):
        _logger.warning(
            "%s: topic %s is read without %s",
            ACCEPT_OPTION,
            start.topic,
            list_losses(start.losses),
        )


def _tell_configs(spark: SparkSession, options: Mapping[str, str], topic: str) -> str:
    """Say what a topic lacks that the bridge would have made it with."""
    own = list_own_configs(spark, options, topic)
    lacking = [] if own is None else [c for c in _CONFIGS_OF_BRIDGE if c not in own]
    if not lacking:
        return ""
    return (
        f", without {' and '.join(lacking)} of its own, which the bridge sets: the "
        f"broker made it by itself, or another program"
    )
