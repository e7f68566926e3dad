"""`client_subscriptions`: which metrics the subscriptions in force ask of each client.

A query works this out each time: from the subscriptions of conf/, and from those of the
clients' cluster if client_metrics_subscriptions has them, by the rules of the bridge. A
client ID that is hidden or cut off is compared as it is stored.
"""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.settings.records import SubscriptionSettings
from pipelines.tables.contract import quote_text
from udfs.spark_subscriptions import make_matching_function
from udfs.subscriptions.properties import SELECTORS, split_selector, trim

from .view import Sources, View

CLIENT_SUBSCRIPTIONS = "client_subscriptions"
_MATCHES = "subscription_matches"
_CONF_ONLY, _CLUSTER_ONLY = "conf", "cluster"
_WHO = (
    "client_instance_id, client_id, principal, client_software_name, "
    "client_software_version, client_source_address, cluster_id"
)
_OWN_SQL = """
  SELECT CAST(NULL AS STRING) AS cluster_id, *, CAST(NULL AS ARRAY<STRING>) AS held_by
  FROM own
"""
# A resource of the cluster replaces one of conf/ of the same name, used or not.
_BOTH_SQL = """
  SELECT cluster_id, name, metrics, match, CAST(NULL AS ARRAY<STRING>) AS held_by
  FROM client_metrics_subscriptions WHERE is_current AND problem IS NULL
UNION ALL
  SELECT CAST(NULL AS STRING), own.*, held.held_by FROM own LEFT JOIN (
    SELECT name, collect_set(cluster_id) AS held_by
    FROM client_metrics_subscriptions WHERE is_current GROUP BY name
  ) AS held ON own.name = held.name
"""
_ATTRIBUTES = ", ".join(f"CAST({name} AS STRING)" for name in SELECTORS)
_SUBSCRIPTIONS_SQL = f"""
WITH known AS (
  SELECT {_WHO}, client_source_port FROM clients
  UNION ALL
  SELECT {_WHO}, NULL FROM known_instances WHERE known_by = 'configs'
),
own AS ({{own}}),
subscriptions AS ({{subscriptions}})
SELECT client_instance_id, flatten(collect_set(metrics)) AS prefixes
FROM (
  SELECT known.*, s.metrics, s.match FROM known CROSS JOIN subscriptions AS s
  WHERE (s.cluster_id IS NULL OR coalesce(s.cluster_id = known.cluster_id, true))
    AND NOT coalesce(array_contains(s.held_by, known.cluster_id),
      s.held_by IS NOT NULL)
)
WHERE {_MATCHES}(match, {_ATTRIBUTES}) GROUP BY client_instance_id
"""


def is_subscribed_sql(metric: str, prefixes: str = "prefixes") -> str:
    """Return the SQL for whether the prefixes of a client include a metric.

    Args:
        metric: SQL of the metric's name.
        prefixes: SQL of the column prefixes; null: the client has no subscription.
    """
    return (
        f"coalesce(exists({prefixes}, "
        f"one -> one = '*' OR startswith({metric}, one)), false)"
    )


def _query(sources: Sources) -> str:
    """Return the SQL of the view."""
    sources.spark.udf.register(_MATCHES, make_matching_function())
    source = sources.settings.bridge.subscriptions_source
    own = () if source == _CLUSTER_ONLY else sources.settings.subscriptions
    is_followed = source != _CONF_ONLY
    has_table = "client_metrics_subscriptions" in sources.registered
    return _SUBSCRIPTIONS_SQL.format(
        own=_select_own(own),
        subscriptions=_BOTH_SQL if is_followed and has_table else _OWN_SQL,
    )


def _select_own(subscriptions: Sequence[SubscriptionSettings]) -> str:
    """Return the SQL of the subscriptions of conf/: name, metrics and match."""
    nobody = "SELECT '' AS name, {}, {} WHERE false".format(
        "CAST(NULL AS ARRAY<STRING>) AS metrics",
        "CAST(NULL AS MAP<STRING, STRING>) AS match",
    )
    return " UNION ALL ".join([nobody, *_select_usable(subscriptions)])


def _select_usable(subscriptions: Sequence[SubscriptionSettings]) -> Iterator[str]:
    for one in subscriptions:
        try:
            match = dict(split_selector(item) for item in one.match)
        except ValueError:
            # No bridge starts with it.
            continue
        metrics = [trim(item) for item in one.metrics]
        yield (
            f"SELECT {quote_text(one.name)}, {_array_sql(metrics)}, {_map_sql(match)}"
        )


def _array_sql(texts: Sequence[str]) -> str:
    return f"CAST(array({', '.join(map(quote_text, texts))}) AS ARRAY<STRING>)"


def _map_sql(texts: Mapping[str, str]) -> str:
    pairs = (quote_text(text) for pair in texts.items() for text in pair)
    return f"CAST(map({', '.join(pairs)}) AS MAP<STRING, STRING>)"


VIEW = View(
    name=CLIENT_SUBSCRIPTIONS,
    row="A client instance for which a subscription is in force: those of `conf/` and, "
    "if the table exists, of `client_metrics_subscriptions`, as "
    "`bridge.subscriptions_source` says. `prefixes`: it is asked for metrics whose "
    "names start with one of them; `*` and the empty prefix: all metrics.",
    sql=_query,
    needs=("clients", "known_instances"),
    uses=("client_metrics_subscriptions",),
    made_by="client_telemetry_to_delta",
)
