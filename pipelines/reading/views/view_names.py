"""Which tables a text of SQL or Python speaks of, and who makes one that is missing.

Reading a table's log takes part of a second, and the views of client configurations
take several: a reader registers what is named, and what that is made of.
"""

import difflib
import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet

from pipelines.settings.records import Settings
from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_METRICS_SUBSCRIPTIONS,
    CLIENT_QUOTAS,
    CLUSTER_CONTRACTS,
    EFFECTIVE_QUOTAS,
)
from pipelines.tables.configs import (
    CLIENT_CONFIG_CONTRACTS,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from pipelines.tables.dynamic_configs import DYNAMIC_CONFIG_CONTRACTS
from pipelines.tables.findings import CLIENT_FINDINGS, FINDING_CONTRACTS
from pipelines.tables.maintenance import MAINTENANCE_RUNS
from pipelines.tables.quality import QUALITY_RESULTS
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    QUARANTINE,
    TELEMETRY_CONTRACTS,
)
from pipelines.tables.traffic import CLIENT_TRAFFIC
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS

from .broker_views import BROKER_CONFIGS, BROKER_VIEWS, BROKERS
from .client_config_disagreements import DISAGREEMENTS
from .client_config_functions import (
    CLIENT_CONFIG_AT,
    CLIENT_CONFIG_DIFF,
    CLIENT_CONFIG_DIFF_BETWEEN,
    CONFIG_FUNCTIONS,
)
from .client_config_views import ENTRIES, TIMELINE
from .client_software_views import CLIENT_RELEASES, CLIENT_SOFTWARE, KNOWN_FAULTS
from .clients_view import CLIENTS
from .config_catalog_view import CONFIG_CATALOG, NAMES, RELEASES
from .effective_configs_view import EFFECTIVE, SET_VALUES
from .finding_views import OPEN_FINDINGS
from .kernel_functions import (
    CONFIG_STATUS,
    DECODE_PUSH,
    IS_SENSITIVE,
    KERNELS,
    TYPED_CONFIG,
)
from .labelled_view import LABELLED
from .newest_values_view import NEWEST_VALUES
from .quota_functions import QUOTA_OF
from .quota_use_view import CLIENT_QUOTA_USE_VIEW, QUOTA_USE_VIEW

COVERAGE = "client_metric_coverage"
_TELEMETRY_JOB = "client_telemetry_to_delta"
_CONFIGS_JOB = "client_configs_to_delta"
_WIRE_CONFIGS_JOB = "client_wire_configs_to_delta"
_TRAFFIC_JOB = "client_traffic_to_delta"
_CLUSTER_JOB = "cluster_metadata_to_delta"
_QUOTAS_JOB = "refresh_quotas"
_DYNAMIC_CONFIGS_JOB = "dynamic_configs_to_delta"
_MAINTENANCE = "maintain_tables"
_FINDINGS_JOB = "client_findings"
_OF_TELEMETRY = (CLIENTS, NEWEST_VALUES, LABELLED, COVERAGE)
"""Views that are made of what was pushed as telemetry."""
_OF_CONFIGS = (ENTRIES, TIMELINE, DISAGREEMENTS, CONFIG_CATALOG)
"""Views that are made of all that is known of configurations."""
VIEWS = {
    CLIENTS: "A client instance, with its last push, its pushes and points, and its "
    "state: `live`, `silent` (no push for three intervals) or `terminated`; "
    "`metrics_fault` if its metrics are known to be wrong.",
    NEWEST_VALUES: "A client instance and a metric, with the newest value, and "
    "`metrics_fault` if the client's metrics are known to be wrong.",
    LABELLED: "A data point of `client_metrics` with all labels that KIP-714 has "
    "brokers add: `client_source_port` and `broker_id` (KIP-714's `node_id`) beside "
    "those that it has, and `cluster_id`.",
    COVERAGE: "A client instance and a metric that KIP-714 has its type of client "
    "deliver (`conf/metric_semantics.csv`): `status` is `delivered` (in one of the "
    "last three pushes), `wrong_kind` (the same, but a sum where it should be a gauge, "
    "or the other way), `not_asked` (no subscription in force for the client asks for "
    "it) or `missing`; "
    "`client_state` tells clients whose last three pushes were `empty` from those that "
    "are `silent`. A client whose type is not known has a row for each metric.",
    ENTRIES: "A client instance and key: value, typed values, status and `source`.",
    EFFECTIVE: "The same with the dynamic client config (KIP-649) that is set for the "
    "client: `dynamic_value`, whose it is (`dynamic_source`), since when, and its "
    "`state`: `applied` (the client was last seen with it, and `config_value` and "
    "`source` say so), `pending` (the client can take it, and was not seen since), "
    "`ignored` (it was seen since, with another value) or `unsupported` (it has not "
    "registered the key). `is_obeyed`: whether the client was last seen with that "
    "value, also by its own configuration; `wire_value`: what the proxy has seen. Of "
    "what is set a client also has rows for keys that nothing else is known of. "
    "Clients that only the proxy knows have no `client_instance_id`.",
    TIMELINE: "A value of a key of a logical client and its time, closed where "
    "telemetry says that all of its instances have ended, those excepted that pushed "
    "something else before.",
    DISAGREEMENTS: "A value of a key of which live instances of one logical client "
    "have different ones, with the instances that have it.",
    CONFIG_CATALOG: "The default of a key in a release and client type, as "
    "`conf/config_catalog/` has it.",
    CLIENT_SOFTWARE: "A principal, client id and software with its version, as "
    "telemetry, pushed configurations and the proxy have seen them: `family` (`java`, "
    "`librdkafka`, `franz-go`, `sarama` or `other`), `core_release` (of librdkafka in "
    "its bindings, of Kafka in builds of Confluent Platform; null: not known), and "
    "what `client_releases` says of the release.",
    CLIENT_RELEASES: "A release of a client software, as `conf/client_releases.csv` "
    "has it.",
    KNOWN_FAULTS: "A fault of some releases of a family of clients, as "
    "`conf/client_faults.csv` has it: those with `core_number` from `from_number` to "
    "below `fixed_number`. With `condition_key` only clients with that value have it.",
    BROKERS: "A broker, by its newest registration, with its state: `live`, `fenced` "
    "or `gone`, and how many static configs of it are known.",
    BROKER_CONFIGS: "A static config of a broker now, its `source` (`static`, "
    "`default`, or `registration`, which does not say), and what is in force.",
    OPEN_FINDINGS: "A finding of `client_findings` that is open and not silenced, the "
    "most severe first.",
    **{one.name: one.row for one in (QUOTA_USE_VIEW, CLIENT_QUOTA_USE_VIEW)},
}
"""What readers may ask beside the tables, to what one row of it is."""
FUNCTIONS = {
    f"{CLIENT_CONFIG_AT}(client, at)": "A key and value of a client at a moment.",
    f"{CLIENT_CONFIG_DIFF}(client, at_1, at_2)": "A key whose values differ.",
    f"{CLIENT_CONFIG_DIFF_BETWEEN}(client_a, client_b)": "A key whose values differ "
    "now.",
}
"""Functions of SQL that return tables, to what one row of them is."""
VALUES = {
    f"{QUOTA_OF}(user, client_id, quota_key)": "What one broker allows a client by a "
    "quota key now; null: unlimited. A user is a name or a principal, and a client a "
    "`client.id`.",
    f"{IS_SENSITIVE}(key, value, type, software)": "Whether the rules hide an entry of "
    "a configuration, by its key or by what its value looks like; never null.",
    f"{TYPED_CONFIG}(key, value, type)": "The value by its type, as Java's clients "
    "parse it: `value_boolean`, `value_long`, `value_double`, `value_list` or "
    "`value_string`; `value_error` is `invalid_value` where it does not fit. Without a "
    "type that which Java's clients give the key. Of a `PASSWORD` nothing.",
    f"{CONFIG_STATUS}(key, value, type, is_default, software, version, client_type)": (
        "What an entry is, by the rules in force and the defaults that clients have "
        "told: `default`, `overridden`, `set_to_default`, `unknown_key`, "
        "`invalid_value` or `redacted`, which a null value is, too."
    ),
    f"{DECODE_PUSH}(body, codec)": "What a push says: `decode_status` (`ok`, or why it "
    "cannot be read, as in `quarantine`), `detail`, and `points` with the columns that "
    "`client_metrics` has of a point. A codec is `none`, `gzip`, `snappy`, `lz4` or "
    "`zstd`. For a few pushes: all points of one are one value.",
}
"""Functions of SQL that return a value, to what it is."""
EXAMPLES = {
    QUOTA_OF: "select quota_of('User:alice', 'orders', 'producer_byte_rate')",
    IS_SENSITIVE: "select is_sensitive('sasl.jaas.config', 'x', 'PASSWORD', "
    "'apache-kafka-java')",
    TYPED_CONFIG: "select typed_config('linger.ms', '5', null).value_long",
    CONFIG_STATUS: "select config_status('linger.ms', 'soon', 'LONG', false, "
    "'apache-kafka-java', '4.3.1', 'producer')",
    DECODE_PUSH: "select push_id, decoded.decode_status, size(decoded.points) from "
    "(select push_id, decode_push(body, compression_type) as decoded "
    "from client_pushes limit 5)",
}
"""Each of them in a query."""
_INTERNAL = frozenset({RELEASES, NAMES, SET_VALUES})
CONFIG_VIEWS = frozenset({*_OF_CONFIGS, *CONFIG_FUNCTIONS, *_INTERNAL, EFFECTIVE})
"""What client_config_views makes, functions as well."""
_MAKERS = (
    {contract.name: _TELEMETRY_JOB for contract in TELEMETRY_CONTRACTS}
    | {contract.name: _CONFIGS_JOB for contract in CLIENT_CONFIG_CONTRACTS}
    | {CLIENT_WIRE_CONFIGS.name: _WIRE_CONFIGS_JOB}
    | dict.fromkeys((*_OF_TELEMETRY, QUARANTINE.name), _TELEMETRY_JOB)
    | dict.fromkeys((CLIENT_SOFTWARE, CLIENT_RELEASES, KNOWN_FAULTS), _TELEMETRY_JOB)
    | dict.fromkeys((*_OF_CONFIGS, *CONFIG_FUNCTIONS), _CONFIGS_JOB)
)
_CLUSTER_MAKERS = {
    **{contract.name: _CLUSTER_JOB for contract in CLUSTER_CONTRACTS},
    **dict.fromkeys((*BROKER_VIEWS, QUOTA_OF), _CLUSTER_JOB),
    EFFECTIVE_QUOTAS.name: _QUOTAS_JOB,
    **{one.name: one.made_by for one in (QUOTA_USE_VIEW, CLIENT_QUOTA_USE_VIEW)},
    CLIENT_TRAFFIC.name: _TRAFFIC_JOB,
    **{one.name: _DYNAMIC_CONFIGS_JOB for one in DYNAMIC_CONFIG_CONTRACTS},
    EFFECTIVE: _DYNAMIC_CONFIGS_JOB,
    MAINTENANCE_RUNS.name: _MAINTENANCE,
    **{one.name: _FINDINGS_JOB for one in FINDING_CONTRACTS},
    OPEN_FINDINGS: _FINDINGS_JOB,
}
_ALL_MAKERS = _MAKERS | _CLUSTER_MAKERS | {QUALITY_RESULTS.name: "check_tables"}
"""What readers may name to the job that makes it."""
TABLES_AND_VIEWS = (_ALL_MAKERS.keys() | _INTERNAL) - {
    QUOTA_OF,
    *KERNELS,
    *CONFIG_FUNCTIONS,
}
"""All that has rows, without the functions, which take seconds to be known."""
_PARTS_OF_CONFIGS = frozenset(
    {
        *(contract.name for contract in CLIENT_CONFIG_CONTRACTS),
        *(CLIENT_INSTANCES.name, CLIENT_PUSHES.name, CLIENTS),
        *(CLIENT_WIRE_CONFIGS.name, *_OF_CONFIGS),
    }
)
_PARTS: dict[str, AbstractSet[str]] = {
    CLIENTS: {CLIENT_INSTANCES.name, CLIENT_PUSHES.name},
    NEWEST_VALUES: {CLIENT_METRICS.name},
    **{
        name: {BROKER_REGISTRATIONS.name, BROKER_STATIC_CONFIGS.name}
        for name in BROKER_VIEWS
    },
    QUOTA_OF: {CLIENT_QUOTAS.name},
    **{one.name: one.needs for one in (QUOTA_USE_VIEW, CLIENT_QUOTA_USE_VIEW)},
    CONFIG_STATUS: {CONFIG_DEFAULTS.name},
    OPEN_FINDINGS: {CLIENT_FINDINGS.name},
    EFFECTIVE: {
        *_PARTS_OF_CONFIGS,
        *(contract.name for contract in DYNAMIC_CONFIG_CONTRACTS),
    },
    LABELLED: {CLIENT_METRICS.name, CLIENT_PUSHES.name},
    CLIENT_SOFTWARE: {
        *(CLIENT_INSTANCES.name, CLIENT_PUSHES.name, CLIENT_CONFIGS.name),
        *(CLIENT_WIRE_CONFIGS.name, CLIENT_TRAFFIC.name),
    },
    COVERAGE: {
        *(CLIENT_INSTANCES.name, CLIENT_PUSHES.name, CLIENT_METRICS.name),
        *(CLIENT_CONFIGS.name, CLIENT_METRICS_SUBSCRIPTIONS.name),
    },
} | dict.fromkeys(
    (*_OF_CONFIGS, *CONFIG_FUNCTIONS, *_INTERNAL),
    _PARTS_OF_CONFIGS,
)
"""A view to all that it is made of."""
_WORD = re.compile(r"\w+")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_READS = frozenset({"select", "with", "from", "values", "table", "explain", "describe"})
"""First words of statements that read nothing but what they name."""
_LISTS_TABLES = frozenset({"identifier", "catalog"})
"""Words of a text whose tables only a run can tell."""


def find_maker(name: str) -> str:
    """Return the job that makes what readers may name."""
    return _ALL_MAKERS[name]


def needs_job(name: str) -> bool:
    """Return whether what readers may name is made of what a job has written."""
    return name in _ALL_MAKERS


def find_names(query: str) -> Collection[str] | None:
    """Return the tables and views that a statement may need.

    Args:
        query: One statement of SQL.
    Returns: Names that stand in it, in a text or a comment, too, and their parts.
    Nulls: None for all of them, as `SHOW TABLES` needs.
    """
    words = _WORD.findall(_COMMENT.sub(" ", query).lower())
    if not words or words[0] not in _READS | {"desc"}:
        return None
    return find_names_in(query)


def find_names_in(text: str) -> Collection[str] | None:
    """Return the tables and views that a text names, whatever its language is.

    Nulls: None for all of them, where it computes the name of one.
    """
    words = set(_WORD.findall(text.lower()))
    if words & _LISTS_TABLES:
        return None
    named = words & (_ALL_MAKERS.keys() | _INTERNAL | {*KERNELS})
    return named.union(*(_PARTS.get(name, set()) for name in named))


def explain_missing(name: str, settings: Settings) -> str:
    """Return a sentence about a table, view or function that a query found missing.

    Args:
        name: As the query has it.
    """
    made_by = _ALL_MAKERS.get(name.lower())
    if made_by:
        where = settings.tables.catalog_schema or settings.tables.root_path
        return f"there is no {name} in {where} yet; {made_by} makes it"
    near = difflib.get_close_matches(name.lower(), _ALL_MAKERS, n=3)
    hint = f"; there is {', '.join(near)}" if near else "; SHOW TABLES names all"
    return f"there is no table, view or function {name}{hint}"
