"""Use of each quota: by the proxy's counts, or estimated from the clients' reports.

Reads only. Each broker applies a limit to all clients of one quota-id together. So the
use is the sum over these clients, at one broker. For each client and broker, the newest
window of the proxy counts, unless the cluster has much newer windows.
"""

from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .quota_clients import CLIENT, CONSUMER_KEY, LIVE_INSTANCES, PRODUCER_KEY

USE_COLUMNS = ("used_rate", "use", "throttled_ms")
_WHO = ("cluster_id", "principal", "client_id")
_SHARED = ("cluster_id", "quota_key", "sharing_id")
_SILENCE = timedelta(minutes=15)
"""Behind it a time says nothing of now, or behind three times as long as it was."""
_LONGEST_TIME = timedelta(hours=1)
"""The greatest proxy.traffic_interval_ms."""
_SECOND_MS = 1_000
SHARING_ID_SQL = (
    "coalesce(concat('quota-id ', quota_id), "
    "to_json(named_struct('principal', principal, 'client_id', client_id)))"
)
"""Text that is equal for clients with a common limit, and unique for all others."""

# Each broker applies the limit to its own part of the traffic. The proxy counts by
# broker. Clients report only their rate at all brokers together.
QUOTA_USE_SQL = """
WITH clients AS (
  SELECT *, {sharing_id} AS sharing_id
  FROM effective_quotas
  WHERE quota_key <> 'connection_creation_rate'
),
shared AS (
  SELECT cluster_id, quota_key, sharing_id, max(quota_id) AS quota_id,
    min(struct(principal, client_id)) AS who,
    count(DISTINCT principal, client_id) AS clients,
    max(shared_by) AS shared_by,
    max(`limit`) AS `limit`,
    max(live_brokers) AS live_brokers,
    max(cluster_limit) AS cluster_limit,
    max(used_rate) AS counted_rate,
    sum(reported_rate) AS reported_rate,
    greatest(max(throttled_ms), max(reported_throttle_ms_max)) AS throttled_ms,
    max(entity_path) AS entity_path
  FROM clients
  GROUP BY cluster_id, quota_key, sharing_id
)
SELECT cluster_id, quota_key, quota_id, sharing_id,
  who.principal AS principal, who.client_id AS client_id,
  int(clients) AS clients, shared_by, `limit`, live_brokers, cluster_limit,
  CASE
    WHEN counted_rate IS NOT NULL THEN 'proxy'
    WHEN reported_rate IS NOT NULL THEN 'reported'
  END AS basis,
  coalesce(counted_rate, reported_rate) AS used_rate,
  IF(counted_rate IS NOT NULL,
    try_divide(counted_rate, `limit`), try_divide(reported_rate, cluster_limit)
  ) AS `use`,
  throttled_ms, entity_path
FROM shared
""".replace("{sharing_id}", SHARING_ID_SQL)

CLIENT_QUOTA_USE_SQL = """
WITH clients AS (
  SELECT cluster_id, principal, client_id, quota_key, {sharing_id} AS sharing_id,
    sum(reported_rate) AS reported_rate,
    max(reported_throttle_ms_max) AS reported_throttle_ms_max,
    max(level) AS level, max(reason) AS reason
  FROM effective_quotas
  GROUP BY ALL
)
SELECT u.cluster_id, c.principal, c.client_id, u.quota_key, u.quota_id, u.shared_by,
  u.`limit`, u.live_brokers, u.cluster_limit, u.basis, u.used_rate, u.`use`,
  u.throttled_ms, u.entity_path, c.reported_rate, c.reported_throttle_ms_max, c.level,
  c.reason
FROM clients AS c JOIN quota_use AS u
  ON c.cluster_id = u.cluster_id AND c.quota_key = u.quota_key
  AND c.sharing_id = u.sharing_id
""".replace("{sharing_id}", SHARING_ID_SQL)


def select_quota_use(effective_quotas: DataFrame) -> DataFrame:
    """Return the rows of the view `quota_use` for rows of effective_quotas."""
    query = QUOTA_USE_SQL.replace("FROM effective_quotas", "FROM {rows}")
    return effective_quotas.sparkSession.sql(query, rows=effective_quotas)


def select_recent_traffic(client_traffic: DataFrame, now: datetime) -> DataFrame:
    """Return what clients have done lately: of each one and broker the newest time.

    Args:
        client_traffic: The table.
        now: A moment that knows its zone.
    Returns: cluster_id, principal, client_id, broker_id, produced_rate and
        fetched_rate (bytes a second), produce_throttled_ms and fetch_throttled_ms
        (longest throttle time of a response; the longest of both if both occur).
    """
    end_ms = F.unix_millis("window_start") + F.col("window_ms")
    age_ms = F.unix_millis(F.lit(now)) - end_ms
    silence_ms = _SILENCE // timedelta(milliseconds=1)
    recent = client_traffic.where(
        F.col("window_start").between(now - 4 * _LONGEST_TIME - _SILENCE, now)
    ).where(age_ms <= F.greatest(F.lit(silence_ms), 3 * F.col("window_ms")))
    newest = recent.groupBy("cluster_id").agg(
        F.max(F.unix_millis("window_start")).alias("newest_ms")
    )
    # What some have done in the newest time may not be there yet.
    is_late = 2 * F.unix_millis("window_start") + 3 * F.col("window_ms") < 2 * F.col(
        "newest_ms"
    )
    values = F.struct("window_start", *_rates())
    return (
        recent.join(F.broadcast(newest), "cluster_id")
        .where(~is_late)
        .groupBy(*_WHO, "broker_id")
        .agg(F.max(values).alias("newest"))
        .select(*_WHO, "broker_id", "newest.*")
        .drop("window_start")
    )


def _rates() -> list[Column]:
    def a_second(name: str) -> Column:
        return F.col(name) * float(_SECOND_MS) / F.col("window_ms")

    def longest(sum_ms: Column) -> Column:
        # The table has one maximum for both directions.
        return F.least(sum_ms, F.col("throttle_ms_max")).cast("double")

    produce_ms = F.col("produce_throttle_ms_sum")
    fetch_ms = F.col("throttle_ms_sum") - produce_ms
    return [
        a_second("produced_bytes").alias("produced_rate"),
        a_second("fetched_bytes").alias("fetched_rate"),
        longest(produce_ms).alias("produce_throttled_ms"),
        longest(fetch_ms).alias("fetch_throttled_ms"),
    ]


def select_traffic_clients(traffic: DataFrame) -> DataFrame:
    """Return CLIENT of those in select_recent_traffic; of their addresses none."""
    return (
        traffic.select(*_WHO)
        .distinct()
        .withColumn("client_source_address", F.lit(""))
        .select(*CLIENT)
    )


def with_traffic_clients(clients: DataFrame, traffic: DataFrame) -> DataFrame:
    """Add the clients that only the proxy's counts show, with one active instance.

    Args:
        clients: As quota_clients.select_quota_clients returns them.
        traffic: From select_recent_traffic.
    """
    others = traffic.transform(select_traffic_clients).join(
        clients.select(*_WHO), [*_WHO], "left_anti"
    )
    blank = {
        name: F.lit(1 if name == LIVE_INSTANCES else None).cast(kind)
        for name, kind in clients.dtypes
        if name not in CLIENT
    }
    return clients.unionByName(others.withColumns(blank))


def select_use(resolved: DataFrame, traffic: DataFrame) -> DataFrame:
    """Return what is used of each limit that clients share.

    Args:
        resolved: Clients of select_traffic_clients with quota_key and quota_id.
        traffic: From select_recent_traffic.
    Returns: cluster_id, quota_key, sharing_id, used_rate, throttled_ms.
    Shape: A row for each sharing_id, as sharing_id() makes it, and key.
    """
    keys = {PRODUCER_KEY: "produced", CONSUMER_KEY: "fetched"}
    waits = {PRODUCER_KEY: "produce", CONSUMER_KEY: "fetch"}
    by_key = F.array(
        *(
            F.struct(
                F.lit(key).alias("quota_key"),
                F.col(f"{name}_rate").alias("rate"),
                F.col(f"{waits[key]}_throttled_ms").alias("throttled_ms"),
            )
            for key, name in keys.items()
        )
    )
    shares = resolved.where(F.col("quota_key").isin(*keys)).select(
        *_WHO, "quota_key", sharing_id().alias("sharing_id")
    )
    return (
        traffic.select(*_WHO, "broker_id", F.inline(by_key))
        .join(shares, [*_WHO, "quota_key"])
        .groupBy(*_SHARED, "broker_id")
        .agg(F.sum("rate").alias("rate"), F.max("throttled_ms").alias("throttled_ms"))
        .groupBy(*_SHARED)
        .agg(
            F.max("rate").alias("used_rate"),
            F.max("throttled_ms").alias("throttled_ms"),
        )
    )


def with_use(resolved: DataFrame, used: DataFrame) -> DataFrame:
    """Add USE_COLUMNS.

    Args:
        resolved: Clients with quota_key, quota_id and limit.
        used: From select_use.
    Nulls: All where nothing was counted lately; use without a limit as well.
    """
    use = F.when(F.col("limit") > 0, F.col("used_rate") / F.col("limit"))
    return (
        resolved.withColumn("sharing_id", sharing_id())
        .join(used, [*_SHARED], "left")
        .withColumn("use", use)
        .drop("sharing_id")
    )


def sharing_id() -> Column:
    """Return SHARING_ID_SQL as a column."""
    return F.expr(SHARING_ID_SQL)
