"""Kernels as functions of SQL, in a reader's session.

They use the rules and catalogs of conf/ that the jobs use. config_status also uses the
defaults that clients have reported.
"""

# ruff: noqa: PLC0415 - pandas takes part of a second, and few queries need it

import pyarrow as pa

from pipelines.settings.loading import load_config_catalogs
from pipelines.settings.rules import make_sensitive_key_rules

from .view import Function, Sources

IS_SENSITIVE = "is_sensitive"
TYPED_CONFIG = "typed_config"
CONFIG_STATUS = "config_status"
DECODE_PUSH = "decode_push"
_JAVA = "java"
"""Catalog whose types are those of Kafka's ConfigDef."""


def _register_is_sensitive(sources: Sources) -> None:
    from udfs.spark_functions import make_is_sensitive

    rules = make_sensitive_key_rules(
        sources.settings.sensitive_keys, load_config_catalogs()
    )
    sources.spark.udf.register(IS_SENSITIVE, make_is_sensitive(rules))


def _register_typed_config(sources: Sources) -> None:
    from udfs.spark_functions import make_typed_config

    # None has two in the releases that are catalogued.
    types = {key: min(of_key) for key, of_key in load_config_catalogs()[_JAVA].items()}
    sources.spark.udf.register(TYPED_CONFIG, make_typed_config(types))


def _register_config_status(sources: Sources) -> None:
    from udfs import spark_functions as made

    rules = make_sensitive_key_rules(
        sources.settings.sensitive_keys, load_config_catalogs()
    )
    nothing = pa.Table.from_pylist([], schema=made.DEFAULT_SCHEMA)
    defaults = (
        made.defaults_of(sources.spark.table("config_defaults"))
        if "config_defaults" in sources.registered
        else made.make_known_defaults(nothing)
    )
    sources.spark.udf.register(CONFIG_STATUS, made.make_config_status(rules, defaults))


def _register_decode_push(sources: Sources) -> None:
    from udfs.spark_functions import make_decode_push

    most = sources.settings.client_telemetry_to_delta.max_decompressed_bytes
    sources.spark.udf.register(DECODE_PUSH, make_decode_push(most))


KERNELS = (
    Function(
        name=IS_SENSITIVE,
        arguments="key, value, type, software",
        result="Whether the rules hide an entry of a configuration, by its key or by "
        "what its value looks like; never null.",
        register=_register_is_sensitive,
        example="select is_sensitive('sasl.jaas.config', 'x', 'PASSWORD', "
        "'apache-kafka-java')",
    ),
    Function(
        name=TYPED_CONFIG,
        arguments="key, value, type",
        result="The value by its type, as Java's clients parse it: `value_boolean`, "
        "`value_long`, `value_double`, `value_list` or `value_string`; `value_error` "
        "is `invalid_value` where it does not fit. Without a type that which Java's "
        "clients give the key. Of a `PASSWORD` nothing.",
        register=_register_typed_config,
        example="select typed_config('linger.ms', '5', null).value_long",
    ),
    Function(
        name=CONFIG_STATUS,
        arguments="key, value, type, is_default, software, version, client_type",
        result="What an entry is, by the rules in force and the defaults that clients "
        "have told: `default`, `overridden`, `set_to_default`, `unknown_key`, "
        "`invalid_value` or `redacted`, which a null value is, too.",
        register=_register_config_status,
        example="select config_status('linger.ms', 'soon', 'LONG', false, "
        "'apache-kafka-java', '4.3.1', 'producer')",
        uses=("config_defaults",),
    ),
    Function(
        name=DECODE_PUSH,
        arguments="body, codec",
        result="What a push says: `decode_status` (`ok`, or why it "
        "cannot be read, as in `quarantine`), `detail`, and `points` with the columns "
        "that `client_metrics` has of a point. A codec is `none`, `gzip`, `snappy`, "
        "`lz4` or `zstd`. For a few pushes: all points of one are one value.",
        register=_register_decode_push,
        example="select push_id, decoded.decode_status, size(decoded.points) from "
        "(select push_id, decode_push(body, compression_type) as decoded "
        "from client_pushes limit 5)",
    ),
)
