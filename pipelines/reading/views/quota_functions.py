"""Quotas as a function of SQL, in a reader's session.

`quota_of(user, client_id, quota_key)` is the limit that one broker has for a client.
"""

from .view import Function, Sources

QUOTA_OF = "quota_of"


def _register(sources: Sources) -> None:
    """Register the function; it knows the quotas that are set at this moment.

    Where client_quotas is about several clusters, the function is that of the quotas of
    all: a reader names one by a view of that name.
    """
    from udfs.spark_quotas import make_quota_of, snapshot_of  # noqa: PLC0415 - pandas takes part of a second, and few ask for it

    current = sources.spark.table("client_quotas").where("is_current")
    sources.spark.udf.register(QUOTA_OF, make_quota_of(snapshot_of(current)))


FUNCTION = Function(
    name=QUOTA_OF,
    arguments="user, client_id, quota_key",
    result="What one broker allows a client by a quota key now; null: unlimited. A "
    "user is a name or a principal, and a client a `client.id`.",
    register=_register,
    example="select quota_of('User:alice', 'orders', 'producer_byte_rate')",
    needs=("client_quotas",),
    made_by="cluster_metadata_to_delta",
)
