"""What is said of stored entries, and which of them go without their values."""

import pyarrow as pa

from pipelines.settings import load_config_catalogs, load_settings
from pipelines.settings.rules import make_sensitive_key_rules
from udfs.configs.defaults import DEFAULT_SCHEMA, make_known_defaults
from udfs.configs.described_configs import (
    ENTRY_TYPE,
    PLACE_COLUMNS,
    resolve_config_defaults,
)
from udfs.configs.entries import PUSHED_ENTRY_TYPE

RULES = make_sensitive_key_rules(
    load_settings("base").sensitive_keys, load_config_catalogs()
)
PRODUCER = ("apache-kafka-java", "4.3.1", "producer")
KNOWN = {"linger.ms": "5ms", "acks": "all", "batch.size": "16384"}
"""The first was told by a client that had it as a text."""


def describe(*pushes, has_references=True):
    """Return (key, value, status) of the entries of each push of one producer."""
    rows = [(*PRODUCER, *one) for one in KNOWN.items()]
    known = [dict(zip(DEFAULT_SCHEMA.names, row, strict=True)) for row in rows]
    columns = [pa.array([text] * len(pushes), pa.string()) for text in PRODUCER]
    described = resolve_config_defaults(
        pa.array(pushes, pa.list_(PUSHED_ENTRY_TYPE)),
        pa.RecordBatch.from_arrays(columns, names=list(PLACE_COLUMNS)),
        rules=RULES,
        defaults=make_known_defaults(pa.Table.from_pylist(known, DEFAULT_SCHEMA)),
        has_references=has_references,
    )
    assert described.type == pa.list_(ENTRY_TYPE)
    return [
        [(one["config_key"], one["config_value"], one["status"]) for one in push]
        for push in described.to_pylist()
    ]


def entry(key, value, config_type="STRING", *, is_default=True):
    return (key, value, config_type, is_default)


def test_only_a_default_that_fits_its_type_goes_without_its_value():
    entries = [
        entry("acks", "all"),
        entry("linger.ms", "5ms", "LONG"),
        entry("batch.size", " 16384", "INT"),
        entry("ssl.key.password", None, "PASSWORD"),
    ]
    pushes = describe(entries, [], [entry("acks", "all", is_default=False)])
    assert pushes == [
        [
            ("acks", None, "default"),
            ("linger.ms", "5ms", "invalid_value"),
            # Not letter by letter what is known.
            ("batch.size", " 16384", "default"),
            ("ssl.key.password", None, "redacted"),
        ],
        [],
        [("acks", "all", "set_to_default")],
    ]
    (kept,) = describe(entries[:1], has_references=False)
    assert kept == [("acks", "all", "default")]
