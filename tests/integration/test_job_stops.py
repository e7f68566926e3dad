"""A job that cannot go on says in one sentence why, and which command goes on."""

import platform
import shutil
from dataclasses import replace
from functools import partial

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from delta.tables import DeltaTable

from pipelines.errors import (
    IncompatibleTable,
    LostRecords,
    MissingTable,
    TablesInUse,
    UnsafeStart,
)
from pipelines.jobs.telemetry import job
from pipelines.settings.secret_references import SecretReader
from pipelines.streaming import run_stream
from pipelines.streaming.job_runs import run_to_end
from pipelines.streaming.run_stream import RunContext
from pipelines.tables.telemetry import CLIENT_PUSHES, QUARANTINE
from tests.support.jobs.job_support import (
    PushProducer,
    create_topic,
    find_differences,
    make_settings,
    read_rows,
)

PARTITIONS = 3
NO_SECRETS = SecretReader(environ={})
NEWER_PROTOCOL = (
    '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,'
    '"readerFeatures":["ofTomorrow"],"writerFeatures":["ofTomorrow"]}}\n'
)


def ignore(_point, _rows):
    """Observe nothing."""


def run_job(spark, settings, observer=ignore, *, accepts=False, is_once=True):
    """Run the job as its command does, over what its topic holds."""
    context = partial(
        RunContext, secrets=NO_SECRETS, is_once=is_once, observer=observer
    )
    run_to_end(
        spark,
        settings,
        NO_SECRETS,
        job.LEDGER,
        lambda job_run: job.run(spark, settings, context(job_run=job_run)),
        accepts_data_loss=accepts,
    )


class Topic:
    """A topic of one test, which comes and goes."""

    def __init__(self, servers, name):
        self.name = name
        self.servers = servers
        self._admin = AdminClient({"bootstrap.servers": servers})

    def make(self, partitions=PARTITIONS):
        create_topic(self.servers, self.name, partitions)
        return PushProducer(self.servers, self.name)

    def make_anew(self, wait_until, partitions=PARTITIONS):
        self._admin.delete_topics([self.name])[self.name].result()
        wait_until(lambda: self.name not in self._admin.list_topics(timeout=60).topics)
        return self.make(partitions)

    def find_ends(self):
        wanted = {
            TopicPartition(self.name, number): OffsetSpec.latest()
            for number in range(PARTITIONS)
        }
        found = self._admin.list_offsets(wanted)
        return {place.partition: f.result().offset for place, f in found.items()}

    def expire(self, ends):
        """Do what retention does, up to some offsets."""
        places = [TopicPartition(self.name, p, end) for p, end in ends.items()]
        for future in self._admin.delete_records(places).values():
            future.result()


@pytest.fixture
def topic(kafka, request):
    name = request.node.name.replace("[", "-").strip("]")
    return Topic(kafka.bootstrap_servers, name)


@pytest.fixture
def settings(kafka, topic, tmp_path):
    return make_settings(kafka.bootstrap_servers, topic.name, tmp_path)


def read_losses(spark, settings):
    columns = ("reason", "partition", "offset", "detail")
    rows = read_rows(spark, settings, QUARANTINE, *columns)
    return [row for row in rows if row[0] in {"data_loss", "topic_made_anew"}]


def forget_losses(spark, settings):
    """Take the rows of losses away, to compare all others with what was sent."""
    folder = f"{settings.tables.root_path}/{QUARANTINE.name}"
    losses = "reason IN ('data_loss', 'topic_made_anew')"
    DeltaTable.forPath(spark, folder).delete(losses)


def merge_expected(first, second):
    """Expect what two topics of one name have brought, one after the other."""
    second.pushes += first.pushes
    second.points += first.points
    second.quarantined += first.quarantined
    for instance, pushes in first.instances.items():
        second.instances.setdefault(instance, []).extend(pushes)
    return second


class EndedHereError(Exception):
    """Raised where a kill ends the job."""


def end_here(*_, **__):
    """Stand for a kill."""
    raise EndedHereError


@pytest.mark.long
def test_expired_records_are_named_and_left_out_by_decision_only(
    spark, topic, settings, monkeypatch
):
    producer = topic.make()
    producer.send(60)
    run_job(spark, settings)
    read = topic.find_ends()
    producer.send(40)
    gone = {partition: offset + 2 for partition, offset in read.items()}
    topic.expire(gone)
    ranges = [f"partition {p} offsets {o} to {o + 1}" for p, o in read.items()]
    with pytest.raises(LostRecords) as stopped:
        run_job(spark, settings)
    sentence = str(stopped.value)
    assert sentence.startswith(f"retention of topic {topic.name} removed records")
    assert f"not read are {', '.join(ranges)} (6 offsets)" in sentence
    assert "last committed a micro-batch at 20" in sentence
    assert "The same command with --accept-data-loss goes on behind them" in sentence
    assert read_losses(spark, settings) == []
    with monkeypatch.context() as killed:
        killed.setattr(run_stream, "write_loss_rows", end_here)
        with pytest.raises(EndedHereError):
            run_job(spark, settings, accepts=True)
    assert read_losses(spark, settings) == []
    # What was decided before a kill stands: the rows come before any record.
    run_job(spark, settings)
    losses = [
        ("data_loss", p, o + 1, f"not read: {text}")
        for (p, o), text in zip(read.items(), ranges, strict=True)
    ]
    assert read_losses(spark, settings) == losses
    producer.send(20)
    run_job(spark, settings)
    run_job(spark, settings, accepts=True)
    assert read_losses(spark, settings) == losses
    forget_losses(spark, settings)
    is_left = {(p, o) for p, end in gone.items() for o in range(read[p], end)}
    rows = read_rows(spark, settings, CLIENT_PUSHES, "partition", "offset")
    assert rows == sorted(
        (p, o) for _, p, o, _ in producer.expected.pushes if (p, o) not in is_left
    )


@pytest.mark.long
def test_a_topic_made_anew_is_told_by_its_id_and_read_from_its_beginning(
    spark, topic, settings, wait_until
):
    """It has a partition less, and so many records that every other offset is there."""
    former = topic.make()
    former.send(30)
    run_job(spark, settings)
    ends = topic.find_ends()
    producer = topic.make_anew(wait_until, PARTITIONS - 1)
    producer.send(200)
    with pytest.raises(LostRecords) as stopped:
        run_job(spark, settings)
    sentence = str(stopped.value)
    assert sentence.startswith(f"topic {topic.name} was deleted and recreated (its id")
    assert f"partition 0 from offset {ends[0]} on" in sentence
    assert "--accept-data-loss goes on at the beginning of the new topic" in sentence
    run_job(spark, settings, accepts=True)
    assert read_losses(spark, settings) == [
        (
            "topic_made_anew",
            partition,
            end - 1,
            f"not read: partition {partition} from offset {end} on",
        )
        for partition, end in ends.items()
    ]
    producer.send(30)
    run_job(spark, settings)
    forget_losses(spark, settings)
    expected = merge_expected(former.expected, producer.expected)
    assert find_differences(spark, settings, expected) == {}


@pytest.mark.long
def test_a_topic_made_anew_below_a_running_job_stops_it(
    spark, topic, settings, wait_until
):
    topic.make().send(30)

    batches = iter([1, 2])

    def make_anew(point, _rows):
        if point == "before commit" and next(batches) == 1:
            topic.make_anew(wait_until).send(200)

    with pytest.raises(LostRecords, match="was deleted and recreated"):
        run_job(spark, settings, make_anew, is_once=False)
    former = read_rows(spark, settings, CLIENT_PUSHES, "push_id")
    assert len(former) <= 30


@pytest.mark.long
def test_a_table_deleted_below_a_job_gets_no_file(spark, topic, settings, tmp_path):
    producer = topic.make()
    producer.send(30)
    run_job(spark, settings)
    producer.send(30)
    table = tmp_path / "tables" / QUARANTINE.name

    def delete(point, _rows):
        if point == "before client_metrics":
            shutil.rmtree(table)

    with pytest.raises(MissingTable, match="The same command makes the table anew"):
        run_job(spark, settings, delete)
    assert not table.exists()
    run_job(spark, settings)
    pushes = read_rows(spark, settings, CLIENT_PUSHES, "partition", "offset")
    assert pushes == sorted((p, o) for _, p, o, _ in producer.expected.pushes)


@pytest.mark.long
def test_tables_of_another_delta_are_named(spark, topic, settings, tmp_path):
    producer = topic.make()
    producer.send(30)
    run_job(spark, settings)
    producer.send(30)
    log = tmp_path / "tables" / CLIENT_PUSHES.name / "_delta_log"
    version = max(int(path.stem) for path in log.glob("*.json")) + 1
    newer = log / f"{version:020}.json"

    def upgrade(point, _rows):
        if point == "after client_metrics":
            newer.write_text(NEWER_PROTOCOL)

    for observer in (upgrade, ignore):
        with pytest.raises(IncompatibleTable, match="by another version of Delta"):
            run_job(spark, settings, observer)
    newer.unlink()


@pytest.mark.long
def test_a_new_checkpoint_location_leaves_out_by_decision_only(
    spark, topic, settings, tmp_path
):
    producer = topic.make()
    producer.send(60)
    run_job(spark, settings)
    read = topic.find_ends()
    producer.send(40)
    topic.expire({partition: offset + 1 for partition, offset in read.items()})
    fresh = replace(
        settings.client_telemetry_to_delta, checkpoint_location=f"{tmp_path}/fresh"
    )
    moved = replace(settings, client_telemetry_to_delta=fresh)
    with pytest.raises(UnsafeStart, match="add --accept-data-loss: quarantine then"):
        run_job(spark, moved)
    run_job(spark, moved, accepts=True)
    told = [(row[0], row[1]) for row in read_losses(spark, settings)]
    assert {reason for reason, _ in told} == {"data_loss"}
    forget_losses(spark, settings)
    rows = read_rows(spark, settings, CLIENT_PUSHES, "partition", "offset")
    assert rows == sorted(
        (p, o) for _, p, o, _ in producer.expected.pushes if o != read[p]
    )


@pytest.mark.long
def test_a_run_holds_its_tables_and_its_checkpoint(spark, topic, settings, tmp_path):
    topic.make().send(20)
    refused = []

    def run_another(point, _rows):
        if point != "before client_metrics":
            return
        for name in ("tables.root_path", f"{job.JOB_NAME}.checkpoint_location"):
            other = make_settings(
                topic.servers, topic.name, tmp_path, f"{name}={tmp_path}/other"
            )
            with pytest.raises(TablesInUse) as stopped:
                run_job(spark, other)
            refused.append(str(stopped.value))

    run_job(spark, settings, run_another)
    by_checkpoint, by_tables = refused
    pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    holder = f"in use by {job.JOB_NAME} on {platform.node()}, process {pid}, since 20"
    assert by_tables.startswith(f"the tables at {tmp_path}/tables are {holder}")
    assert by_checkpoint.startswith(
        f"the checkpoint at {tmp_path}/checkpoint is {holder}"
    )
    assert not (tmp_path / "other" / "client_pushes").exists()
    # Free again with the end of the run.
    run_job(spark, settings)
