"""A value that a new rule hides is in no byte of the tables; the wide form of it is
test_purge_secrets.py."""

import dataclasses

from pipelines.jobs.purge import job as purge_secrets
from pipelines.settings import load_settings
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIG_PUSHES,
    CLIENT_CONFIGS,
)
from tests.support.spark.config_rows import JAVA, entry, held, instance
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.purge_rows import find_text, rule
from tests.support.spark.table_rows import append_rows

CANARY = "canary9d41"


def test_what_a_new_rule_hides_is_in_no_file_after_a_purge(spark, tmp_path):
    lax = load_settings("base", [f"tables.root_path={tmp_path}"])
    new = rule("rack", "redact", keys=("client.rack",))
    rules = dataclasses.replace(
        lax.sensitive_keys, rules=(new, *lax.sensitive_keys.rules)
    )
    settings = dataclasses.replace(lax, sensitive_keys=rules)
    make_tables(spark, settings.tables, CLIENT_CONFIG_CONTRACTS)
    entries = [entry("client.rack", CANARY), entry("linger.ms", "5", "LONG")]
    push = {"logical_client": "app", "decode_status": "ok", "configs": entries}
    # Uncompressed, so that a search finds what a file holds.
    codec = "spark.sql.parquet.compression.codec"
    spark.conf.set(codec, "uncompressed")
    append_rows(settings.tables, CLIENT_CONFIG_PUSHES, JAVA | push | {"offset": 1})
    configs = {"client.rack": held(CANARY), "linger.ms": held("5", "LONG")}
    append_rows(settings.tables, CLIENT_CONFIGS, instance("one", configs))
    spark.conf.unset(codec)
    assert len(find_text(settings, CANARY)) >= 2
    said = []
    purge_secrets.run(spark, settings, is_dry_run=False, say=said.append)
    assert "client_config_pushes: 1 entries in 1 rows are taken out" in said
    assert find_text(settings, CANARY) == []
    table = spark.read.format("delta").load(f"{tmp_path}/{CLIENT_CONFIGS.name}")
    kept = table.select("configs.`linger.ms`.config_value").first()
    assert kept["config_value"] == "5"
