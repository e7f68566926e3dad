"""What ends a micro-batch ends its query, however much Java has to say of it."""

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException

from pipelines.delta_tables.transactions import start_batches

PATIENCE_S = 180
LONG = "1" * 100_000


def test_a_long_trace_ends_the_query_with_its_error(spark, tmp_path):
    raised = []

    def write(records, _batch_id):
        java = records.sparkSession.sparkContext._jvm.java
        try:
            java.util.Objects.requireNonNull(None, LONG)
        except Py4JJavaError as error:
            raised.append(error)
            raise

    query = start_batches(
        spark.readStream.format("rate").load(),
        write,
        query_name="failing",
        checkpoint_location=str(tmp_path),
        trigger_interval_ms=10,
    )
    with pytest.raises(StreamingQueryException, match="NullPointerException"):
        query.awaitTermination(PATIENCE_S)
    assert len(raised) == 1
