"""How long clients wait for brokers, over time, by broker and by client. Reads only."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from .naming import with_client
from .points import choose_metrics
from .rollups import instance_values, roll_up
from .throttling import FETCH_AVG, PRODUCE_AVG

_PRODUCER = "org.apache.kafka.producer."
_CONSUMER = "org.apache.kafka.consumer."
# Fetch latency is not among them: for a consumer that waits for records it is the wait.
OWN_LATENCY_METRICS = (
    f"{_PRODUCER}request.latency.avg",
    f"{_CONSUMER}request.latency.avg",
)
"""Mean duration of a client's requests, in milliseconds; consumers do not report it."""
NODE_LATENCY_METRICS = (
    f"{_PRODUCER}node.request.latency.avg",
    f"{_CONSUMER}node.request.latency.avg",
)
"""The same for each broker, over all requests to it."""
NODE_MAX_METRICS = tuple(
    metric.replace(".avg", ".max") for metric in NODE_LATENCY_METRICS
)
LATENCY_METRICS = (*OWN_LATENCY_METRICS, *NODE_LATENCY_METRICS)
QUANTILES = {"half of the clients": 0.5, "9 of 10": 0.9, "99 of 100": 0.99, "all": 1.0}
"""Name of a line to the share of clients that wait at most that long."""
_WHOLE_SHARE = 0.9
"""Part of the newest window that must have passed, so that few clients are missing."""
WAITS = {
    "request": f"{_PRODUCER}request.latency.avg",
    "record to be sent": f"{_PRODUCER}record.queue.time.avg",
    "throttled produce": PRODUCE_AVG,
    "fetch": f"{_CONSUMER}fetch.manager.fetch.latency.avg",
    "commit": f"{_CONSUMER}coordinator.commit.latency.avg",
    "throttled fetch": FETCH_AVG,
}
"""What a client waits for to the metric that reports how long, in milliseconds."""
BROKER, COORDINATOR = "broker", "coordinator"
NO_CLIENT_ID = "(no client ID)"
_CLIENT = ("cluster_id", "client_instance_id", "client_id", "principal", "client_type")


def select_request_latency(points: DataFrame) -> DataFrame:
    """Return the request latency of client instances, push by push.

    It is the client's own metric if the push has it, whatever its value; otherwise its
    brokers' values, combined over nodes.

    Args:
        points: As read_points returns them.
    Returns: cluster_id, client_instance_id, client_id, principal, client_type,
        received_at, at, latency_ms. A value of zero or NaN means that there was no
        request; a push without a request has no row.
    """
    is_own = F.col("metric").isin(*OWN_LATENCY_METRICS)
    own, of_nodes = (
        F.avg(F.when(condition & (F.col("value") > 0), F.col("value")))
        for condition in (is_own, ~is_own)
    )
    return (
        points.transform(choose_metrics, LATENCY_METRICS)
        # A node without a request must not count in the mean over nodes.
        .where((F.col("value") > 0) | is_own)
        .transform(instance_values)
        .groupBy(*_CLIENT, "push_id", "received_at")
        .agg(
            F.max("at").alias("at"),
            F.when(F.max(is_own), own).otherwise(of_nodes).alias("latency_ms"),
        )
        .where(F.col("latency_ms").isNotNull())
        .drop("push_id")
    )


def select_newest_latency(points: DataFrame) -> DataFrame:
    """Return the newest request latency of each client instance that made a request.

    Returns: client_instance_id, latency_ms.
    """
    return (
        points.transform(select_request_latency)
        .groupBy("client_instance_id")
        .agg(F.max_by("latency_ms", "received_at").alias("latency_ms"))
    )


def select_latency_over_time(points: DataFrame) -> DataFrame:
    """Return cluster_id, client, at and latency_ms: a line for each instance."""
    return (
        points.transform(select_request_latency)
        .transform(with_client)
        .select("cluster_id", "client", "at", "latency_ms")
        .orderBy("at", "client")
    )


def select_latency_bands(points: DataFrame, *, window_s: int) -> DataFrame:
    """Return how long clients wait for an answer, over time.

    Args:
        points: As read_points returns them.
        window_s: Window length in seconds.
    Returns: cluster_id, window_start, clients_within (a key of QUANTILES), latency_ms:
        the longest mean of a request among that share of the clients, the fastest
        first. A share that so few clients cannot tell from all of them is left out, and
        so is a window in which no client made a request. The newest window is left out
        if less than nine tenths of it have passed and it is not the only one.
    """
    window = F.window("at", f"{window_s} seconds").getField("start")
    of_cluster = Window.partitionBy("cluster_id")
    whole_at = F.timestamp_seconds(
        F.unix_seconds("window_start") + F.lit(_WHOLE_SHARE * window_s)
    )
    shares = F.array(*map(F.lit, QUANTILES.values()))
    names = F.array(*map(F.lit, QUANTILES))
    return (
        points.transform(select_request_latency)
        .groupBy("cluster_id", window.alias("window_start"), "client_instance_id")
        .agg(F.avg("latency_ms").alias("latency_ms"), F.max("at").alias("newest"))
        .groupBy("cluster_id", "window_start")
        .agg(
            F.percentile_approx("latency_ms", shares, 10_000).alias("found"),
            F.count("*").alias("clients"),
            F.max("newest").alias("newest"),
        )
        .withColumns(
            {
                "most": F.max("clients").over(of_cluster),
                "first": F.min("window_start").over(of_cluster),
                "newest": F.max("newest").over(of_cluster),
            }
        )
        .where(
            (F.col("newest") >= whole_at) | (F.col("window_start") == F.col("first"))
        )
        .withColumn("band", F.explode(F.arrays_zip(names, shares, "found")))
        .where((F.col("band")["1"] == 1) | (_left_out("most", "band") >= 1))
        .select(
            "cluster_id",
            "window_start",
            F.col("band")["0"].alias("clients_within"),
            F.col("band")["found"].alias("latency_ms"),
        )
        .orderBy("window_start", "latency_ms")
    )


def _left_out(clients: str, band: str) -> Column:
    """Return how many clients are beyond the share of a band."""
    # Rounded, because 100 * (1 - 0.99) is a little less than 1.
    return F.round(F.col(clients) * (1 - F.col(band)["1"]), 6)


def select_latency_by_broker(points: DataFrame) -> DataFrame:
    """Return how long clients wait for each broker.

    Args:
        points: As read_points returns them.
    Returns: cluster_id, name (broker, with the role of a coordinator), broker, role,
        clients (count of instances), latency_ms (by the semantics of the metric),
        latency_ms_max; the slowest first. role is coordinator
        for the connection of group members to their coordinator, whose requests wait
        for other members; otherwise broker. Bootstrap connections are left out.
    """
    is_max = F.col("metric").isin(*NODE_MAX_METRICS)
    by = ("cluster_id", "node_id", "node_role")
    weight = F.when(~is_max, F.col("instances"))
    mean = F.sum(F.col("value") * weight) / F.sum(weight)
    suffix = F.when(F.col("node_role") == COORDINATOR, " (coordinator)").otherwise("")
    return (
        points.transform(choose_metrics, (*NODE_LATENCY_METRICS, *NODE_MAX_METRICS))
        .where(F.col("node_role").isin(BROKER, COORDINATOR) & (F.col("value") > 0))
        .transform(roll_up, by=by)
        .groupBy(*by)
        .agg(
            F.sum(weight).alias("clients"),
            mean.alias("latency_ms"),
            F.max(F.when(is_max, F.col("value"))).alias("latency_ms_max"),
        )
        .select(
            "cluster_id",
            F.concat("node_id", suffix).alias("name"),
            F.col("node_id").try_cast("bigint").alias("broker"),
            F.col("node_role").alias("role"),
            "clients",
            "latency_ms",
            "latency_ms_max",
        )
        .orderBy(F.desc_nulls_last("latency_ms"), "cluster_id", "broker", "role")
    )


def select_waits(points: DataFrame) -> DataFrame:
    """Return what clients wait for, and how long on average.

    Args:
        points: As read_points returns them.
    Returns: cluster_id, name (client ID and wait), client_id, wait (a key of WAITS),
        wait_ms, clients (count of instances); the longest first.
    """
    return (
        points.transform(choose_metrics, tuple(WAITS.values()))
        .transform(roll_up, by=("cluster_id", "client_id"))
        .withColumn("wait", name_metrics(WAITS))
        .select(
            "cluster_id",
            F.concat_ws(
                ": ", F.coalesce("client_id", F.lit(NO_CLIENT_ID)), "wait"
            ).alias("name"),
            "client_id",
            "wait",
            F.col("value").alias("wait_ms"),
            F.col("instances").alias("clients"),
        )
        .orderBy(F.desc("wait_ms"), "wait", "client_id")
    )


def name_metrics(names: dict[str, str]) -> Column:
    """Return the name of column metric.

    Args:
        names: Name to metric.
    """
    pairs = (F.lit(one) for pair in names.items() for one in pair[::-1])
    return F.create_map(*pairs)[F.col("metric")]
