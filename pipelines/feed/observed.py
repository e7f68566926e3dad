"""What admin answers say of a cluster, as records, and what of it is new.

Strategy: the newest answers are written as the records that the metadata log would
have, and compared with the records that said so before: what differs is a change, what
is missing is a removal, but only of what was looked at. Whoever does not answer, or
refuses, leaves standing what was said last.
Of a broker that is gone its dynamic configs stay, as they do in the log.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from udfs.cluster.published_records import PublishedRules, publish_record
from udfs.cluster.record_bytes import read_record
from udfs.cluster.record_keys import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    config_entity,
    record_key,
)
from udfs.cluster.record_writing import (
    write_client_quota,
    write_config,
    write_register_broker,
    write_unregister_broker,
)

from .answers import BrokerConfigs, Resources, SeenBroker, SeenConfig, SeenQuota
from .records import FeedRecord, make_record
from .state import (
    BROKERS,
    CLUSTER_ID,
    CONFIGS,
    DEFAULTS,
    NOT_BEFORE,
    OBSERVED,
    QUOTAS,
    REGISTER,
    SOURCE,
    STATIC_CONFIGS,
    SUBSCRIPTIONS,
    UNREGISTER,
    WITHHELD,
    FeedState,
    registration_key,
    type_of,
)

ADMIN_API = "admin_api"
DESCRIBED, REFUSED, UNREACHABLE = "described", "refused", "unreachable"
GROUPS, CLUSTER_WIDE = "groups", "cluster_wide"
"""Parts of the configs, beside one for each broker."""
_MAX_PORT = 65_535
_JUDGED = (DEFAULTS, WITHHELD, STATIC_CONFIGS)
"""Headers that a change may be in."""


@dataclass(slots=True, kw_only=True)
class Seen:
    """What the newest answers say; None where none has come."""

    security_protocol: str
    """Of the listener that DescribeCluster shows."""
    brokers: Mapping[int, SeenBroker] | None = None
    configs: dict[int, BrokerConfigs] = field(default_factory=dict)
    static_configs: dict[int, str] = field(default_factory=dict)
    """By broker: described, refused or unreachable."""
    cluster_wide: tuple[SeenConfig, ...] | None = None
    subscriptions: Resources | None = None
    groups: Resources | None = None
    quotas: tuple[SeenQuota, ...] | None = None
    looked_ms: dict[str, int] = field(default_factory=dict)
    """By part, when it was last looked at and did answer."""

    def covers(self) -> list[str]:
        """Return what all is known of: brokers, configs, quotas, subscriptions."""
        known = {
            BROKERS: self.brokers is not None,
            CONFIGS: self.cluster_wide is not None
            and self.groups is not None
            and (self.brokers or {}).keys() <= self.configs.keys(),
            QUOTAS: self.quotas is not None,
            SUBSCRIPTIONS: self.subscriptions is not None,
        }
        return [name for name, is_known in known.items() if is_known]


class Wanted(NamedTuple):
    """What is so: a record without its times."""

    value: bytes
    headers: tuple[tuple[str, str | int | None], ...]
    parts: tuple[str, ...]
    """What was looked at for it; each may be why it has changed."""


def part_of_broker(broker_id: int) -> str:
    """Return the name of a broker's part of the configs."""
    return f"brokers/{broker_id}"


def make_wanted(
    seen: Seen, state: FeedState, rules: PublishedRules
) -> dict[str, Wanted]:
    """Return what is so, by key, as far as it was looked at."""
    wanted: dict[str, Wanted] = {}
    for broker in (seen.brokers or {}).values():
        key = registration_key(broker.broker_id)
        wanted[key] = _make_registration(broker, seen, state.find(key), rules)
    for broker_id, configs in seen.configs.items():
        resource = BROKER_RESOURCE, str(broker_id)
        part = part_of_broker(broker_id)
        _add_configs(wanted, resource, configs.dynamic, part, rules)
    if seen.cluster_wide is not None:
        resource = BROKER_RESOURCE, ""
        _add_configs(wanted, resource, seen.cluster_wide, CLUSTER_WIDE, rules)
    for resources, part in (
        (seen.subscriptions, SUBSCRIPTIONS),
        (seen.groups, GROUPS),
    ):
        for resource, found in (resources or {}).items():
            _add_configs(wanted, resource, found, part, rules)
    for quota in seen.quotas or ():
        value = write_client_quota(quota.entity, quota.key, quota.value)
        _add(wanted, value, QUOTAS, rules)
    return wanted


def _make_registration(
    broker: SeenBroker, seen: Seen, before: FeedRecord | None, rules: PublishedRules
) -> Wanted:
    configs = seen.configs.get(broker.broker_id)
    status = seen.static_configs.get(broker.broker_id, UNREACHABLE)
    is_kept = configs is None and status == UNREACHABLE and before is not None
    static: list[tuple[str, str | None]] | None = None
    defaults: frozenset[str] = frozenset()
    told_withheld = 0
    if configs is not None and status != REFUSED:
        status = DESCRIBED
        static = [(one.name, one.value) for one in configs.static]
        defaults = frozenset(one.name for one in configs.static if one.is_default)
    elif is_kept and before is not None:
        status = before.text(STATIC_CONFIGS) or UNREACHABLE
        known = (read_record(before.value).fields or {}).get("static_configs")
        static = known and [(one["name"], one["value"]) for one in known]
        defaults = frozenset((before.text(DEFAULTS) or "").split(","))
        told_withheld = before.number(WITHHELD) or 0
    published = publish_record(
        write_register_broker(
            broker_id=broker.broker_id,
            endpoints=_endpoints(broker, seen.security_protocol),
            rack=broker.rack,
            fenced=broker.is_fenced,
            static_configs=static,
        ),
        rules,
        is_described=True,
    )
    shown = [one["name"] for one in (published.fields or {})["static_configs"] or ()]
    headers = (
        (STATIC_CONFIGS, status),
        (DEFAULTS, ",".join(one for one in shown if one in defaults) or None),
        (WITHHELD, (published.withheld + told_withheld) or None),
    )
    parts = (BROKERS, part_of_broker(broker.broker_id))
    return Wanted(published.value or b"", headers, parts)


def _endpoints(broker: SeenBroker, security_protocol: str) -> list[dict[str, object]]:
    if not 0 <= broker.port <= _MAX_PORT:
        return []  # A fenced broker may not have the listener that was asked.
    return [
        {
            "name": security_protocol,
            "host": broker.host,
            "port": broker.port,
            "security_protocol": security_protocol,
        }
    ]


def _add_configs(
    wanted: dict[str, Wanted],
    resource: tuple[int, str],
    configs: Iterable[SeenConfig],
    part: str,
    rules: PublishedRules,
) -> None:
    for one in configs:
        value = write_config(*resource, one.name, one.value)
        _add(wanted, value, part, rules, is_hidden=one.is_hidden)


def _add(
    wanted: dict[str, Wanted],
    value: bytes,
    part: str,
    rules: PublishedRules,
    *,
    is_hidden: bool = False,
) -> None:
    published = publish_record(value, rules)
    if published.value is None or published.key is None:
        return
    withheld = published.withheld or int(is_hidden)
    wanted[published.key] = Wanted(
        published.value, ((WITHHELD, withheld or None),), (part,)
    )


def find_changes(
    wanted: Mapping[str, Wanted],
    seen: Seen,
    state: FeedState,
    *,
    cluster_id: str,
    now_ms: int,
    looked_before_ms: Mapping[str, int],
) -> list[FeedRecord]:
    """Return the records that say what is new since the state, removals included.

    Args:
        looked_before_ms: By part, when it was looked at before this look.
    """

    def stamp(
        key: str,
        value: bytes,
        headers: Iterable[tuple[str, str | int | None]],
        parts: Iterable[str],
    ) -> FeedRecord:
        looks = [looked_before_ms.get(part, state.observed_ms) for part in parts]
        known = [one for one in looks if one is not None]
        common = (
            (CLUSTER_ID, cluster_id),
            (SOURCE, ADMIN_API),
            (OBSERVED, now_ms),
            # A look that did not answer saw nothing, and the one before counts.
            (NOT_BEFORE, min(known) if known else None),
        )
        return make_record(key, value, (*common, *headers))

    changes = [
        stamp(key, one.value, one.headers, one.parts)
        for key, one in wanted.items()
        if not _is_said(state.find(key), one)
    ]
    looked = _looked_parts(seen)
    for key in state.list_keys():
        part = _part_of(key)
        if key not in wanted and part in looked:
            removal = _make_removal(key, state)
            if removal is not None:
                changes.append(stamp(*removal, (), (part,)))
    return changes


def _is_said(before: FeedRecord | None, wanted: Wanted) -> bool:
    if before is None or before.value != wanted.value:
        return False
    headers = {name: None if one is None else str(one) for name, one in wanted.headers}
    return all(before.text(name) == headers.get(name) for name in _JUDGED)


def _looked_parts(seen: Seen) -> set[str]:
    known = {
        BROKERS: seen.brokers,
        CLUSTER_WIDE: seen.cluster_wide,
        SUBSCRIPTIONS: seen.subscriptions,
        GROUPS: seen.groups,
        QUOTAS: seen.quotas,
    }
    parts = {name for name, found in known.items() if found is not None}
    return parts | {part_of_broker(one) for one in seen.configs}


def _part_of(key: str) -> str:
    """Return the part of the cluster that a key of the topic belongs to."""
    kind, _, rest = key.partition("/")
    if kind == REGISTER:
        return BROKERS
    if kind == "ClientQuota":
        return QUOTAS
    resource, _, name = rest.partition("/")
    if resource == config_entity(CLIENT_METRICS_RESOURCE, "").rstrip("/"):
        return SUBSCRIPTIONS
    if resource == config_entity(GROUP_RESOURCE, "").rstrip("/"):
        return GROUPS
    broker = name.partition("/")[0]
    return f"{resource}/{broker}" if broker else CLUSTER_WIDE


def _make_removal(key: str, state: FeedState) -> tuple[str, bytes] | None:
    record = state.find(key)
    fields = read_record(record.value).fields if record else None
    if fields is None:
        return None
    kind = type_of(key)
    if kind == REGISTER:
        entity = key.partition("/")[2]
        gone = write_unregister_broker(fields["broker_id"])
        return record_key(UNREGISTER, entity), gone
    if kind == "ClientQuota":
        parts = [(one["entity_type"], one["entity_name"]) for one in fields["entity"]]
        return key, write_client_quota(parts, fields["key"], None)
    return key, write_config(
        fields["resource_type"], fields["resource_name"], fields["name"], None
    )
