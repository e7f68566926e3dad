"""The door to Spark: what the kernel says of a batch is what a DataFrame holds."""

import math

from pyspark.sql import functions
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from tests.bench.generated_pushes import java_push, librdkafka_push
from tests.unit.udfs.comparison import decode
from tests.unit.udfs.random_pushes import captures
from udfs.compression import NONE
from udfs.otlp_metrics import POINT_SCHEMA
from udfs.spark import DECODED_TYPE, POINT_TYPE, decode_pushes

PUSH_TYPE = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("push_id", StringType()),
        StructField("compression_type_id", IntegerType()),
        StructField("body", BinaryType()),
        StructField("client_id", StringType()),
    ]
)
LIMIT = 1 << 20


def pushes_of(spark, sent):
    rows = [
        ("t", 0, at, f"p{at}", codec, body, "c")
        for at, (body, codec) in enumerate(sent)
    ]
    return spark.createDataFrame(rows, PUSH_TYPE)


def decoded_of(spark, sent):
    return pushes_of(spark, sent).transform(decode_pushes, max_decompressed_bytes=LIMIT)


def test_the_columns_are_what_names_a_push_results_and_points(spark):
    decoded = decoded_of(spark, [])
    assert decoded.schema == DECODED_TYPE
    assert decoded.columns[:4] == ["topic", "partition", "offset", "push_id"]
    assert decoded.columns[-1] == "points"
    assert POINT_TYPE.names == POINT_SCHEMA.names
    assert decoded.count() == 0


def plain(value):
    """Rows as dictionaries, NaN as a text that equals itself."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def test_captured_pushes_arrive_as_the_kernel_decodes_them(spark):
    sent = [(path.read_bytes(), codec_id) for path, codec_id in captures()]
    kernel = decode([body for body, _ in sent], [codec_id for _, codec_id in sent])
    # Times as integers: Python's own would be in the zone of this machine.
    micros = functions.transform(
        "points", lambda p: functions.unix_micros(p["time"])
    ).alias("micros")
    rows = decoded_of(spark, sent).select("*", micros).orderBy("offset").collect()
    points = plain(
        kernel.points.drop_columns("time").to_pylist(maps_as_pydicts="strict")
    )
    times = kernel.points["time"].cast("int64").to_pylist()
    pushes = kernel.pushes.to_pylist()
    done = 0
    for push, row in enumerate(rows):
        found = row.asDict(recursive=True)
        assert found["push_id"] == f"p{push}"
        assert {name: found[name] for name in pushes[push]} == pushes[push]
        count = found["point_count"]
        for point in found["points"]:
            del point["time"]
        assert plain(found["points"]) == points[done : done + count]
        assert found["micros"] == times[done : done + count]
        done += count
    assert done == len(points)


def test_bad_pushes_are_rows_with_a_reason_and_no_points(spark):
    good = java_push(1, 2)
    sent = [(good, NONE), (None, NONE), (good[:-1], NONE), (good, 9), (b"", 9)]
    rows = decoded_of(spark, [*sent, (good, None)]).orderBy("offset").collect()
    assert [(row.decode_status, row.point_count, len(row.points)) for row in rows] == [
        ("ok", 2, 2),
        ("null_value", 0, 0),
        ("truncated_otlp", 0, 0),
        ("unknown_codec", 0, 0),
        ("ok", 0, 0),
        ("unknown_codec", 0, 0),
    ]


def test_a_batch_that_fills_several_tables_keeps_points_with_their_push(spark):
    sent = [(librdkafka_push(push, 500), NONE) for push in range(80)]
    exploded = decoded_of(spark, sent).select(
        "offset", functions.explode("points").alias("p")
    )
    found = exploded.groupBy("offset").agg(
        functions.count("*").alias("points"),
        functions.max("p.point_index").alias("last"),
        functions.min(functions.unix_millis("p.time")).alias("first_ms"),
        functions.max(functions.unix_millis("p.time")).alias("last_ms"),
    )
    rows = found.orderBy("offset").collect()
    assert [row.points for row in rows] == [500] * 80
    assert {row.last for row in rows} == {499}
    for row in rows:
        assert row.first_ms == row.last_ms == 1_795_000_000_000 + row.offset


def test_other_columns_are_not_sent_to_python(spark):
    pushes = pushes_of(spark, [(b"", NONE)])
    decoded = pushes.transform(decode_pushes, max_decompressed_bytes=LIMIT)
    plan = decoded._jdf.queryExecution().optimizedPlan().toString()
    assert "client_id" not in plan.split("MapInArrow")[1].splitlines()[0]
    assert "client_id" not in decoded.columns
