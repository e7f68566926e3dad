# Longer than 400 lines: each stop of one job is a few lines here.
"""Bring the telemetry job to each of its stops, and on again as it says.

Usage: python tests/long/job_stops.py [--only SITUATION …] [--folder FOLDER]
                                                 [-- MORE WORDS FOR THE JOB]

A real Apache Kafka and the job as shipped. Printed is what the command says at each
stop, which has to be one sentence, and how the command ends that the sentence names;
then all tables are compared with what was sent, key by key. It fails where a stop is
told otherwise, where the way on leads nowhere, and where a row is lost or there twice.
The full disk is a file system in memory, which takes the rights of root to mount.
"""

import argparse
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from confluent_kafka import Producer, TopicPartition  # noqa: E402 - path
from confluent_kafka.admin import AdminClient, OffsetSpec  # noqa: E402 - path

from pipelines.embedded import EmbeddedKafka  # noqa: E402 - path
from tests.integration.test_job_stops import NEWER_PROTOCOL  # noqa: E402 - path
from tests.long.job_stop_scenes import (  # noqa: E402 - path
    JOB,
    PARTITIONS,
    Fault,
    Row,
    Scene,
    list_files,
)
from tests.support.jobs.job_support import PushProducer  # noqa: E402 - path
from tests.support.kafka.java_home import find_java  # noqa: E402 - path
from tests.support.kafka.topics import find_partitions, wait_for  # noqa: E402 - path

ACCEPT = "--accept-data-loss"
SAME = "same command"
INTERRUPTED = 130
TERMINATED = 143
WRONG_SETTING = 2
BROKER = 1
SMALL_DISK, LARGE_DISK = "6m", "256m"
# The broker makes a topic of so many partitions by itself.
OWN_PARTITIONS = PARTITIONS - 1


# ------------------------------------------------------------------ topics


def open_admin(scene):
    return AdminClient({"bootstrap.servers": scene.kafka.bootstrap_servers})


def find_ends(scene):
    """Return {partition: the offset behind its last record}."""
    admin = open_admin(scene)
    wanted = {
        TopicPartition(scene.topic, number): OffsetSpec.latest()
        for number in find_partitions(admin, scene.topic)
    }
    found = admin.list_offsets(wanted)
    return {place.partition: f.result().offset for place, f in found.items()}


def delete_topic(scene):
    admin = open_admin(scene)
    admin.delete_topics([scene.topic])[scene.topic].result()
    wait_for(
        lambda: admin.list_topics(timeout=60).topics,
        lambda topics: scene.topic not in topics,
    )


def read_some_then_delete(scene):
    """Let the job read, send what it does not read, and delete the topic.

    Return the rows of quarantine that have to tell of it.
    """
    scene.make_topic()
    scene.producer.send(30)
    scene.run_well()
    read = find_ends(scene)
    scene.leave_topic()
    scene.producer.send(20)
    delete_topic(scene)
    return [
        ("topic_made_anew", p, end - 1, f"not read: partition {p} from offset {end} on")
        for p, end in read.items()
    ]


# ------------------------------------------------------------------ the situations


def stop_at_a_topic_made_anew(scene):
    losses = read_some_then_delete(scene)
    scene.make_topic()
    scene.producer.send(60)
    scene.check_stop(
        scene.run(),
        *(f"topic {scene.topic} was deleted and recreated (its id was", "3 partitions"),
        *("partition 0 from offset", "last committed a micro-batch at 20"),
        f"The same command with {ACCEPT} goes on at the beginning of the new topic",
    )
    scene.go_on(f"{SAME} {ACCEPT}", ACCEPT, warnings=1)
    scene.producer.send(20)
    scene.run_well()
    scene.check_tables(losses)


def stop_at_a_topic_made_by_the_broker(scene):
    losses = read_some_then_delete(scene)
    made_by_asking = Producer({"bootstrap.servers": scene.kafka.bootstrap_servers})
    find_partitions(made_by_asking, scene.topic)
    scene.producer = PushProducer(scene.kafka.bootstrap_servers, scene.topic)
    scene.producer.send(60)
    scene.check_stop(
        scene.run(),
        *("was deleted and recreated", f"{OWN_PARTITIONS} partitions"),
        "without retention.ms and max.message.bytes of its own, which the bridge sets",
        f"The same command with {ACCEPT} goes on at the beginning of the new topic",
    )
    scene.go_on(f"{SAME} {ACCEPT}", ACCEPT, warnings=1)
    scene.check_tables(losses)


def stop_at_retention(scene):
    scene.make_topic()
    scene.producer.send(60)
    scene.run_well()
    read = find_ends(scene)
    scene.producer.send(40)
    gone = {partition: end + 2 for partition, end in read.items()}
    places = [TopicPartition(scene.topic, p, end) for p, end in gone.items()]
    admin = open_admin(scene)  # its answers end with it
    for future in admin.delete_records(places).values():
        future.result()
    ranges = [f"partition {p} offsets {end} to {end + 1}" for p, end in read.items()]
    scene.check_stop(
        scene.run(),
        f"retention of topic {scene.topic} removed records that were not read",
        *(f"not read are {', '.join(ranges)} (6 offsets)", "micro-batch at 20"),
        f"The same command with {ACCEPT} goes on behind them",
    )
    scene.go_on(f"{SAME} {ACCEPT}", ACCEPT, warnings=1)
    scene.is_lost = lambda partition, offset: (
        read[partition] <= offset < gone[partition]
    )
    told = zip(gone.items(), ranges, strict=True)
    scene.check_tables(
        [("data_loss", p, end - 1, f"not read: {text}") for (p, end), text in told]
    )


def stop_at_the_checkpoint_of_another_topic(scene):
    scene.make_topic()
    scene.producer.send(20)
    scene.run_well()
    read = scene.topic
    scene.leave_topic()
    scene.suffix = "-other"
    scene.make_topic()
    scene.producer.send(20)
    scene.check_stop(
        scene.run(),
        *(f"holds the progress of topic {read}", f"topics.telemetry is {scene.topic}"),
        f"choose another folder with --set {JOB}.checkpoint_location=FOLDER",
    )
    scene.go_on(
        f"--set {JOB}.checkpoint_location=…", checkpoint=scene.folder / "another"
    )
    scene.check_tables()


def stop_at_a_deleted_table(scene):
    """Delete a table that Python workers write, and one that Spark does."""
    scene.make_topic()
    for name in ("client_metrics", "client_instances"):
        scene.producer.send(20)
        command = scene.start()
        command.wait_for(": batch ")
        had = {row[3] for row in scene.producer.expected.pushes}
        folder = scene.tables / name
        shutil.rmtree(folder)
        scene.producer.send(20)
        scene.check_stop(
            command.end(),
            *(f"table {name} at ", f"{folder} is gone", "committed a micro-batch at"),
            *("The same command makes the table anew, empty", "are lost"),
            what=name,
        )
        if folder.exists():
            raise Fault(f"{folder} holds {list_files(folder)}")
        scene.go_on(SAME)
        if name == "client_metrics":
            scene.check_tables(without_points_of=had)
            span = ("--from", "2000-01-01", "--to", "2100-01-01")
            scene.go_on(f"{SAME}, replay_pushes", *span, command="replay_pushes")
        scene.check_tables()


def stop_at_a_full_disk(scene):
    scene.make_topic()
    scene.producer.send(20)
    with small_disk(scene.tables):
        scene.run_well()
        filler = scene.tables / "filler"
        fill(filler)
        scene.producer.send(200)
        scene.check_stop(
            scene.run(),
            *(f"the disk of the tables at {scene.tables} is full", "Nothing is lost"),
            *("make room, and the same command goes on", "micro-batch at 20"),
        )
        make_larger(scene.tables)
        scene.go_on(SAME)
        # And below a job that runs.
        command = scene.start()
        command.wait_for(" reads ")
        fill(filler)
        scene.producer.send(200)
        scene.check_stop(
            command.end(),
            *(f"the disk of the tables at {scene.tables} is full", "Nothing is lost"),
            what="running",
        )
        filler.unlink()
        scene.go_on(SAME)
        scene.check_tables()


def stop_at_a_full_disk_of_the_checkpoint(scene):
    scene.make_topic()
    scene.producer.send(20)
    checkpoint = scene.folder / "checkpoint"
    with small_disk(checkpoint):
        scene.run_well()
        fill(checkpoint / "filler")
        scene.producer.send(20)
        scene.check_stop(
            scene.run(),
            *(f"the disk of the checkpoint at {checkpoint} is full", "Nothing is lost"),
        )
        (checkpoint / "filler").unlink()
        scene.go_on(SAME)
        scene.check_tables()


@contextmanager
def small_disk(folder):
    """Mount a small file system in memory."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        raise Fault("cannot be shown: to mount a file system takes the rights of root")
    options = ("-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder))
    subprocess.run([mount, *options], check=True)
    try:
        yield
    finally:
        subprocess.run([shutil.which("umount"), "-l", str(folder)], check=True)


def make_larger(folder):
    words = ("-o", f"remount,size={LARGE_DISK}", str(folder))
    subprocess.run([shutil.which("mount"), *words], check=True)


def fill(path):
    """Write a file until nothing more fits, to the last byte."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue


def stop_at_a_broker_that_is_gone(scene):
    scene.make_topic()
    scene.producer.send(20)
    command = scene.start()
    command.wait_for(": batch ")
    with broker_gone(scene):
        command.began = time.monotonic()
        scene.check_stop(
            command.end(),
            f"Kafka at {scene.kafka.bootstrap_servers} has not answered the job",
            *("Nothing is lost", "the same command goes on", "micro-batch at 20"),
            what="running",
        )
    scene.producer.send(20)
    scene.go_on(SAME)
    with broker_gone(scene):
        scene.check_stop(
            scene.run(),
            f"Kafka at {scene.kafka.bootstrap_servers} does not answer",
            *("nothing was read", "the same command goes on once it answers"),
            what="at the start",
        )
    scene.producer.send(20)
    scene.go_on(SAME)
    scene.check_tables()


@contextmanager
def broker_gone(scene):
    """End the broker as a power cut would, and start it again."""
    scene.leave_topic()
    # A producer would print of each attempt to reach it.
    scene.producer = None
    gc.collect()
    scene.kafka.kill(BROKER)
    try:
        yield
    finally:
        scene.kafka.restart(BROKER)
        scene.producer = PushProducer(scene.kafka.bootstrap_servers, scene.topic)


def stop_at_tables_of_another_delta(scene):
    scene.make_topic()
    scene.producer.send(20)
    scene.run_well()
    scene.producer.send(20)
    commit = next_commit(scene.tables / "client_pushes")
    commit.write_text(NEWER_PROTOCOL)
    scene.check_stop(
        scene.run(),
        f"the table at {scene.tables / 'client_pushes'} was written by another version",
        *("micro-batch at 20", "Nothing is lost: the same command goes on with"),
    )
    commit.unlink()
    scene.go_on(SAME)
    scene.check_tables()


def next_commit(table):
    log = table / "_delta_log"
    newest = max(int(path.stem) for path in log.glob("*.json"))
    return log / f"{newest + 1:020}.json"


def stop_at_a_corrupt_log(scene):
    """Cut off the newest commit of a table, then put nonsense into its place."""
    scene.make_topic()
    scene.producer.send(20)
    scene.run_well()
    table = scene.tables / "client_pushes"
    for what in ("cut off", "nonsense"):
        scene.producer.send(20)
        newest = max((table / "_delta_log").glob("*.json"))
        # Hadoop's checksum of the file, without which nothing tells that it was cut.
        beside = newest.with_name(f".{newest.name}.crc")
        whole, checksum = newest.read_bytes(), beside.read_bytes()
        if what == "cut off":
            newest.write_bytes(whole[: len(whole) // 2])
        else:
            newest.write_bytes(b"\x00\xffno commit\n")
            beside.unlink()
        scene.check_stop(
            scene.run(),
            *(f"the log of the table at {table} is damaged", newest.name),
            *("micro-batch at 20", "the same command goes on"),
            what=what,
        )
        newest.write_bytes(whole)
        beside.write_bytes(checksum)
        scene.go_on(SAME)
        scene.check_tables()


def stop_beside_another_job(scene):
    scene.make_topic()
    scene.producer.send(20)
    holder = scene.start()
    holder.wait_for(": batch ")
    held = f"in use by {JOB} on {os.uname().nodename}, process {holder.process.pid}"
    checkpoint = scene.folder / "checkpoint"
    scene.check_stop(
        scene.run(checkpoint=scene.folder / "other"),
        *(f"the tables at {scene.tables} are {held}, since 20", "stop that one, or"),
        what="other checkpoint",
    )
    other = scene.folder / "other-tables"
    scene.check_stop(
        scene.run(tables=other),
        *(f"the checkpoint at {checkpoint} is {held}, since 20", "stop that one, or"),
        what="other tables",
    )
    if (other / "client_pushes").exists():
        raise Fault(f"{other} holds tables")
    scene.producer.send(20)
    holder.signal(signal.SIGKILL)
    scene.go_on(f"kill -9 of that one, {SAME}")
    scene.check_tables()


def stop_by_ctrl_c(scene):
    """From a terminal, where all processes hear it; and by `kill`, which one hears."""
    scene.make_topic()
    cases = {
        "as it starts": (signal.SIGINT, 3, INTERRUPTED),
        "running": (signal.SIGINT, ": batch ", INTERRUPTED),
        "kill": (signal.SIGTERM, ": batch ", TERMINATED),
    }
    for what, (number, moment, code) in cases.items():
        scene.producer.send(20)
        command = scene.start()
        if isinstance(moment, str):
            command.wait_for(moment)
        else:
            time.sleep(moment)
        scene.producer.send(20)
        command.signal(number, to_group=number == signal.SIGINT)
        check_quiet_end(scene, command.end(), code, what)
        scene.go_on(SAME)
        scene.check_tables()


def check_quiet_end(scene, ended, code, what):
    """Check an end that somebody has asked for: a line at most."""
    row = Row(situation=f"{scene.name}, {what}", code=ended.code, seconds=ended.seconds)
    scene.rows.append(row)
    print(f"\n{row.situation}: exit code {ended.code}, {ended.seconds:.0f} s")
    for line in ended.lines:
        print(f"  | {line}")
    sys.stdout.flush()
    if ended.code != code:
        raise Fault(f"exit code {ended.code}, not {code}")
    if len(ended.told) > 1:
        raise Fault(f"{len(ended.told)} lines: {ended.told}")


def stop_at_an_unknown_option(scene):
    scene.make_topic()
    scene.producer.send(20)
    refused = (
        ("--conf", "spark.executor.memory=abc"),
        ("--conf", "spark.driver.memory=abc"),
        ("--conf", "spark.executor.cores=none"),
        ("--master", "nonsense"),
    )
    for words in refused:
        name = words[1].partition("=")[0] if words[0] == "--conf" else words[0]
        ended = scene.run(*words)
        scene.check_stop(ended, name, code=WRONG_SETTING, what=" ".join(words))
    words = ("--conf", "spark.sql.shuffle.partitions=abc")
    scene.check_stop(scene.run(*words), words[1].partition("=")[0], what=words[1])
    scene.go_on("without it")
    scene.check_tables()


def stop_at_an_unwritable_page(scene):
    """A notebook's page, below a file and in the place of a folder."""
    scene.make_topic()
    (scene.folder / "file").write_text("")
    (scene.folder / "place").mkdir()
    notebook = str(min((ROOT / "notebooks").glob("*.py")))
    for output in ("file/page.html", "place"):
        path = scene.folder / output
        words = (notebook, "--output", str(path))
        ended = scene.start(*words, command="notebook").end()
        scene.check_stop(ended, str(path), code=WRONG_SETTING, what=output)


SITUATIONS = {
    "topic-anew": stop_at_a_topic_made_anew,
    "topic-anew-fewer-partitions": stop_at_a_topic_made_by_the_broker,
    "retention": stop_at_retention,
    "wrong-checkpoint": stop_at_the_checkpoint_of_another_topic,
    "table-deleted": stop_at_a_deleted_table,
    "full-disk": stop_at_a_full_disk,
    "full-disk-checkpoint": stop_at_a_full_disk_of_the_checkpoint,
    "broker-gone": stop_at_a_broker_that_is_gone,
    "other-delta": stop_at_tables_of_another_delta,
    "two-jobs": stop_beside_another_job,
    "corrupt-log": stop_at_a_corrupt_log,
    "ctrl-c": stop_by_ctrl_c,
    "unknown-option": stop_at_an_unknown_option,
    "notebook-output": stop_at_an_unwritable_page,
}


# ------------------------------------------------------------------ the run


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    # A shell starts what runs beside it with SIGINT ignored, and so would the job be.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rows, faults = [], []
    properties = {
        "auto.create.topics.enable": "true",
        "num.partitions": str(OWN_PARTITIONS),
    }
    place = {"dir": arguments.folder, "prefix": "stops-"}
    try:
        with (
            tempfile.TemporaryDirectory(**place) as folder,
            EmbeddedKafka(java=find_java(), broker_properties=properties) as kafka,
        ):
            for name in arguments.only:
                scene = Scene(
                    name=name,
                    kafka=kafka,
                    folder=Path(folder) / name,
                    more_words=arguments.words,
                )
                faults += run_one(scene, rows)
    finally:
        # Also of a run that is ended before its time.
        print_table(rows)
    for fault in faults:
        print("FAILED", fault)
    return 1 if faults else 0


def run_one(scene, rows):
    """Bring the job to the stops of one situation; return what was wrong."""
    name = scene.name
    print(f"\n== {name}", flush=True)
    scene.folder.mkdir()
    try:
        SITUATIONS[name](scene)
    except Fault as fault:
        print(f"FAILED {fault}", flush=True)
        if not scene.rows:
            scene.rows.append(Row(situation=name, code="-", seconds=0))
        scene.rows[-1].is_ok = False
        return [f"{name}: {fault}"]
    finally:
        scene.close()
        rows += scene.rows
    return []


def print_table(rows):
    width = max((len(row.situation) for row in rows), default=0)
    way_width = max((len(row.way_on) for row in rows), default=0)
    print(f"\n{'situation':{width}}  code  seconds  {'way on':{way_width}}  code  ok")
    for row in rows:
        print(
            f"{row.situation:{width}}  {row.code!s:>4}  {row.seconds:7.0f}  "
            f"{row.way_on:{way_width}}  {row.way_code!s:>4}  "
            f"{'yes' if row.is_ok else 'NO'}"
        )


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", choices=SITUATIONS, default=[*SITUATIONS], metavar="NAME"
    )
    parser.add_argument("--folder", type=Path, help="for all files (default: TMPDIR)")
    parser.add_argument("words", nargs="*", help="more words for the job, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
