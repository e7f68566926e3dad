"""The keys of conf/ about pushed client configurations (KIP-1324)."""

from collections.abc import Mapping
from dataclasses import dataclass

from .keys import key
from .stream_job_settings import StreamJobSettings

MAX_INT16 = 2**15 - 1
HIGHEST_API_KEY_OF_KAFKA = 92


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfigSettings:
    """What clients may push about their configuration (PushConfig)."""

    enabled: bool = key("Whether PushConfig is served and advertised.")
    api_key: int = key(
        "API key of PushConfig, until Kafka gives it one.",
        low=HIGHEST_API_KEY_OF_KAFKA + 1,
        high=MAX_INT16,
    )
    instance_id_api_version: int = key(
        "Version of ApiVersions that ends in the client instance id.",
        low=6,
        high=MAX_INT16,
    )
    config_too_large_error_code: int = key(
        "Error code of CONFIG_TOO_LARGE, until Kafka gives it one.",
        low=1,
        high=MAX_INT16,
    )
    first_config_type_id: int = key(
        "ConfigType of BOOLEAN on the wire: 0 counts as ConfigDef.Type does, 1 as "
        "DescribeConfigs does.",
        high=1,
    )
    max_bytes: int = key(
        "Largest body of a PushConfig request (client.config.max.bytes).",
        unit="bytes",
        low=1,
        high=2**20,
    )
    min_push_interval_ms: int = key(
        "Shortest time between two pushes of one connection; 0 sets none.",
        unit="ms",
        high=3_600_000,
    )
    on_violation: str = key(
        "What becomes of a push with sensitive keys: stored without their values, or "
        "refused with INVALID_CONFIG.",
        choices=("redact", "reject"),
    )
    policy: str = key(
        "Class that sees each push before it is stored, as package.module:Class; "
        "empty: none."
    )
    policy_timeout_ms: int = key(
        "Longest wait for the policy before a push is accepted without it.",
        unit="ms",
        low=1,
        high=20_000,
    )
    policy_threads: int = key(
        "Threads that call the policy; above 1 it is called from several at once.",
        low=1,
        high=64,
    )
    policy_settings: Mapping[str, str] = key("What the policy's configure() is given.")
    max_metric_instances: int = key(
        "Client instances with counters of their own; the least recent goes first.",
        low=1,
        high=1_000_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveKeyRuleSettings:
    """One rule for sensitive keys; the first that matches decides."""

    name: str = key("Name of the rule in answers and records.")
    config_types: tuple[str, ...] = key("Types, as sent or catalogued.", default=[])
    keys: tuple[str, ...] = key("Whole keys.", default=[])
    key_prefixes: tuple[str, ...] = key("Beginnings of keys.", default=[])
    key_infixes: tuple[str, ...] = key("Texts inside keys.", default=[])
    key_suffixes: tuple[str, ...] = key("Ends of keys.", default=[])
    key_patterns: tuple[str, ...] = key("RE2 patterns of whole keys.", default=[])
    is_custom: bool = key("Keys outside the software's catalog.", default=False)
    value_patterns: tuple[str, ...] = key(
        "RE2 patterns found in values, of the keys that the rest says or of any.",
        default=[],
    )
    value_needs: tuple[str, ...] = key(
        "RE2 patterns of which each must be found in the value as well.", default=[]
    )
    value_exceptions: tuple[str, ...] = key(
        "RE2 patterns of ordinary text, which counts as `<>` where the others are "
        "looked for.",
        default=[],
    )
    value_group: str = key(
        "Rules of one group are searched for together; any word.", default=""
    )
    action: str = key("What is done.", choices=("redact", "drop", "allow"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareCatalogSettings:
    """Where the keys of some client software are listed."""

    names: tuple[str, ...] = key("Values of client_software_name.")
    catalogs: tuple[str, ...] = key("Catalogs of conf/config_catalog/.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveKeySettings:
    """The rules of conf/sensitive_keys.toml."""

    rules: tuple[SensitiveKeyRuleSettings, ...] = key("In the order of asking.")
    software: tuple[SoftwareCatalogSettings, ...] = key("Who knows which keys.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigJobSettings(StreamJobSettings):
    """The job client_configs_to_delta."""

    max_config_bytes: int = key(
        "Largest body of a record; a larger one goes to quarantine.",
        unit="bytes",
        low=1024,
        high=2**30,
    )
    store_defaults: str = key(
        "How client_configs holds an entry that is the known default of its client: "
        "with its value, or as a reference to config_defaults without it.",
        choices=("values", "references"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WireConfigJobSettings(StreamJobSettings):
    """The job client_wire_configs_to_delta."""

    max_config_bytes: int = key(
        "Largest value of a record; a larger one goes to quarantine.",
        unit="bytes",
        low=1024,
        high=2**30,
    )
