"""Kernels as functions of SQL: what they answer is what the jobs write."""

import io
import json
import shlex
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.commands.asking import Printing, print_query
from pipelines.reading import views
from pipelines.reading.views.kernel_functions import KERNELS
from pipelines.settings import load_settings
from pipelines.tables.cluster import CLIENT_QUOTAS
from pipelines.tables.configs import CONFIG_DEFAULTS
from pipelines.tables.telemetry import CLIENT_PUSHES
from tests.support.documents import ROOT, find_block
from tests.support.spark.config_rows import JAVA
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows

GOLDEN = Path(ROOT, "tests/golden/telemetry/java-3.9.2/producer_2_none.bin")
PUSH = GOLDEN.read_bytes()
NULL, PRODUCER = None, "producer"
DEFAULT = JAVA | {"client_type": "producer", "config_key": "linger.ms"}


@pytest.fixture(scope="module")
def settings(spark, tmp_path_factory):
    made = load_settings("local", [f"tables.root_path={tmp_path_factory.mktemp('k')}"])
    make_tables(spark, made.tables, (CLIENT_PUSHES, CLIENT_QUOTAS, CONFIG_DEFAULTS))
    pushes = [
        {
            "offset": place,
            "push_id": f"p{place}",
            "body": body,
            "compression_type": codec,
        }
        for place, (body, codec) in enumerate([(PUSH, "none"), (PUSH, "zstd")])
    ]
    append_rows(made.tables, CLIENT_PUSHES, *pushes)
    append_rows(made.tables, CONFIG_DEFAULTS, DEFAULT | {"default_value": "5"})
    views.register(spark, made, [one.name for one in KERNELS])
    return made


JAVA_NAME, JAVA_VERSION = JAVA.values()
ENTRIES = [
    # key, value, type, is_default; is it sensitive, its status, its typed value
    ("acks", "all", "STRING", False, False, "overridden", {"value_string": "all"}),
    ("linger.ms", " 5 ", "LONG", False, False, "set_to_default", {"value_long": 5}),
    ("linger.ms", "7", NULL, False, False, "overridden", {"value_long": 7}),
    ("linger.ms", "5", "LONG", True, False, "default", {"value_long": 5}),
    ("linger.ms", "soon", "LONG", False, False, "invalid_value", {"value_error": "invalid_value"}),
    ("enable.idempotence", "true", NULL, False, False, "overridden", {"value_boolean": True}),
    ("ssl.key.password", "hunter2", NULL, False, True, "redacted", {}),
    ("linger.ms", NULL, "LONG", False, False, "redacted", {}),
    (NULL, NULL, NULL, NULL, True, "redacted", {}),
    ("bootstrap.servers", "a:1, b:2", NULL, False, False, "overridden", {"value_list": ["a:1", "b:2"]}),
]  # fmt: skip


@pytest.mark.usefixtures("settings")
def test_an_entry_is_judged_typed_and_told_as_jobs_do_it(spark):
    schema = "place INT, k STRING, v STRING, t STRING, d BOOLEAN"
    rows = [(place, *one[:4]) for place, one in enumerate(ENTRIES)]
    who = [F.lit(one) for one in (JAVA_NAME, JAVA_VERSION, PRODUCER)]
    answers = (
        spark.createDataFrame(rows, schema)
        .select(
            "place",
            F.call_function("is_sensitive", "k", "v", "t", who[0]).alias("hidden"),
            F.call_function("config_status", "k", "v", "t", "d", *who).alias("told"),
            F.call_function("typed_config", "k", "v", "t").alias("typed"),
        )
        .orderBy("place")
        .collect()
    )
    found = [
        (
            row["hidden"],
            row["told"],
            {
                name: one
                for name, one in row["typed"].asDict().items()
                if one is not None
            },
        )
        for row in answers
    ]
    assert found == [one[4:] for one in ENTRIES]


@pytest.mark.usefixtures("settings")
def test_a_push_is_decoded_or_says_why_not(spark):
    cases = [
        *((PUSH, "none"), (PUSH, "gzip"), (PUSH, "lzma"), (PUSH[:-3], "none")),
        *((NULL, "none"), (PUSH, NULL), (b"", "none")),
    ]
    frame = spark.createDataFrame(
        [(place, *one) for place, one in enumerate(cases)],
        "place INT, body BINARY, codec STRING",
    )
    rows = (
        frame.selectExpr("place", "decode_push(body, codec) AS push")
        .orderBy("place")
        .collect()
    )
    told = [row["push"]["decode_status"] for row in rows]
    assert told == [
        *("ok", "wrong_codec", "unknown_codec", "truncated_otlp"),
        *("null_value", "unknown_codec", "ok"),
    ]
    points = [row["push"]["points"] for row in rows]
    assert points[1:] == [*[None] * 5, []]
    assert rows[1]["push"]["detail"]
    known = {point["metric"]: point for point in points[0]}
    sent = known["org.apache.kafka.producer.record.send.total"]
    assert (sent["kind"], sent["temporality"], sent["value_double"]) == (
        "sum",
        "delta",
        53.0,
    )
    assert isinstance(sent["time"], datetime)
    topics = known["org.apache.kafka.producer.topic.record.send.total"]
    assert topics["topic_name"] == topics["attributes"]["topic"]


@pytest.mark.long
def test_the_examples_of_the_reference_have_answers(spark, settings):
    answers = []
    for command in find_block("docs/reference/views.md", "functions").commands:
        program, word, query = shlex.split(command)
        assert (program, word) == ("./spark-submit.sh", "sql")
        output = io.StringIO()
        print_query(spark, settings, query, Printing(format="json", output=output))
        answers.append(
            [[*json.loads(one).values()] for one in output.getvalue().splitlines()]
        )
    quota, sensitive, typed, status, decoded = answers
    assert (quota, sensitive, typed, status) == (
        *([[None]], [[True]], [[5]], [["invalid_value"]]),
    )
    # A query without an order has its rows in any.
    assert sorted(row[1] for row in decoded) == ["ok", "wrong_codec"]
