"""import-metadata: copied files of a metadata log, or a registration, published."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.counted import counted
from pipelines.errors import InvalidSetting, NothingToDo

from .call import Call
from .options import CONFIG, ENV, SET, Command, option, whole_number

if TYPE_CHECKING:
    from pipelines.feed.imported_logs import LogImport
    from pipelines.feed.log_files import LogFiles
    from pipelines.feed.records import FeedRecord
    from pipelines.settings.records import Settings
    from udfs.cluster.published_records import PublishedRules

LATEST_VERSION = 6
_MS = 1_000
_IS_WRONG = 1


def run(call: Call) -> int:
    """Publish what the files say; return 1 where not all of it could be read.

    Raises: InvalidSetting, NothingToDo, MissingService.
    """
    arguments = call.arguments
    _check_words(arguments)
    settings = call.read_settings()
    observed_at_ms = time.time_ns() // (_MS * _MS)
    try:
        if arguments.registration_request:
            source = _import_registration(
                arguments, _load_rules(settings), observed_at_ms
            )
        else:
            source = _import_files(arguments, _load_rules(settings), observed_at_ms)
        reading, records = source
        count = _write(call, settings, records)
    except OSError as error:
        raise InvalidSetting(f"{error.filename}: {error.strerror}") from None
    told, are = counted(count, "record"), "is" if count == 1 else "are"
    print(f"{told} {are} in topic {settings.topics.cluster}")
    return _tell(reading)


def _check_words(arguments: argparse.Namespace) -> None:
    if bool(arguments.files) == bool(arguments.registration_request):
        arguments.parser.error("expected either --files or --registration-request")
    if bool(arguments.registration_request) != (arguments.api_version is not None):
        arguments.parser.error("--api-version belongs to --registration-request")


def _load_rules(settings: "Settings") -> "PublishedRules":
    from pipelines.settings.loading import load_broker_configs, load_config_catalogs
    from pipelines.settings.rules import make_published_rules

    return make_published_rules(
        settings.sensitive_keys, load_config_catalogs(), load_broker_configs()
    )


def _import_files(
    arguments: argparse.Namespace, rules: "PublishedRules", observed_at_ms: int
) -> "tuple[LogImport, Iterator[FeedRecord]]":
    from pipelines.feed.imported_logs import LogImport
    from pipelines.feed.log_files import (
        find_cluster_ids,
        find_files,
        read_batches,
    )

    paths = [Path(one) for one in arguments.files]
    files = find_files(paths)
    _tell_passed_over(files)
    cluster_id = _choose_cluster_id(arguments.cluster_id, find_cluster_ids(paths))
    reading = LogImport(rules, cluster_id=cluster_id, observed_at_ms=observed_at_ms)
    batches = (batch for one in files.segments for batch in read_batches(one.path))
    records = reading.read_log(
        batches, files.snapshots, lambda snapshot: read_batches(snapshot.path)
    )
    return reading, records


def _tell_passed_over(files: "LogFiles") -> None:
    for path in files.passed_over:
        print(
            f"kafka-clientele: {path}: passed over, for its name is of no finished "
            f".log or .checkpoint of a metadata log",
            file=sys.stderr,
        )
    if not (files.segments or files.snapshots):
        raise NothingToDo("--files: no .log and no .checkpoint of a metadata log")


def _import_registration(
    arguments: argparse.Namespace, rules: "PublishedRules", observed_at_ms: int
) -> "tuple[LogImport, Iterator[FeedRecord]]":
    from pipelines.feed.broker_registration import read_broker_registration
    from pipelines.feed.imported_logs import LogImport
    from pipelines.kafka_client.primitives import MalformedBytes

    path = Path(arguments.registration_request)
    version = arguments.api_version
    try:
        told = read_broker_registration(path.read_bytes(), version)
    except MalformedBytes as error:
        raise InvalidSetting(
            f"{path}: is no BrokerRegistrationRequest {version}: {error}"
        ) from None
    cluster_id = _choose_cluster_id(arguments.cluster_id, {told.cluster_id} - {""})
    reading = LogImport(rules, cluster_id=cluster_id, observed_at_ms=observed_at_ms)
    record = reading.publish_one(told.record)
    return reading, iter([] if record is None else [record])


def _choose_cluster_id(given: str | None, found: set[str]) -> str:
    """Return the one id of a cluster that is said.

    Raises: InvalidSetting where none is, or several are.
    """
    ids = found | ({given} if given else set())
    if len(ids) == 1:
        return ids.pop()
    if ids:
        raise InvalidSetting(
            f"--cluster-id: several are said: {', '.join(sorted(ids))}"
        )
    raise InvalidSetting("--cluster-id: the files do not say whose they are; name it")


def _write(call: Call, settings: "Settings", records: "Iterator[FeedRecord]") -> int:
    from pipelines.feed.import_records import write_cluster_records
    from pipelines.settings.kafka import publisher_config

    connection = publisher_config(settings.kafka, call.make_secret_reader())
    return write_cluster_records(connection, settings.topics, records)


def _tell(reading: "LogImport") -> int:
    """Print what came of the records; return the exit code."""
    told = {
        "published": reading.counts.published,
        "withheld values": reading.counts.withheld,
        "passed over": reading.counts.passed_over,
        "not read": reading.counts.faults,
    }
    for what, counts in told.items():
        if counts:
            print(f"{what}: {_format_counts(counts)}")
    return _IS_WRONG if reading.counts.faults else 0


def _format_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


COMMAND = Command(
    name="import-metadata",
    help="Publish the records of a copied cluster metadata log",
    options=(
        option(
            "--files",
            "Log files (.log, .checkpoint), or directories with them",
            nargs="+",
            metavar="PATH",
        ),
        option(
            "--registration-request",
            "Body of a BrokerRegistrationRequest, instead of log files",
            metavar="FILE",
        ),
        option(
            "--api-version",
            f"Version of the request, 0 to {LATEST_VERSION}",
            type=whole_number(0, LATEST_VERSION),
            metavar="NUMBER",
        ),
        option(
            "--cluster-id",
            "Cluster ID (default: from meta.properties or the registration)",
            metavar="ID",
        ),
        ENV,
        CONFIG,
        SET,
    ),
    run=run,
)
