"""The view `effective_client_configs`: what is set for clients, and what became of it.

The entries of client_config_entries, with the dynamic client config (KIP-649) that is
set for the client beside each, as the bridge resolves it: key by key, (user, client id)
over (user, default client id) over user. What a client was last seen with, pushed or on
the wire, says whether it is so. A client whose type has no such key, by the catalogs,
is not meant by what is set for its user.
"""

from pipelines.reading.client_states import INSTANCE_KEY

from .view import View
from .wire_config_views import WIRE

EFFECTIVE = "effective_client_configs"
SET_VALUES = "client_dynamic_values"
"""What is set for each client instance, whatever became of it; not for readers."""
DYNAMIC_CLIENT, DYNAMIC_DEFAULT_CLIENT, DYNAMIC_USER = (
    *("dynamic_client", "dynamic_default_client"),
    "dynamic_user",
)
"""Values of source and dynamic_source, the first that has a value for a key wins."""
APPLIED, PENDING, IGNORED, UNSUPPORTED = "applied", "pending", "ignored", "unsupported"
"""Values of state."""
_LEVELS = {1: DYNAMIC_CLIENT, 2: DYNAMIC_DEFAULT_CLIENT, 3: DYNAMIC_USER}
_SOURCE_SQL = " ".join(f"WHEN {n} THEN '{name}'" for n, name in _LEVELS.items())
_USER_PRINCIPAL = "User:"
_WHO = """cluster_id, client_instance_id, client_id, principal, client_software_name,
    client_software_version, client_source_address, client_type"""


def _same_text(column: str) -> str:
    """Return SQL for a value of dynamic_key so that equal ones are equal texts."""
    trimmed = f"trim({column})"
    number = f"string(try_cast({trimmed} AS BIGINT))"
    return (
        f"CASE WHEN dynamic_key = 'acks' AND {trimmed} = 'all' THEN '-1' "
        f"ELSE coalesce({number}, {trimmed}) END"
    )


_EITHER = ", ".join(
    f"coalesce(e.{name}, n.{name}) AS {name}"
    for name in (*map(str.strip, _WHO.split(",")), "logical_client", "config_key")
)
# A value that is set anew, or that a more special one stood over until then, is newer
# than its own row: a client could not know it before.
_SET_VALUES_SQL = f"""
WITH clients_known AS (
  -- Keys are registered for the software that pushes configurations.
  SELECT {INSTANCE_KEY} AS client, {_WHO}, logical_client FROM (
    SELECT k.* EXCEPT (client_software_name, client_software_version),
      coalesce(c.client_software_name, k.client_software_name)
        AS client_software_name,
      coalesce(c.client_software_version, k.client_software_version)
        AS client_software_version
    FROM known_instances AS k LEFT JOIN client_configs AS c
      ON k.client_instance_id = c.client_instance_id
  )
),
key_types AS (
  SELECT config_key, collect_set(client_type) AS types FROM config_catalog
  GROUP BY config_key
),
matching AS (
  SELECT c.*, d.config_key, d.config_value, d.valid_from, d.valid_to, d.is_current,
    CASE WHEN d.is_default_client_id THEN 2 WHEN d.client_id = '' THEN 3 ELSE 1 END
      AS level
  FROM clients_known AS c JOIN dynamic_client_configs AS d
    ON c.principal = concat('{_USER_PRINCIPAL}', d.user_name)
    AND (d.is_default_client_id OR d.client_id = '' OR d.client_id = c.client_id)
  LEFT JOIN key_types AS k ON d.config_key = k.config_key
  WHERE c.client_type IS NULL OR k.types IS NULL
    OR array_contains(k.types, c.client_type)
),
resolved AS (
  SELECT client, {_WHO}, logical_client, config_key,
    min_by(named_struct('level', level, 'value', config_value, 'since', valid_from),
      level) FILTER (WHERE is_current) AS held,
    collect_list(named_struct('level', level, 'at', valid_to))
      FILTER (WHERE NOT is_current) AS ended
  FROM matching GROUP BY ALL
)
SELECT client, {_WHO}, logical_client, config_key, held.value AS dynamic_value,
  CASE held.level {_SOURCE_SQL} END AS dynamic_source,
  greatest(held.since, array_max(transform(
    filter(ended, one -> one.level < held.level), one -> one.at
  ))) AS dynamic_since
FROM resolved WHERE held IS NOT NULL
"""
_EFFECTIVE_SQL = f"""
WITH supporting AS (
  SELECT v.*,
    coalesce(array_contains(s.config_keys, v.config_key), false) AS is_supported,
    array_append(coalesce(n.other_names, array()), v.config_key) AS names
  FROM client_dynamic_values AS v
  LEFT JOIN client_supported_configs AS s
    ON v.principal = concat('{_USER_PRINCIPAL}', s.user_name)
    AND coalesce(v.client_id, '') = s.client_id
    AND v.client_software_name = s.client_software_name
    AND v.client_software_version = s.client_software_version
  LEFT JOIN config_catalog_names AS n
    ON v.client_software_name = n.client_software_name
    AND v.client_type = n.client_type AND v.config_key = n.config_key
),
named AS (
  SELECT client, config_key AS dynamic_key, explode(names) AS name FROM supporting
),
entries AS (
  SELECT e.*, n.dynamic_key
  FROM (SELECT *, {INSTANCE_KEY} AS client FROM client_config_entries) AS e
  LEFT JOIN named AS n ON e.client = n.client AND e.config_key = n.name
),
on_wire AS (
  SELECT {INSTANCE_KEY} AS client, config_key, max(received_at) AS wire_at,
    max_by(config_value, received_at) AS wire_value
  FROM client_wire_values WHERE config_value IS NOT NULL GROUP BY ALL
),
told AS (
  SELECT v.*, w.wire_value, w.wire_at, c.received_at AS pushed_at,
    get(filter(
      transform(v.names, one -> try_element_at(c.configs, one).config_value),
      one -> one IS NOT NULL
    ), 0) AS pushed_value
  FROM supporting AS v
  LEFT JOIN client_configs AS c ON v.client_instance_id = c.client_instance_id
  LEFT JOIN on_wire AS w ON v.client = w.client AND v.config_key = w.config_key
),
newest AS (
  SELECT client, {_WHO}, logical_client, config_key, is_supported, dynamic_value,
    dynamic_source, dynamic_since, wire_value,
    IF(is_wire, wire_value, pushed_value) AS told_value,
    IF(is_wire, wire_at, IF(pushed_value IS NULL, NULL, pushed_at)) AS told_at
  FROM (
    SELECT *, wire_value IS NOT NULL
      AND (pushed_value IS NULL OR wire_at > pushed_at) AS is_wire
    FROM told
  )
),
beside AS (
  SELECT {_EITHER}, n.config_key AS dynamic_key, e.received_at, e.push_id,
    e.config_value, e.config_type, e.is_default, e.status, e.value_boolean,
    e.value_long, e.value_double, e.value_list, e.value_string, e.source, e.is_pushed,
    e.catalog_version, n.dynamic_value, n.dynamic_source, n.dynamic_since, n.wire_value,
    n.is_supported, coalesce(n.told_at, e.received_at) AS seen_at,
    -- A push without the key says that the client has its default.
    coalesce(n.told_value, IF(e.source = '{WIRE}', NULL, e.config_value)) AS seen_value
  FROM entries AS e FULL JOIN newest AS n
    ON e.client = n.client AND e.dynamic_key = n.config_key
),
compared AS (
  SELECT *, {_same_text("seen_value")} = {_same_text("dynamic_value")} AS is_obeyed
  FROM beside
),
judged AS (
  SELECT *, CASE
    WHEN dynamic_value IS NULL THEN NULL
    WHEN NOT is_supported THEN '{UNSUPPORTED}'
    WHEN is_obeyed THEN '{APPLIED}'
    WHEN seen_value IS NULL OR seen_at < dynamic_since THEN '{PENDING}'
    ELSE '{IGNORED}'
  END AS state
  FROM compared
)
SELECT {_WHO}, logical_client, received_at, push_id, config_key,
  IF(state = '{APPLIED}', dynamic_value, config_value) AS config_value,
  config_type, is_default, status, value_boolean, value_long, value_double, value_list,
  value_string, IF(state = '{APPLIED}', dynamic_source, source) AS source, is_pushed,
  catalog_version, dynamic_value, dynamic_source, dynamic_since, state, wire_value,
  is_obeyed
FROM judged
"""


_PARTS = (
    *("client_config_entries", "dynamic_client_configs", "client_supported_configs"),
    *("client_configs", "config_catalog", "config_catalog_names"),
    *("known_instances", "client_wire_values"),
)
_JOB = "dynamic_configs_to_delta"
EFFECTIVE_VIEWS = (
    View(
        name=SET_VALUES,
        sql=_SET_VALUES_SQL,
        needs=_PARTS,
        made_by=_JOB,
    ),
    View(
        name=EFFECTIVE,
        row="The same with the dynamic client config (KIP-649) that is set for the "
        "client: `dynamic_value`, whose it is (`dynamic_source`), since when, and its "
        "`state`: `applied` (the client was last seen with it, and `config_value` and "
        "`source` say so), `pending` (the client can take it, and was not seen since), "
        "`ignored` (it was seen since, with another value) or `unsupported` (it has "
        "not registered the key). `is_obeyed`: whether the client was last seen with "
        "that value, also by its own configuration; `wire_value`: what the proxy has "
        "seen. Of what is set a client also has rows for keys that nothing else is "
        "known of. Clients that only the proxy knows have no `client_instance_id`.",
        sql=_EFFECTIVE_SQL,
        needs=(*_PARTS, SET_VALUES),
        made_by=_JOB,
    ),
)
