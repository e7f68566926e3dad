"""Files of clusters, from the command that imports them over the job into rows."""

import uuid
from pathlib import Path

import pytest

from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_METRICS_SUBSCRIPTIONS,
    CLUSTER_CHANGES,
    RESOURCE_CONFIGS,
)
from tests.support.documents import find_block
from tests.support.jobs.given_calls import run_line
from tests.unit.feed.test_broker_registration import (
    BODIES,
    LOG_DIR,
    RECORD_VERSIONS,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "metadata"
(CHECKPOINT,) = GOLDEN.glob("*.checkpoint")
(JOB,) = find_block("docs/guide/brokers.md", "cluster-metadata-to-delta").commands
IMPORT = "./spark-submit.sh import-metadata"
SNAPSHOT, REQUESTS = "of-the-snapshot", "abc"
"""Ids of clusters; the latter is the requests' own."""
ID_BYTES = 4
"""A request begins with the broker's id."""
SNAPSHOT_MS = 1_699_999_999_000


def import_files(kafka, spark, folder, imports):
    """Let commands import files and the job read them; return who reads tables."""
    given = (
        f"kafka.bootstrap_servers={kafka.bootstrap_servers}",
        f"topics.cluster=imported-{uuid.uuid4()}",
        f"tables.root_path={folder}",
        f"cluster_metadata_to_delta.checkpoint_location={folder}/checkpoint",
    )
    for words in imports:
        run_line(spark, f"{IMPORT} {words}", *given)
    run_line(spark, JOB, *given)

    def read_table(contract, cluster_id, *columns):
        table = spark.read.format("delta").load(f"{folder}/{contract.name}")
        own = table.where(table.cluster_id == cluster_id)
        return sorted(map(tuple, own.selectExpr(*columns).collect()), key=repr)

    return read_table


@pytest.fixture(scope="module")
def read(kafka, spark, tmp_path_factory):
    """Import a registration of each version.

    Version 0 is of broker 10, and so on.
    """
    folder = tmp_path_factory.mktemp("imported")
    imports = []
    for version, body in BODIES.items():
        path = folder / f"request-{version}"
        path.write_bytes((10 + version).to_bytes(ID_BYTES) + body[ID_BYTES:])
        imports.append(f"--registration-request {path} --api-version {version}")
    return import_files(kafka, spark, folder, imports)


def test_a_snapshot_becomes_rows(kafka, spark, tmp_path):
    """Its records have the time and the offset of the last one that it contains."""
    words = f"--files {CHECKPOINT} --cluster-id {SNAPSHOT}"
    read = import_files(kafka, spark, tmp_path, [words])
    incarnation = "tpzDWnpUR5Cqacwr1O5FOA"
    assert read(
        BROKER_REGISTRATIONS, SNAPSHOT, "broker_id", "incarnation_id", "source",
        "unix_millis(registered_at)", "is_current", "is_fenced", "static_configs",
        "metadata_version", "record_version", "broker_epoch",
    ) == [
        (1, incarnation, "file", SNAPSHOT_MS, True, False, "not_reported", 25, 3, 42),
    ]  # fmt: skip
    assert read(
        CLIENT_METRICS_SUBSCRIPTIONS, SNAPSHOT, "name", "interval_ms", "source",
        "is_current", "unix_millis(valid_from)", "not_before",
    ) == [("sub1", 1000, "file", True, SNAPSHOT_MS, None)]  # fmt: skip
    assert read(
        RESOURCE_CONFIGS, SNAPSHOT, "resource_type", "config_name", "config_value"
    ) == [("feature", "metadata.version", "25")]
    assert read(
        CLUSTER_CHANGES, SNAPSHOT, "record_type", "change", "metadata_offset",
        "metadata_epoch", "decode_status",
    ) == [
        (kind, change, 99, 3, "ok")
        for kind, change in (
            ("Config", "interval.ms set to 1000"),
            ("FeatureLevel", "metadata.version set to 25"),
            ("RegisterBroker", f"registered, incarnation {incarnation}, epoch 42"),
            ("full_set", "full set of 3 records"),
        )
    ]  # fmt: skip


@pytest.mark.long
def test_a_registration_of_every_version_becomes_a_row(read):
    rows = read(
        BROKER_REGISTRATIONS, REQUESTS, "broker_id", "record_version", "log_dirs",
        "cordoned_log_dirs", "is_migrating_zk_broker", "static_configs",
    )  # fmt: skip
    assert rows == [
        (
            10 + version,
            RECORD_VERSIONS[version],
            [LOG_DIR] if version >= 2 else None,
            [LOG_DIR] if version >= 5 else None,
            False if version >= 1 else None,
            "reported" if version == 6 else "not_reported",
        )
        for version in range(7)
    ]
    common = read(
        BROKER_REGISTRATIONS, REQUESTS, "source", "incarnation_id", "broker_epoch",
        "is_current", "is_fenced", "in_controlled_shutdown", "rack", "features",
        "endpoints[0].host", "endpoints[0].port",
    )  # fmt: skip
    one = (
        "file", "tpzDWnpUR5Cqacwr1O5FOA", None, True, True, False, None, [],
        "localhost", 9092,
    )  # fmt: skip
    assert common == [one] * 7


@pytest.mark.long
def test_static_configs_of_a_registration_become_rows(read):
    assert read(
        BROKER_STATIC_CONFIGS, REQUESTS, "broker_id", "config_name", "config_value",
        "config_type", "is_default", "report", "effective_value", "effective_source",
        "is_current",
    ) == [
        # It has no validator and no value.
        (16, "broker.rack", None, "STRING", None, "registration", None, None, True),
        (
            16, "log.segment.bytes", "1073741824", "INT", None, "registration", None,
            None, True,
        ),
    ]  # fmt: skip
