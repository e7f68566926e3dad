"""What of a metadata record may be published: only some types, and no secret in them.

Strategy: what is published is what was read. A record that cannot be read, or is of any
other type or version, is not published at all, for nobody knows what is in it; tagged
fields that are unknown are left out. Configs are judged by the rules for client configs
over the catalogues of a broker, a topic and a group, and by what a broker may report.
A hidden value of a Config record becomes null and `withheld` 1, while a null without
it removes the config. A static config that is hidden is left out with its name.
CLIENT_METRICS resources and quotas hold no secrets: their keys are Kafka's own.
Source: KAFKA-14111 (dynamic passwords are clear text in the log); KIP-1326.
"""

from dataclasses import dataclass
from typing import NamedTuple

from udfs.sensitive.config_key_names import NO_NAME, plain_form
from udfs.sensitive.sensitive_key_rules import ALLOW
from udfs.sensitive.sensitive_keys import SensitiveKeyRules

from .broker_catalog import (
    NEVER,
    NO_VALIDATOR,
    PASSWORD,
    UNKNOWN_KEY,
    BrokerCatalog,
    is_never,
    judge_name,
)
from .record_bytes import Fields, read_record, write_record
from .record_keys import CLIENT_METRICS_RESOURCE, key_of

BROKER_SOFTWARE = "apache-kafka-broker"
"""In the rules for secrets: whose catalogues have a cluster's configs."""
_SUBSCRIPTION_KEYS = frozenset({"metrics", "interval.ms", "match"})
"""The configs of a CLIENT_METRICS resource; Kafka takes no others."""
_TYPE_UNKNOWN = ""
"""A record does not say the type of a config; the catalogue does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRules:
    """What hides configs of a cluster."""

    configs: SensitiveKeyRules
    """For Config records, in which plugins and operators may set any key."""
    reported: SensitiveKeyRules
    """For static configs: the same without rules for keys that no catalogue has. A
    broker reports what its own release knows, which may be newer."""
    catalog: BrokerCatalog


class PublishedRecord(NamedTuple):
    """What becomes of one record."""

    record_type: str | None
    """As in MetadataRecord."""
    key: str | None = None
    """In the cluster's topic."""
    value: bytes | None = None
    """The framed record without what is hidden; None: it is not published."""
    withheld: int = 0
    """Values that were hidden, or static configs left out as possible secrets."""
    frame_error: str | None = None
    """Why it could not be read; unknown_record of a type that is never published."""
    fields: Fields | None = None
    """What is published, by the names of record_fields."""


def publish_record(
    value: bytes | None, rules: PublishedRules, *, is_described: bool = False
) -> PublishedRecord:
    """Take from a record what may not be published.

    Args:
        value: A framed record of a metadata log, or one made of a cluster's answers.
        is_described: Whether its static configs come from DescribeConfigs, which
            returns all configs of a broker. Then unknown keys are withheld. Configs
            without a validator are left out, because a broker does not report them.
            In a registration both pass if the rules allow them, because the broker's
            own release decides which configs it reports.
    Errors: frame_error, as read_record says.
    """
    record = read_record(value)
    if value is None or record.frame_error or record.fields is None:
        return PublishedRecord(record.record_type, frame_error=record.frame_error)
    record_type, fields = str(record.record_type), record.fields
    withheld = 0
    if record_type == "Config" and _is_hidden_config(fields, rules):
        if rules.configs.show_key(fields["name"]) == NO_NAME:
            return PublishedRecord(record_type, withheld=1)
        fields, withheld = fields | {"value": None}, 1
    elif record_type == "RegisterBroker" and fields["static_configs"]:
        told = fields["static_configs"]
        if is_described:
            told = [one for one in told if not _is_unreported(one, rules)]
        shown = [one for one in told if _is_shown(one, rules, is_described)]
        fields, withheld = fields | {"static_configs": shown}, len(told) - len(shown)
    if fields != record.fields or record.has_unknown_tags:
        value = write_record(record_type, record.version or 0, fields)
    return PublishedRecord(
        record_type, key_of(record_type, fields), value, withheld, None, fields
    )


def _is_hidden_config(fields: Fields, rules: PublishedRules) -> bool:
    name, value = fields["name"], fields["value"]
    is_subscription = fields["resource_type"] == CLIENT_METRICS_RESOURCE
    if is_subscription and name in _SUBSCRIPTION_KEYS:
        return False
    if value is None:
        # Nothing to hide but a name that may itself be a secret.
        return name not in rules.catalog and rules.configs.show_key(name) == NO_NAME
    return _is_secret(name, value, rules.configs, rules.catalog)


def _is_unreported(config: Fields, rules: PublishedRules) -> bool:
    """Return whether a broker would not report a config, although it is no secret."""
    is_no_secret = judge_name(config["name"], rules.catalog) == NO_VALIDATOR
    return is_no_secret and _is_shown(config, rules, is_described=False)


def _is_shown(config: Fields, rules: PublishedRules, is_described: bool) -> bool:  # noqa: FBT001 - handed on
    name = config["name"]
    if is_described and judge_name(name, rules.catalog) == UNKNOWN_KEY:
        return False
    return not _is_secret(name, config["value"] or "", rules.reported, rules.catalog)


def _is_secret(
    name: str, value: str, rules: SensitiveKeyRules, catalog: BrokerCatalog
) -> bool:
    if judge_name(name, catalog) in (PASSWORD, NEVER) or is_never(plain_form(name)):
        return True
    if name not in catalog and rules.show_key(name) == NO_NAME:
        return True
    return (
        rules.judge_entry(name, value, _TYPE_UNKNOWN, BROKER_SOFTWARE).action != ALLOW
    )
