"""Kernels as functions of SQL, in a reader's session.

They ask what the jobs ask: the rules and catalogs of conf/ and, of a status, the
defaults that clients have told.
"""

from collections.abc import Collection

import pyarrow as pa
from pyspark.sql import SparkSession

from pipelines.settings.loading import load_config_catalogs
from pipelines.settings.records import Settings
from pipelines.settings.rules import make_sensitive_key_rules
from pipelines.tables.configs import CONFIG_DEFAULTS

IS_SENSITIVE = "is_sensitive"
TYPED_CONFIG = "typed_config"
CONFIG_STATUS = "config_status"
DECODE_PUSH = "decode_push"
KERNELS = (IS_SENSITIVE, TYPED_CONFIG, CONFIG_STATUS, DECODE_PUSH)
_JAVA = "java"
"""Catalog whose types are those of Kafka's ConfigDef."""


def register_kernels(
    spark: SparkSession,
    settings: Settings,
    registered: Collection[str],
    names: Collection[str] | None,
) -> None:
    """Register the functions that are wanted.

    Args:
        settings: Have the rules, and the largest push.
        registered: Names of tables that there are: without config_defaults no default
            is known.
        names: Those that are wanted; None: all.
    """
    wanted = {*KERNELS} if names is None else {*KERNELS} & {*names}
    if not wanted:
        return
    from udfs import spark_functions as made  # noqa: PLC0415 - pandas takes part of a second, and few ask for it

    catalogs = load_config_catalogs()
    rules = make_sensitive_key_rules(settings.sensitive_keys, catalogs)
    if IS_SENSITIVE in wanted:
        spark.udf.register(IS_SENSITIVE, made.make_is_sensitive(rules))
    if TYPED_CONFIG in wanted:
        # None has two in the releases that are catalogued.
        types = {key: min(of_key) for key, of_key in catalogs[_JAVA].items()}
        spark.udf.register(TYPED_CONFIG, made.make_typed_config(types))
    if CONFIG_STATUS in wanted:
        told = CONFIG_DEFAULTS.name in registered
        nothing = pa.Table.from_pylist([], schema=made.DEFAULT_SCHEMA)
        defaults = (
            made.defaults_of(spark.table(CONFIG_DEFAULTS.name))
            if told
            else made.make_known_defaults(nothing)
        )
        spark.udf.register(CONFIG_STATUS, made.make_config_status(rules, defaults))
    if DECODE_PUSH in wanted:
        most = settings.client_telemetry_to_delta.max_decompressed_bytes
        spark.udf.register(DECODE_PUSH, made.make_decode_push(most))
