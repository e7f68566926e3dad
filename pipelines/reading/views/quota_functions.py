"""Quotas as a function of SQL, in a reader's session.

`quota_of(user, client_id, quota_key)` is the limit that one broker has for a client.
"""

from pyspark.sql import SparkSession

from pipelines.tables.cluster import CLIENT_QUOTAS

QUOTA_OF = "quota_of"


def register_quota_of(spark: SparkSession) -> None:
    """Register the function; it knows the quotas that are set at this moment.

    The view client_quotas must be there. Where it is about several clusters, the
    function is that of the quotas of all: a reader names one by a view of that name.
    """
    from udfs.spark_quotas import make_quota_of, snapshot_of  # noqa: PLC0415 - pandas takes part of a second, and few ask for it

    current = spark.table(CLIENT_QUOTAS.name).where("is_current")
    spark.udf.register(QUOTA_OF, make_quota_of(snapshot_of(current)))
