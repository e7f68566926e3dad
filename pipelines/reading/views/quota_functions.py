"""`quota_of`: the limit that one broker applies to a client, as a function of SQL."""

from .view import Function, Sources

QUOTA_OF = "quota_of"


def _register(sources: Sources) -> None:
    """Register the function with the quotas that are set now."""
    from udfs.spark_quotas import make_quota_of, snapshots_of  # noqa: PLC0415 - pandas takes part of a second, and few ask for it

    current = sources.spark.table("client_quotas").where("is_current")
    sources.spark.udf.register(QUOTA_OF, make_quota_of(snapshots_of(current)))


FUNCTION = Function(
    name=QUOTA_OF,
    arguments="user, client_id, quota_key[, cluster_id]",
    result="The limit that one broker applies to a client by a quota key now; null: "
    "unlimited, or unknown cluster. A user is a name or a principal, and a client a "
    "`client.id`. `cluster_id` is required if `client_quotas` contains several "
    "clusters.",
    register=_register,
    example="select quota_of('User:alice', 'orders', 'producer_byte_rate')",
    needs=("client_quotas",),
    made_by="cluster_metadata_to_delta",
)
