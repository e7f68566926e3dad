"""A purge leaves what the job would have written by the tighter rules from the start.

But for config_defaults, and with them statuses: a hidden default is unlearned, and the
next pushes teach another.
"""

import dataclasses

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.delta_tables.locations import identify_table
from pipelines.jobs.purge import job as purge_secrets
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
    CONFIG_VIOLATIONS,
)
from tests.long.config_shuffles import write_ends
from tests.spark.test_purge_secrets import CANARY, rule
from tests.support.jobs.config_job_support import read_every_byte
from tests.support.spark.config_records import ConfigJob, entry, make_record
from tests.support.spark.shuffled_pushes import find_ends, make_pushes

PUSHES, SEED = 80, 714
TIGHTER = (
    # Of three values of one key two become one, which another one parts.
    rule("a", "redact", keys=("acks",), value_patterns=("^[01]$",)),
    rule("b", "redact", keys=("linger.ms",)),
    # Of a key that every client may have: what is dropped says no type any more.
    rule("c", "drop", keys=("client.id",)),
)
HELD = (
    "map_from_entries(array_sort(transform(map_entries(configs), one -> struct(one.key, "
    "struct(one.value.config_value, one.value.config_type, one.value.is_default)))))"
)
COMPARED = (
    (CLIENT_CONFIG_HISTORY, CLIENT_CONFIG_HISTORY.column_names),
    (CLIENT_CONFIG_PUSHES, ("offset", "decode_status", "configs", "content_hash")),
    (CLIENT_CONFIGS, ("client_instance_id", "push_id", HELD, "content_hash")),
    (CONFIG_VIOLATIONS, ("offset", "config_key", "rule", "action")),
)  # fmt: skip


def read(job, contract, columns):
    """Return the rows of a table as texts, sorted."""
    rows = job.read(contract).select(F.to_json(F.struct(*map(F.expr, columns))))
    return sorted(row[0] for row in rows.collect())


def write(spark, folder, rules):
    """Write the pushes in two micro-batches; return the job."""
    job = ConfigJob(spark, folder, rules=rules)
    pushes = make_pushes(PUSHES, SEED)
    write_ends(job, find_ends(pushes, SEED))
    records = [push.record(offset) for offset, push in enumerate(pushes)]
    job.write(*records[: PUSHES // 2])
    job.write(*records[PUSHES // 2 :])
    return job


@pytest.fixture(scope="module")
def jobs(spark, tmp_path_factory):
    """A job whose tables were purged, and one that had the rules from the start."""
    lax = write(spark, tmp_path_factory.mktemp("lax"), ())
    tight = write(spark, tmp_path_factory.mktemp("tight"), TIGHTER)
    keys = tight.settings.sensitive_keys
    settings = dataclasses.replace(lax.settings, sensitive_keys=keys)
    before = read(lax, *COMPARED[0])
    purge_secrets.run(spark, settings, is_dry_run=False, say=lambda _line: None)
    assert before != read(lax, *COMPARED[0])
    return lax, tight


@pytest.mark.long
@pytest.mark.parametrize(
    ("contract", "columns"), COMPARED, ids=[one.name for one, _ in COMPARED]
)
def test_a_purged_table_is_the_one_that_the_rules_would_have_made(
    jobs, contract, columns
):
    purged, anew = jobs
    assert read(purged, contract, columns) == read(anew, contract, columns)


@pytest.mark.long
def test_the_change_data_feed_holds_nothing_of_it(spark, tmp_path):
    """Its files hold rows as they were, and so they go with the others."""
    job = ConfigJob(spark, tmp_path)
    for contract in CLIENT_CONFIG_CONTRACTS:
        name = identify_table(spark, job.settings.tables, contract)
        spark.sql(
            f"ALTER TABLE {name} SET TBLPROPERTIES "
            "('delta.enableChangeDataFeed' = 'true')"
        )
    for offset, value in enumerate((CANARY, f"{CANARY}-too")):
        held = entry("client.rack", value, is_default=True)
        job.write(make_record(offset, held, push_id=f"push-{offset}"))
    assert find_canary(tmp_path)
    keys = job.settings.sensitive_keys
    rules = (rule("a", "redact", keys=("client.rack",)), *keys.rules)
    settings = dataclasses.replace(
        job.settings, sensitive_keys=dataclasses.replace(keys, rules=rules)
    )
    purge_secrets.run(spark, settings, is_dry_run=False, say=lambda _line: None)
    assert list(tmp_path.rglob("_change_data"))
    assert find_canary(tmp_path) == []


def find_canary(folder):
    """Return the files that hold the canary."""
    return [str(p) for p, data in read_every_byte(folder) if CANARY.encode() in data]
