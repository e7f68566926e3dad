"""`client_software`, `client_releases`, `known_faults`: what clients run, and its age.

What a client runs is known by its telemetry, its pushed configuration, and by what the
proxy has seen of it. Faults are those of the core: of librdkafka in its bindings, of
Kafka in builds of Confluent Platform, whose patch releases are not Kafka's.
"""

from collections.abc import Iterable, Sequence

from pipelines.settings.client_releases import (
    ENDED,
    SUPPORTED,
    load_client_faults,
    load_client_releases,
)
from pipelines.tables.contract import quote_text

from .config_catalog_view import number_version, version_number_sql
from .view import Sources, View

KNOWN_FAULTS = "known_faults"
CLIENT_RELEASES = "client_releases"
CLIENT_SOFTWARE = "client_software"
NO_NUMBER = 2**62
"""Above the number of every version: a fault that no release has mended."""
_CORES = {
    "java": "apache-kafka-java",
    "librdkafka": "librdkafka",
    "franz-go": "kgo",
    "sarama": "sarama",
}
"""Family to the software that is its core."""
_PLATFORM = "confluent-platform"

FAMILY_SQL = """CASE
    WHEN client_software_name = 'apache-kafka-java' THEN 'java'
    WHEN client_software_name IN ('librdkafka', 'rust-rdkafka')
      OR client_software_name LIKE 'confluent-kafka-%'
      OR client_software_version RLIKE 'rdkafka-[0-9]' THEN 'librdkafka'
    WHEN client_software_name = 'kgo' THEN 'franz-go'
    WHEN client_software_name = 'sarama' THEN 'sarama'
    ELSE 'other' END"""
VENDOR_BUILD_SQL = (
    "client_software_version "
    "RLIKE '-(ccs|ce|cp[0-9]*)([^a-z]|$)|[-.](redhat|amzn|cloudera)'"
)
"""Whether it is a build of somebody else, with a numbering or mended faults of its own;
null where the version is not known."""
_LINE_SQL = "regexp_extract({}, '^[0-9]+[.][0-9]+', 0)"
"""Minor line of a release: Kafka supports lines, not single patch releases."""
# Of bindings of librdkafka its version stands behind their own.
_SEEN_SQL = f"""
  SELECT *, {FAMILY_SQL} AS family,
    {VENDOR_BUILD_SQL} AS is_vendor_build,
    regexp_extract(client_software_version, '^v?([0-9]+([.][0-9]+)+)', 1)
      AS own_release,
    regexp_extract(client_software_version, 'rdkafka-([0-9]+([.][0-9]+)+)', 1)
      AS inner_release
  FROM (
    SELECT cluster_id, principal, client_id, client_software_name,
      client_software_version, array_sort(collect_set(client_type)) AS client_types,
      count(DISTINCT client_instance_id) AS instances, max(seen_at) AS last_seen
    FROM ({{sources}}) GROUP BY ALL
  )
"""
_SOFTWARE_SQL = f"""
WITH seen AS ({_SEEN_SQL}),
listed AS (
  SELECT seen.*, own.released_on, own.support, own.note,
    CASE
      WHEN inner_release <> '' THEN inner_release
      WHEN own.core_release IS NOT NULL THEN own.core_release
      WHEN is_vendor_build OR own_release = '' THEN NULL
      WHEN family = 'other' OR client_software_name IN {tuple(_CORES.values())}
        THEN own_release
    END AS core_release
  FROM seen LEFT JOIN client_releases AS own
    ON own.software = IF(client_software_version RLIKE '[0-9]-(ccs|ce)'
      AND family = 'java', '{_PLATFORM}', client_software_name)
    AND own.release = IF(own.software = '{_PLATFORM}',
      {_LINE_SQL.format("own_release")}, own_release)
)
SELECT listed.cluster_id, principal, client_id, client_software_name,
  client_software_version, client_types, instances, last_seen, family,
  listed.core_release, {version_number_sql("listed.core_release")} AS core_number,
  is_vendor_build,
  coalesce(listed.released_on, IF(is_vendor_build, NULL, core.released_on))
    AS released_on,
  coalesce(
    listed.support, IF(is_vendor_build, NULL, coalesce(core.support, lines.support))
  ) AS support,
  coalesce(listed.note, IF(is_vendor_build, NULL, core.note)) AS note,
  newest.release AS newest_core_release
FROM listed
LEFT JOIN client_releases AS core
  ON core.software = {{core}} AND core.release = listed.core_release
LEFT JOIN (
  SELECT software, {_LINE_SQL.format("release")} AS line, max(support) AS support
  FROM client_releases WHERE support IN ('{SUPPORTED}', '{ENDED}') GROUP BY ALL
) AS lines
  ON lines.software = {{core}}
  AND lines.line = {_LINE_SQL.format("listed.core_release")}
LEFT JOIN (
  SELECT software, max_by(release, number) AS release FROM client_releases GROUP BY 1
) AS newest ON newest.software = {{core}}
"""
_INSTANCES_SQL = """
  SELECT cluster_id, principal, nullif(client_id, '') AS client_id,
    client_software_name, client_software_version, client_instance_id, client_type,
    last_seen AS seen_at
  FROM known_instances
"""
_TRAFFIC_SQL = """
  SELECT cluster_id, principal, nullif(client_id, ''), client_software_name,
    client_software_version, NULL, NULL, received_at
  FROM client_traffic
"""
_SOURCES = {"known_instances": _INSTANCES_SQL, "client_traffic": _TRAFFIC_SQL}
"""Table or view to what it reports of software."""
_VALUES_SQL = "SELECT * FROM VALUES {values} AS ({names})"


def _software_sql(sources: Sources) -> str | None:
    """Return the SQL of client_software; None without any table that shows clients."""
    there = [query for name, query in _SOURCES.items() if name in sources.registered]
    if not there:
        return None
    core = f"element_at(map({_map_items()}), family)"
    return _SOFTWARE_SQL.format(sources=" UNION ALL ".join(there), core=core)


def _map_items() -> str:
    return ", ".join(quote_text(one) for pair in _CORES.items() for one in pair)


def _text(text: str) -> str:
    return quote_text(text) if text else "CAST(NULL AS STRING)"


def _releases_sql() -> str:
    names = "software, release, number, released_on, core_release, support, note"
    rows = (
        (
            *(_text(one.software), _text(one.release)),
            f"{number_version(one.release)}L",
            f"CAST({_text(str(one.released_on or ''))} AS DATE)",
            *(_text(one.core_release), _text(one.support), _text(one.note)),
        )
        for one in load_client_releases()
    )
    return _select_values(names, rows)


def _faults_sql() -> str:
    names = (
        "family, client_type, from_release, fixed_in, from_number, fixed_number, "
        "severity, issue, fault, kind, condition_key, condition_value"
    )
    rows = (
        (
            *(_text(one.family), _text(one.client_type)),
            *(_text(one.from_release), _text(one.fixed_in)),
            f"{number_version(one.from_release)}L",
            f"{number_version(one.fixed_in) if one.fixed_in else NO_NUMBER}L",
            *(_text(one.severity), _text(one.issue), _text(one.fault)),
            _text(one.kind),
            *(_text(one.condition_key), _text(one.condition_value)),
        )
        for one in load_client_faults()
    )
    return _select_values(names, rows)


def _select_values(names: str, rows: Iterable[Sequence[str]]) -> str:
    values = ", ".join(f"({', '.join(row)})" for row in rows)
    return _VALUES_SQL.format(values=values, names=names)


_JOB = "client_telemetry_to_delta"
SOFTWARE_VIEWS = (
    View(
        name=KNOWN_FAULTS,
        row="A fault of some releases of a family of clients, as "
        "`conf/client_faults.csv` has it: those with `core_number` from `from_number` "
        "to below `fixed_number`. With `condition_key` only clients with that value "
        "have it.",
        sql=lambda _: _faults_sql(),
        made_by=_JOB,
    ),
    View(
        name=CLIENT_RELEASES,
        row="A release of a client software, as `conf/client_releases.csv` has it.",
        sql=lambda _: _releases_sql(),
        made_by=_JOB,
    ),
    View(
        name=CLIENT_SOFTWARE,
        row="A principal, client id and software with its version, as "
        "telemetry, pushed configurations and the proxy have seen them: `family` "
        "(`java`, `librdkafka`, `franz-go`, `sarama` or `other`), `core_release` (of "
        "librdkafka in its bindings, of Kafka in builds of Confluent Platform; null: "
        "not known), and what `client_releases` says of the release.",
        sql=_software_sql,
        needs=(CLIENT_RELEASES,),
        uses=tuple(_SOURCES),
        made_by=_JOB,
    ),
)
