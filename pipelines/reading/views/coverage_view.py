"""`client_metric_coverage`: whether clients deliver what KIP-714 asks of them.

What the absence of a metric means depends on the client's software, as
conf/metric_semantics.csv has it. A client that leaves out metrics whenever nothing
happens is judged by the pushes of a day, any other client by its newest pushes.
"""

from pipelines.reading.client_states import ACTIVE
from pipelines.settings.metric_semantics import NEVER, ZERO, load_metric_semantics
from pipelines.tables.contract import quote_text

from .client_software_views import FAMILY_SQL
from .client_subscriptions_view import is_subscribed_sql
from .view import Sources, View

COVERAGE = "client_metric_coverage"
NEWEST_PUSHES = 3
"""Pushes in one of which a metric must be, if its absence is no good news."""
DELIVERED, NOTHING_HAPPENED, NOT_ASKED, NOT_SUPPORTED, MISSING, WRONG_KIND = (
    *("delivered", "nothing_happened", "not_asked", "not_supported"),
    *("missing", "wrong_kind"),
)
"""Values of status."""
EMPTY, NEVER_PUSHED = "empty", "never_pushed"
"""Values of client_state besides the states of clients."""

_WHO = (
    "client_instance_id, client_id, principal, client_software_name, "
    "client_software_version, client_type, cluster_id"
)
_COVERAGE_SQL = f"""
WITH standard AS (
  SELECT metric, client_type AS standard_type, kind, java, librdkafka, franz_go,
    IF(array_contains(levels, 'node'), 'node_id', NULL) AS label,
    requirement = 'required' AS is_required
  FROM metric_semantics WHERE requirement IS NOT NULL
),
known AS (
  SELECT *, {FAMILY_SQL} AS family FROM (
    SELECT {_WHO}, state, last_push FROM clients
    UNION ALL
    SELECT {_WHO}, '{NEVER_PUSHED}', NULL FROM known_instances
    WHERE known_by = 'configs'
  )
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
    CASE family WHEN 'java' THEN java WHEN 'librdkafka' THEN librdkafka
      WHEN 'franz-go' THEN franz_go END AS absence,
    coalesce(named_struct('at', newest.at, 'push_id', newest.push_id) >= oldest, false)
      AS is_newest,
    coalesce(newest.at >= last_push - INTERVAL 1 DAY, false) AS is_of_day,
    {is_subscribed_sql("standard.metric", "asked.prefixes")} AS is_asked
  FROM known
  JOIN standard ON coalesce(known.client_type, standard_type) = standard_type
  LEFT JOIN client_subscriptions AS asked
    ON known.client_instance_id = asked.client_instance_id
  LEFT JOIN recent ON known.client_instance_id = recent.client_instance_id
  LEFT JOIN delivered ON known.client_instance_id = delivered.client_instance_id
    AND standard.metric = delivered.metric
),
judged AS (
  SELECT *, is_newest OR (is_of_day AND absence <=> '{ZERO}') AS is_delivered
  FROM covered
)
SELECT cluster_id, client_instance_id, client_id, principal, client_type, metric, kind,
  label, is_required,
  CASE
    WHEN is_delivered AND delivered_kind = kind THEN '{DELIVERED}'
    WHEN is_delivered THEN '{WRONG_KIND}'
    WHEN absence = '{NEVER}' THEN '{NOT_SUPPORTED}'
    WHEN NOT is_asked THEN '{NOT_ASKED}'
    WHEN absence = '{ZERO}' AND last_push IS NOT NULL THEN '{NOTHING_HAPPENED}'
    ELSE '{MISSING}'
  END AS status,
  delivered_kind, last_delivered, last_push,
  IF(state = '{ACTIVE}' AND points = 0, '{EMPTY}', state) AS client_state
FROM judged
"""


def _query(_: Sources) -> str:
    """Return the SQL of the view; the names of metrics reach the files of points."""
    metrics = (one.metric for one in load_metric_semantics() if one.requirement)
    return _COVERAGE_SQL.format(metrics=", ".join(map(quote_text, metrics)))


VIEW = View(
    name=COVERAGE,
    row="A client instance and a metric that KIP-714 has its type of client deliver "
    "(`requirement` in `metric_semantics`). `status`: `delivered` (in one of the last "
    "three pushes, or within a day if the client leaves it out when nothing happens), "
    "`wrong_kind` (the same, but a sum instead of a gauge, or a gauge instead of a "
    "sum), `nothing_happened` (the client leaves it out, and did so for a day), "
    "`not_supported` (the software does not have it), `not_asked` (no subscription in "
    "force for the client asks for it) or `missing`. "
    "`client_state` tells clients whose last three pushes were `empty` from those that "
    "are `idle`. A client whose type is not known has a row for each metric.",
    sql=_query,
    needs=(
        *("clients", "known_instances", "client_metrics", "client_pushes"),
        *("client_subscriptions", "metric_semantics"),
    ),
    made_by="client_telemetry_to_delta",
)
