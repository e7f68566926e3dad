"""A job from its start to its end, whatever ends it."""

import logging
from collections.abc import Callable
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.delta_tables.locations import qualify_path
from pipelines.errors import LostRecords, PipelineError
from pipelines.settings.records import Settings
from pipelines.settings.secret_references import SecretReader
from pipelines.settings.stream_job_settings import StreamJobSettings

from .job_stops import JobPlaces, explain_stop
from .loss_sentences import tell_last_commit
from .query_progress import read_query_progress
from .run_stream import JobRun, check_records
from .start_records import Ledger

_logger = logging.getLogger(__name__)
StartJob = Callable[[JobRun], StreamingQuery]


def run_to_end(
    spark: SparkSession,
    settings: Settings,
    secrets: SecretReader,
    ledger: Ledger,
    start: StartJob,
    *,
    accepts_data_loss: bool = False,
    job_run: JobRun | None = None,
) -> None:
    """Start a job, and wait until its query ends.

    Args:
        secrets: Reads the secrets of the Kafka connection.
        ledger: Of the job.
        start: Starts its query, for this run.
        accepts_data_loss: Whether to go on behind records that Kafka no longer has.
        job_run: What its caller holds of the run, in place of that.
    Raises: PipelineError, with one sentence, for each end that is known; what Spark
        raises for any other.
    """
    job_run = job_run or JobRun(accepts_data_loss=accepts_data_loss)
    # What interrupts a call to the JVM ends this process: no other call may follow, and
    # the claim ends with it.
    try:
        job_run.query = start(job_run)
        job_run.query.awaitTermination()
    except PipelineError:
        _release(spark, job_run)
        raise
    except Exception as error:
        ended_by = job_run.failure or error
        told = _explain(spark, settings, secrets, ledger, ended_by) or ended_by
        _release(spark, job_run)
        if told is error:
            raise
        raise told from error
    _release(spark, job_run)


def _release(spark: SparkSession, job_run: JobRun) -> None:
    with suppress(Py4JError, OSError):  # of a JVM that is gone
        if job_run.listener is not None:
            spark.streams.removeListener(job_run.listener)
        if job_run.claim is not None:
            job_run.claim.release()


def _explain(
    spark: SparkSession,
    settings: Settings,
    secrets: SecretReader,
    ledger: Ledger,
    error: Exception,
) -> PipelineError | None:
    """Return what to tell of the end of a query; None where that is unknown.

    What ended the job may as well end these looks at files, tables and Kafka, or the
    JVM is gone and with it whom to ask: then what is known already is told.
    """
    told: PipelineError | None = None
    try:
        places = _find_places(spark, settings, ledger)
        told = explain_stop(spark, error, places)
        if isinstance(told, LostRecords):
            check_records(spark, settings, secrets, ledger)
    except PipelineError as now:
        return now
    except Exception:
        _logger.debug("the end of the job is not explained", exc_info=True)
    return told


def _find_places(spark: SparkSession, settings: Settings, ledger: Ledger) -> JobPlaces:
    job: StreamJobSettings = getattr(settings, ledger.job_name)
    location = qualify_path(spark, job.checkpoint_location)
    topic: str = getattr(settings.topics, ledger.topic_setting.partition(".")[2])
    return JobPlaces(
        topic=topic,
        servers=settings.kafka.bootstrap_servers,
        tables=settings.tables.catalog_schema or settings.tables.root_path,
        checkpoint_location=location,
        last_commit=tell_last_commit(read_query_progress(spark, location, topic)),
    )
