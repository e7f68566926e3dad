"""Several rows of client_traffic that are about one client, broker and time, as one."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from pipelines.tables.traffic import CLIENT_TRAFFIC

_GREATEST = ("window_ms", "throttle_ms_max")
_SUMS = (
    *("produced_bytes", "fetched_bytes", "produce_requests", "fetch_requests"),
    *("throttle_ms_sum", "throttled_answers", "connections"),
    "produce_throttle_ms_sum",
)
_MAX_VALUES = {"INT": 2**31 - 1, "BIGINT": 2**63 - 1}
_NEWEST = (
    *("client_software_name", "client_software_version", "received_at"),
    *("topic", "partition", "offset"),
)


def add_up() -> list[Column]:
    """Return what becomes of several rows of one key: all columns beside it."""
    kinds = {field.name: field.sql_type for field in CLIENT_TRAFFIC.columns}
    # Of one partition the greatest offset, and all records of a client are in one.
    order = F.struct("received_at", "partition", "offset")
    newest = F.max_by(F.struct(*_NEWEST), order)
    return [
        *(F.max(name).alias(name) for name in _GREATEST),
        *(_sum_up_to_max(name, kinds[name]).alias(name) for name in _SUMS),
        *(newest.getField(name).alias(name) for name in _NEWEST),
        F.array_sort(F.flatten(F.collect_list("push_ids"))).alias("push_ids"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("api_versions")))).alias(
            "api_versions"
        ),
    ]


def _sum_up_to_max(name: str, kind: str) -> Column:
    """Return a sum that is at most the maximum of its type, instead of an error."""
    total = F.sum(F.col(name).cast("decimal(19,0)"))
    return F.least(total, F.lit(_MAX_VALUES[kind])).cast(kind)
