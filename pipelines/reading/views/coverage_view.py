"""`client_metric_coverage`: whether clients deliver what KIP-714 asks of them.

Who is asked for what is worked out when somebody asks, by the subscriptions in force:
those of conf/, and those of the clients' cluster where client_metrics_subscriptions has
them, by the rules of the bridge. A client id that is hidden, or cut off, is compared as
it is stored.
"""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.reading.client_states import ACTIVE
from pipelines.settings.metric_semantics import REQUIRED, load_metric_semantics
from pipelines.settings.records import SubscriptionSettings
from pipelines.tables.contract import quote_text
from udfs.spark_subscriptions import make_matching_function
from udfs.subscriptions.properties import SELECTORS, split_selector, trim

from .view import Sources, View

COVERAGE = "client_metric_coverage"
_MATCHES = "subscription_matches"
NEWEST_PUSHES = 3
"""Pushes in one of which a metric must have been."""
DELIVERED, NOT_ASKED, MISSING, WRONG_KIND = (
    *("delivered", "not_asked", "missing", "wrong_kind"),
)
"""Values of status."""
EMPTY, NEVER_PUSHED = "empty", "never_pushed"
"""Values of client_state besides the states of clients."""
_CONF_ONLY, _CLUSTER_ONLY = "conf", "cluster"

_WHO = (
    "client_instance_id, client_id, principal, client_software_name, "
    "client_software_version, client_source_address, client_type, cluster_id"
)
_KNOWN_SQL = f"""
  SELECT {_WHO}, client_source_port, state, last_push FROM clients
UNION ALL
  SELECT {_WHO}, NULL, '{NEVER_PUSHED}', NULL FROM known_instances
  WHERE known_by = 'configs'
"""
_OWN_SQL = """
  SELECT CAST(NULL AS STRING) AS cluster_id, *, CAST(NULL AS ARRAY<STRING>) AS held_by
  FROM own
"""
# A resource of the cluster stands before one of conf/ of its name, used or not.
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
_COVERAGE_SQL = f"""
WITH standard AS (
  SELECT * FROM VALUES {{standard}}
  AS (standard_type, metric, kind, label, is_required)
),
known AS ({{known}}),
own AS ({{own}}),
subscriptions AS ({{subscriptions}}),
asked AS (
  SELECT client_instance_id, flatten(collect_set(metrics)) AS prefixes
  FROM (
    SELECT known.*, s.metrics, s.match FROM known CROSS JOIN subscriptions AS s
    WHERE (s.cluster_id IS NULL OR coalesce(s.cluster_id = known.cluster_id, true))
      AND NOT coalesce(array_contains(s.held_by, known.cluster_id),
        s.held_by IS NOT NULL)
  )
  WHERE {_MATCHES}(match, {_ATTRIBUTES}) GROUP BY client_instance_id
),
recent AS (
  SELECT client_instance_id, sum(point_count) AS points,
    min(named_struct('at', received_at, 'push_id', push_id)) AS oldest
  FROM (
    SELECT client_instance_id, received_at, push_id, point_count, row_number() OVER (
      PARTITION BY client_instance_id ORDER BY received_at DESC, push_id DESC
    ) AS place
    FROM client_pushes
  )
  WHERE place <= {NEWEST_PUSHES} GROUP BY client_instance_id
),
delivered AS (
  SELECT client_instance_id, metric,
    max(named_struct('at', received_at, 'push_id', push_id, 'kind', kind)) AS newest
  FROM client_metrics WHERE metric IN ({{metrics}})
  GROUP BY client_instance_id, metric
),
covered AS (
  SELECT known.*, standard.*, newest.kind AS delivered_kind,
    newest.at AS last_delivered, points,
    coalesce(named_struct('at', newest.at, 'push_id', newest.push_id) >= oldest, false)
      AS is_recent,
    coalesce(exists(prefixes, one -> one = '*' OR startswith(standard.metric, one)),
      false) AS is_asked
  FROM known
  JOIN standard ON coalesce(known.client_type, standard_type) = standard_type
  LEFT JOIN asked ON known.client_instance_id = asked.client_instance_id
  LEFT JOIN recent ON known.client_instance_id = recent.client_instance_id
  LEFT JOIN delivered ON known.client_instance_id = delivered.client_instance_id
    AND standard.metric = delivered.metric
)
SELECT cluster_id, client_instance_id, client_id, principal, client_type, metric, kind,
  label, is_required,
  CASE
    WHEN is_recent AND delivered_kind = kind THEN '{DELIVERED}'
    WHEN is_recent THEN '{WRONG_KIND}'
    WHEN is_asked THEN '{MISSING}'
    ELSE '{NOT_ASKED}'
  END AS status,
  delivered_kind, last_delivered, last_push,
  IF(state = '{ACTIVE}' AND points = 0, '{EMPTY}', state) AS client_state
FROM covered
"""


def _query(sources: Sources) -> str:
    """Return the SQL of the view."""
    sources.spark.udf.register(_MATCHES, make_matching_function())
    source = sources.settings.bridge.subscriptions_source
    own = () if source == _CLUSTER_ONLY else sources.settings.subscriptions
    is_followed = source != _CONF_ONLY
    has_table = "client_metrics_subscriptions" in sources.registered
    standard = [one for one in load_metric_semantics() if one.requirement]
    return _COVERAGE_SQL.format(
        standard=", ".join(
            f"({quote_text(str(one.client_type))}, {quote_text(one.metric)}, "
            f"{quote_text(one.kind)}, "
            f"{'NULL' if one.label is None else quote_text(one.label)}, "
            f"{str(one.requirement == REQUIRED).lower()})"
            for one in standard
        ),
        metrics=", ".join(quote_text(one.metric) for one in standard),
        known=_KNOWN_SQL,
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
    name=COVERAGE,
    row="A client instance and a metric that KIP-714 has its type of client "
    "deliver (`conf/metric_semantics.csv`): `status` is `delivered` (in one of the "
    "last three pushes), `wrong_kind` (the same, but a sum where it should be a gauge, "
    "or the other way), `not_asked` (no subscription in force for the client asks for "
    "it) or `missing`; "
    "`client_state` tells clients whose last three pushes were `empty` from those that "
    "are `idle`. A client whose type is not known has a row for each metric.",
    sql=_query,
    needs=("clients", "known_instances", "client_metrics", "client_pushes"),
    uses=("client_metrics_subscriptions",),
    made_by="client_telemetry_to_delta",
)
