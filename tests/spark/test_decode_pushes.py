"""The door to Spark: what the kernel says of a batch is what a DataFrame holds."""

import math

import pyarrow as pa
import pytest
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
from tests.unit.udfs.otlp.comparison import decode
from tests.unit.udfs.otlp.random_pushes import captures
from udfs import spark as wrappers
from udfs.compression.codecs import NONE
from udfs.otlp.schema import POINT_SCHEMA, PUSH_SCHEMA
from udfs.spark import POINT_TYPE, RESULT_TYPE, decode_points, decode_pushes

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
KEPT = ["push_id", "offset", "client_id"]


def pushes_of(spark, sent):
    rows = [
        ("t", 0, at, f"p{at}", codec, body, "c")
        for at, (body, codec) in enumerate(sent)
    ]
    return spark.createDataFrame(rows, PUSH_TYPE)


def decoded_of(spark, sent):
    return pushes_of(spark, sent).transform(decode_pushes, max_decompressed_bytes=LIMIT)


def points_of(spark, sent):
    return pushes_of(spark, sent).transform(
        decode_points, KEPT, max_decompressed_bytes=LIMIT
    )


def test_the_columns_are_those_of_a_push_with_its_results_or_one_point(spark):
    decoded, points = decoded_of(spark, []), points_of(spark, [])
    assert decoded.columns == [*PUSH_TYPE.names, *RESULT_TYPE.names]
    assert points.columns == [*KEPT, *POINT_TYPE.names]
    assert RESULT_TYPE.names == PUSH_SCHEMA.names
    assert POINT_TYPE.names == POINT_SCHEMA.names
    assert decoded.count() == points.count() == 0


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
    rows = decoded_of(spark, sent).orderBy("offset").collect()
    names = kernel.pushes.schema.names
    assert [row.push_id for row in rows] == [f"p{push}" for push in range(len(sent))]
    assert [bytes(row.body) for row in rows] == [body for body, _ in sent]
    found = [{name: row[name] for name in names} for row in rows]
    assert found == kernel.pushes.to_pylist()
    # Times as integers: Python's own would be in the zone of this machine.
    micros = functions.unix_micros("time").alias("micros")
    found = [
        row.asDict(recursive=True)
        for row in points_of(spark, sent)
        .select(*KEPT, *POINT_TYPE.names, micros)
        .drop("time")
        .orderBy("offset", "point_index")
        .collect()
    ]
    counts = kernel.pushes["point_count"].to_pylist()
    owners = [push for push, count in enumerate(counts) for _ in range(count)]
    assert [(p.pop("push_id"), p.pop("offset"), p.pop("client_id")) for p in found] == [
        (f"p{push}", push, "c") for push in owners
    ]
    assert [point.pop("micros") for point in found] == (
        kernel.points["time"].cast("int64").to_pylist()
    )
    points = kernel.points.drop_columns("time").to_pylist(maps_as_pydicts="strict")
    assert plain(found) == plain(points)


def test_bad_pushes_are_rows_with_a_reason_and_no_points(spark):
    good = java_push(1, 2)
    sent = [(good, NONE), (None, NONE), (good[:-1], NONE), (good, 9), (b"", 9)]
    sent.append((good, None))
    rows = decoded_of(spark, sent).orderBy("offset").collect()
    assert [(row.decode_status, row.point_count) for row in rows] == [
        ("ok", 2),
        ("null_value", 0),
        ("truncated_otlp", 0),
        ("unknown_codec", 0),
        ("ok", 0),
        ("unknown_codec", 0),
    ]
    points = points_of(spark, sent).select("offset", "point_index").collect()
    assert sorted(map(tuple, points)) == [(0, 0), (0, 1)]


def test_a_batch_that_fills_several_tables_keeps_points_with_their_push(spark):
    sent = [(librdkafka_push(push, 500), NONE) for push in range(80)]
    found = (
        points_of(spark, sent)
        .groupBy("offset")
        .agg(
            functions.count("*").alias("points"),
            functions.max("point_index").alias("last"),
            functions.min(functions.unix_millis("time")).alias("first_ms"),
            functions.max(functions.unix_millis("time")).alias("last_ms"),
        )
    )
    rows = found.orderBy("offset").collect()
    assert [row.points for row in rows] == [500] * 80
    assert {row.last for row in rows} == {499}
    for row in rows:
        assert row.first_ms == row.last_ms == 1_795_000_000_000 + row.offset


@pytest.mark.parametrize(
    ("own", "counts", "least"),
    [(["a"] * 3, [2, 0, 3], 1), (["a", "b" * 400, "c" * 3_000], [300, 2, 9], 6)],
    ids=["few", "many points and long texts"],
)
def test_points_are_sent_a_few_bytes_at_a_time(monkeypatch, own, counts, least):
    """However many a push has, and whatever each has of its push."""
    monkeypatch.setattr(wrappers, "POINTS_BATCH_BYTES", 1 << 13)
    bodies = [librdkafka_push(1, count) for count in counts]
    decoded = decode(bodies, [NONE] * len(bodies))
    part = pa.RecordBatch.from_pydict({"own": own})
    batches = list(wrappers._point_batches(part, decoded, ["own", *POINT_SCHEMA.names]))
    rows = pa.Table.from_batches(batches)
    owners = [
        text for text, count in zip(own, counts, strict=True) for _ in [0] * count
    ]
    assert rows["own"].to_pylist() == owners
    assert rows.drop_columns("own").combine_chunks() == pa.Table.from_batches(
        [decoded.points]
    )
    assert len(batches) >= least
    # Beyond it there is one row at most.
    assert max(batch.nbytes for batch in batches) < (1 << 13) + 4_000
    assert least > 1 or len(batches) == 1


def test_other_columns_are_not_sent_to_python_with_each_point(spark):
    points = pushes_of(spark, [(b"", NONE)]).transform(
        decode_points, ["push_id"], max_decompressed_bytes=LIMIT
    )
    plan = points._jdf.queryExecution().optimizedPlan().toString()
    assert "client_id" not in plan.split("MapInArrow")[1].splitlines()[0]
    assert points.columns == ["push_id", *POINT_TYPE.names]


def test_results_take_the_place_of_columns_with_their_names(spark):
    pushes = pushes_of(spark, [(b"", NONE)]).withColumns(
        {"decode_status": functions.lit("old"), "mine": functions.lit(7)}
    )
    decoded = pushes.transform(decode_pushes, max_decompressed_bytes=LIMIT)
    assert decoded.select("decode_status", "mine").collect() == [("ok", 7)]
    assert decoded.columns.count("decode_status") == 1
