"""Where two drivers may not write at once, a job says so."""

from types import SimpleNamespace

import pytest

from pipelines.delta_tables.log_stores import find_limit

DYNAMO = "io.delta.storage.S3DynamoDBLogStore"
SINGLE = "io.delta.storage.S3SingleDriverLogStore"


def ask(*locations, **settings):
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return find_limit(SimpleNamespace(conf=named), locations)


def test_on_s3_one_driver_alone_is_safe_and_the_way_out_is_named():
    told = ask("s3a://bucket/tables/client_pushes", "s3a://bucket/tables/quarantine")
    assert "tables on s3a: are safe from one driver at a time alone" in told
    assert f"--conf spark.delta.logStore.s3a.impl={DYNAMO}" in told
    assert "spark.delta.logStore.s3.impl" in ask("s3://bucket/tables/client_pushes")
    assert ask("s3a://bucket/a", spark_delta_logStore_s3a_impl=SINGLE)


@pytest.mark.parametrize(
    "location",
    [
        *("hdfs://namenode/tables/a", "file:/tables/a", "/tables/a"),
        *("abfss://files@account/tables/a", "gs://bucket/tables/a"),
    ],
)
def test_elsewhere_any_driver_may_write(location):
    assert ask(location) is None


def test_a_store_for_several_drivers_is_believed():
    assert ask("s3a://bucket/a", spark_delta_logStore_s3a_impl=DYNAMO) is None
    assert ask("s3a://bucket/a", spark_delta_logStore_class=DYNAMO) is None
    assert ask("s3://bucket/a", spark_delta_logStore_s3a_impl=DYNAMO)
