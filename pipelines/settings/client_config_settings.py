"""The keys of conf/ about pushed client configurations (KIP-1324)."""

from collections.abc import Mapping
from dataclasses import dataclass

from .keys import key
from .stream_job_settings import StreamJobSettings, checkpoint_key, record_bytes_key

MAX_INT16 = 2**15 - 1
HIGHEST_API_KEY_OF_KAFKA = 92


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfigSettings:
    """Configurations that clients push (PushConfig, KIP-1324).

    Which of their keys are sensitive stands in sensitive_keys.toml.
    """

    enabled: bool = key(
        "Whether PushConfig is served, advertised and written to topics.configs.",
        default=False,
    )
    api_key: int = key(
        "API key of PushConfig. Kafka has not given it one; a client must know the "
        "same.",
        low=HIGHEST_API_KEY_OF_KAFKA + 1,
        high=MAX_INT16,
        default=10_071,
    )
    instance_id_api_version: int = key(
        "Version of ApiVersions that is version 5 with the client instance id behind "
        "it.",
        low=6,
        high=MAX_INT16,
        default=6,
    )
    config_too_large_error_code: int = key(
        "Error code of CONFIG_TOO_LARGE. Kafka has not given it one either.",
        low=1,
        high=MAX_INT16,
        default=10_072,
    )
    first_config_type_id: int = key(
        "ConfigType of BOOLEAN on the wire. 0: the ids are the ordinals of "
        "ConfigDef.Type, 0 to 8. 1: they are those of DescribeConfigs, 1 to 9. Records "
        "always have the ordinals.",
        high=1,
        default=0,
    )
    max_bytes: int = key(
        "Largest body of a PushConfig request (client.config.max.bytes).",
        unit="bytes",
        low=1,
        high=2**20,
        default=10_240,
    )
    min_push_interval_ms: int = key(
        "Shortest time between two pushes of one connection; 0 sets no bound. A client "
        "pushes once in its life, so this only stops one that does not behave.",
        unit="ms",
        high=3_600_000,
        default=1000,
    )
    on_violation: str = key(
        "A push with sensitive keys is stored without their values (redact), or "
        "refused with INVALID_CONFIG and not stored (reject).",
        choices=("redact", "reject"),
        default="redact",
    )
    policy: str = key(
        "A class of yours that sees each push, already redacted, before it is stored, "
        "and may refuse it: package.module:Class. One comes with the bridge: "
        "pipelines.bridge.push_config.policy.value_rules:ValueRules. Empty: none.",
        default="",
    )
    policy_timeout_ms: int = key(
        "Longest wait for the policy before a push is accepted without it.",
        unit="ms",
        low=1,
        high=20_000,
        default=100,
    )
    policy_threads: int = key(
        "Threads that call the policy; with more than one it is called by several at "
        "once.",
        low=1,
        high=64,
        default=1,
    )
    policy_settings: Mapping[str, str] = key(
        "Texts for the policy's configure(). For ValueRules: "
        'name = "key operator value action".',
        default={},
    )
    max_metric_instances: int = key(
        "Client instances with counters of their own; the least recent goes first.",
        low=1,
        high=1_000_000,
        default=1000,
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
    is_custom: bool = key("Keys that no catalog for the software has.", default=False)
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
    value_types: tuple[str, ...] = key(
        "Declared types of which the value must be; the rule is skipped otherwise. "
        "Only with action allow.",
        default=[],
    )
    value_items: tuple[str, ...] = key(
        "Items that a comma-separated value may have; the rule is skipped otherwise. "
        "Only with action allow.",
        default=[],
    )
    action: str = key("What is done.", choices=("redact", "drop", "allow"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareCatalogSettings:
    """Where the keys of some client software are listed."""

    names: tuple[str, ...] = key("Values of client_software_name.")
    catalogs: tuple[str, ...] = key(
        "Catalogs of conf/config_catalog/ and conf/broker_configs/."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveKeySettings:
    """The rules of conf/sensitive_keys.toml."""

    rules: tuple[SensitiveKeyRuleSettings, ...] = key("In the order of asking.")
    software: tuple[SoftwareCatalogSettings, ...] = key("Who knows which keys.")
    shared_catalogs: tuple[str, ...] = key(
        "Catalogs for keys that the software's own catalogs lack, and for software "
        "that is not listed.",
        default=[],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigJobSettings(StreamJobSettings):
    """The job client_configs_to_delta."""

    checkpoint_location: str = checkpoint_key(
        "client_configs_to_delta", newest="client_config_pushes"
    )

    max_config_bytes: int = key(
        "Largest body of a record; a larger one goes to quarantine. A body may grow to "
        "twice client_config.max_bytes where its texts are no UTF-8 (three times "
        "before).",
        unit="bytes",
        low=1024,
        high=2**30,
        default=3_145_728,
    )
    store_defaults: str = key(
        "Entries of client_configs that are the known default of their client: with "
        "their values (values), or without, to be looked up in config_defaults "
        "(references).",
        choices=("values", "references"),
        default="values",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WireConfigJobSettings(StreamJobSettings):
    """The job client_wire_configs_to_delta."""

    checkpoint_location: str = checkpoint_key(
        "client_wire_configs_to_delta", newest="client_wire_configs"
    )

    max_config_bytes: int = record_bytes_key(65_536)
