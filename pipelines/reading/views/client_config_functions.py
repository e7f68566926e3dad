"""Questions about client configurations as functions of SQL, in a reader's session.

`client_config_at(client, at)`, `client_config_diff(client, at_1, at_2)` and
`client_config_diff_between(client_a, client_b)`; a client is a client_instance_id, a
client_id or a logical_client. Made of the texts of reading.config_diffs.
"""

from collections.abc import Callable

from pipelines.reading.config_diffs import BY_KEY, BY_VALUE, CHANGE

from .view import Function, Sources

CLIENT_CONFIG_AT = "client_config_at"
CLIENT_CONFIG_DIFF = "client_config_diff"
CLIENT_CONFIG_DIFF_BETWEEN = "client_config_diff_between"

_VALUES = "ARRAY<STRUCT<config_value: STRING, is_default: BOOLEAN>>"
_DIFF = f"config_key STRING, before {_VALUES}, after {_VALUES}, change STRING"

_AT_SQL = """
CREATE OR REPLACE TEMPORARY FUNCTION client_config_at(client STRING, at TIMESTAMP)
RETURNS TABLE (config_key STRING, config_value STRING, is_default BOOLEAN)
RETURN
  SELECT config_key, config_value, is_default
  FROM client_config_timeline
  WHERE client_config_at.client IN (logical_client, client_id)
    AND valid_from <= client_config_at.at
    AND coalesce(valid_to > client_config_at.at, true)
  UNION ALL
  SELECT entry.config_key, entry.config_value, entry.is_default
  FROM (
    SELECT explode(max_by(configs, struct(received_at, push_id))) AS entry
    FROM client_config_pushes
    WHERE client_instance_id = client_config_at.client AND decode_status = 'ok'
      AND received_at <= client_config_at.at
  )
"""


def _diff_sql(
    name: str, parameters: str, before: tuple[str, str], after: tuple[str, str]
) -> str:
    """Return the statement that makes a function of two configurations."""
    by_value = ", ".join(f"{text} AS {column}" for column, text in BY_VALUE.items())
    by_key = ", ".join(f"{text} AS {column}" for column, text in BY_KEY.items())
    return f"""
CREATE OR REPLACE TEMPORARY FUNCTION {name}({parameters})
RETURNS TABLE ({_DIFF})
RETURN
  SELECT config_key, before, after, {CHANGE} AS change
  FROM (
    SELECT config_key, {by_key}
    FROM (
      SELECT config_key, config_value, {by_value}
      FROM (
        SELECT 1 AS side, * FROM {CLIENT_CONFIG_AT}({", ".join(before)})
        UNION ALL
        SELECT 2 AS side, * FROM {CLIENT_CONFIG_AT}({", ".join(after)})
      )
      GROUP BY config_key, config_value
    )
    GROUP BY config_key
  )
  WHERE is_different
"""


def _create(name: str, statement: str) -> Callable[[Sources], None]:
    def register(sources: Sources) -> None:
        # An existing function names views, and reads those of the moment.
        if not sources.spark.catalog.functionExists(name):
            sources.spark.sql(statement)

    return register


_JOB = "client_configs_to_delta"
_PARTS = ("client_config_timeline", "client_config_pushes")
CONFIG_FUNCTIONS = (
    Function(
        name=CLIENT_CONFIG_AT,
        arguments="client, at",
        result="A key and value of a client at a moment.",
        register=_create(CLIENT_CONFIG_AT, _AT_SQL),
        is_table=True,
        needs=_PARTS,
        made_by=_JOB,
    ),
    Function(
        name=CLIENT_CONFIG_DIFF,
        arguments="client, at_1, at_2",
        result="A key whose values differ.",
        register=_create(
            CLIENT_CONFIG_DIFF,
            _diff_sql(
                CLIENT_CONFIG_DIFF,
                "client STRING, at_1 TIMESTAMP, at_2 TIMESTAMP",
                ("client", "at_1"),
                ("client", "at_2"),
            ),
        ),
        is_table=True,
        needs=(CLIENT_CONFIG_AT, *_PARTS),
        made_by=_JOB,
    ),
    Function(
        name=CLIENT_CONFIG_DIFF_BETWEEN,
        arguments="client_a, client_b",
        result="A key whose values differ now.",
        register=_create(
            CLIENT_CONFIG_DIFF_BETWEEN,
            _diff_sql(
                CLIENT_CONFIG_DIFF_BETWEEN,
                "client_a STRING, client_b STRING",
                ("client_a", "current_timestamp()"),
                ("client_b", "current_timestamp()"),
            ),
        ),
        is_table=True,
        needs=(CLIENT_CONFIG_AT, *_PARTS),
        made_by=_JOB,
    ),
)
