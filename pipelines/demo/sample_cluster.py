"""Clusters of the sample fleet: brokers, quotas, subscriptions and proxy traffic."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from .sample_cast import SHARED_LIMIT
from .sample_columns import TOPIC, TOPIC_PARTITIONS
from .sample_fleet import (
    AMSTERDAM,
    BARCELONA,
    BROKERS,
    DETAILED,
    PRODUCER,
    SOFTWARE_NAMES,
    Instance,
    SampleFleet,
    Span,
)
from .sample_series import PREFIX, STANDARD
from .sample_signals import follow_day

Row = dict[str, Any]
CLUSTERS = (AMSTERDAM, BARCELONA)
TRAFFIC_WINDOW_S = 300
_TRAFFIC_HOURS = 2
_BYTES_PER_REQUEST = 4_000
_CLUSTER_TOPIC, _TRAFFIC_TOPIC = "clientele.cluster", "clientele.traffic"
_SOURCE = "file"
"""Source of the cluster metadata; broker states from a file stay known."""
_METADATA_VERSIONS = {AMSTERDAM: 29, BARCELONA: 21}
_BYTE_RATE = "producer_byte_rate"
_QUOTAS = (
    (AMSTERDAM, "users/export", "export", SHARED_LIMIT),
    (AMSTERDAM, "users/bulk", "bulk", SHARED_LIMIT),
    (AMSTERDAM, "users/shop", "shop", 10_000_000.0),
    (BARCELONA, "users/shop", "shop", 1_000_000.0),
    (BARCELONA, "users/loaders", "loaders", SHARED_LIMIT),
    (BARCELONA, "users/single", "single", SHARED_LIMIT),
)
"""Cluster, entity, user, and bytes per second and broker."""
_STATIC = {
    "log.retention.hours": ("168", "168", "168"),
    "message.max.bytes": ("1048588", "1048588", "1048588"),
    "num.io.threads": ("8", "2", "8"),
    "num.network.threads": ("3", "3", "3"),
}
"""Config name to the values of Amsterdam's brokers; Barcelona has the first."""


def make_cluster_rows(fleet: SampleFleet) -> dict[str, list[Row]]:
    """Return rows of the tables of clusters, by name of the table."""
    return {
        "broker_registrations": list(_list_registrations(fleet)),
        "broker_static_configs": list(_list_static_configs(fleet)),
        "client_metrics_subscriptions": list(_list_subscriptions(fleet)),
        "client_quotas": list(_list_quotas(fleet)),
        "cluster_changes": list(_list_changes(fleet)),
    }


def _record(cluster_id: str, at: datetime, offset: int) -> Row:
    return {
        "cluster_id": cluster_id,
        "source": _SOURCE,
        "valid_from": at,
        "is_current": True,
        "topic": _CLUSTER_TOPIC,
        "partition": 0,
        "offset": offset,
    }


def _list_registrations(fleet: SampleFleet) -> Iterator[Row]:
    for cluster_id in CLUSTERS:
        for broker in BROKERS:
            began = fleet.since - timedelta(days=broker)
            restarted = fleet.at(0.4)
            is_restarted = (cluster_id, broker) == (AMSTERDAM, 2)
            row = _record(cluster_id, began, broker) | {
                "broker_id": broker,
                "incarnation_id": f"sample-{broker}-1",
                "record_version": 3,
                "registered_at": began,
                "is_fenced": False,
                "in_controlled_shutdown": False,
                "rack": f"rack-{'abc'[broker - 1]}",
                "endpoints": [
                    {
                        "name": "PLAINTEXT",
                        "host": f"broker-{broker}.example",
                        "port": 9092,
                        "security_protocol": "PLAINTEXT",
                    }
                ],
                "features": [],
                "is_migrating_zk_broker": False,
                "metadata_version": _METADATA_VERSIONS[cluster_id],
                "static_configs": "described",
            }
            if not is_restarted:
                yield row
                continue
            ended = {"is_current": False, "ended_at": restarted}
            yield row | ended | {"end_reason": "replaced"}
            yield row | {
                "incarnation_id": f"sample-{broker}-2",
                "registered_at": restarted,
                "valid_from": restarted,
            }


def _list_static_configs(fleet: SampleFleet) -> Iterator[Row]:
    for cluster_id in CLUSTERS:
        for name, values in _STATIC.items():
            for broker in BROKERS:
                value = values[broker - 1] if cluster_id == AMSTERDAM else values[0]
                again = 2 if (cluster_id, broker) == (AMSTERDAM, 2) else 1
                yield _record(cluster_id, fleet.since, broker) | {
                    "broker_id": broker,
                    "incarnation_id": f"sample-{broker}-{again}",
                    "config_name": name,
                    "config_value": value,
                    "config_type": "INT",
                    "is_default": value == values[0],
                    "report": "describe_configs",
                    "effective_value": value,
                    "effective_source": "default" if value == values[0] else "static",
                }


def _list_subscriptions(fleet: SampleFleet) -> Iterator[Row]:
    for cluster_id in CLUSTERS:
        for name, metrics, match in (
            ("standard", [PREFIX + one for one in STANDARD], {}),
            ("details", [PREFIX], {"client_id": "|".join(DETAILED)}),
        ):
            told = {"metrics": ",".join(metrics), "interval.ms": "300000"}
            yield _record(cluster_id, fleet.since, 10) | {
                "name": name,
                "metrics": metrics,
                "interval_ms": 300_000,
                "match": match,
                "properties": told,
            }


def _list_quotas(fleet: SampleFleet) -> Iterator[Row]:
    for offset, (cluster_id, path, user, value) in enumerate(_QUOTAS, 20):
        row = _record(cluster_id, fleet.since, offset) | {
            "entity_path": path,
            "user_name": user,
            "is_default_user": False,
            "is_default_client_id": False,
            "is_default_ip": False,
            "quota_key": _BYTE_RATE,
            "quota_value": value,
        }
        yield row
        if user == "export":
            began = fleet.since - timedelta(days=7)
            former = {"valid_from": began, "valid_to": fleet.since, "is_current": False}
            yield row | former | {"quota_value": 2 * value}


def _list_changes(fleet: SampleFleet) -> Iterator[Row]:
    told: list[tuple[datetime, str, str, str | None, str | None]] = [
        (
            fleet.since,
            cluster_id,
            "ClientQuota",
            path,
            f"producer_byte_rate set to {value:.0f}",
        )
        for cluster_id, path, _, value in _QUOTAS
    ]
    told.append(
        (fleet.at(0.4), AMSTERDAM, "RegisterBroker", "brokers/2", "registered again")
    )
    told += [
        (fleet.until, cluster_id, "full_set", None, None) for cluster_id in CLUSTERS
    ]
    for offset, (at, cluster_id, kind, entity, change) in enumerate(told):
        yield _record(cluster_id, at, offset) | {
            "record_type": kind,
            "record_version": 0,
            "entity": entity,
            "change": change,
            "decode_status": "ok",
            "event_date": at.date(),
            "observed_at": at,
        }


def make_quarantine_rows(fleet: SampleFleet, pushes: int) -> list[Row]:
    """Return rejected records: 1 % of the pushes, and three configurations.

    They have their own partition, so that the other partitions have no gaps.
    """
    telemetry = ("client_telemetry_to_delta", TOPIC, "missing_header")
    configs = ("client_configs_to_delta", "clientele.configs", "malformed_push_config")
    found = [telemetry] * max(pushes // 99, 1) + [configs] * 3
    rows = []
    for place, (job, topic, reason) in enumerate(found):
        at = fleet.at((place + 1) / (len(found) + 1))
        rows.append(
            {
                "topic": topic,
                "partition": TOPIC_PARTITIONS,
                "offset": place,
                "event_date": at.date(),
                "kafka_timestamp": at,
                "source_job": job,
                "reason": reason,
                "detail": "header push_id" if reason == "missing_header" else None,
            }
        )
    return rows


def make_traffic_rows(
    fleet: SampleFleet, instances: Sequence[Instance]
) -> Iterator[Row]:
    """Return rows of client_traffic: two hours of clients that use the proxy."""
    ends_s = int(fleet.until.timestamp()) // TRAFFIC_WINDOW_S * TRAFFIC_WINDOW_S
    count = round(min(fleet.hours, _TRAFFIC_HOURS) * 3600) // TRAFFIC_WINDOW_S
    windows = [
        datetime.fromtimestamp(ends_s - place * TRAFFIC_WINDOW_S, fleet.until.tzinfo)
        for place in range(count, 0, -1)
    ]
    clients: dict[tuple[str | None, ...], list[Instance]] = {}
    for one in instances:
        if one.cluster_id == AMSTERDAM and one.has_telemetry:
            key = (one.cluster_id, one.principal, one.client_id or "")
            clients.setdefault(key, []).append(one)
    for offset, ((cluster_id, principal, client_id), own) in enumerate(clients.items()):
        for start in windows:
            window = Span(start, start + timedelta(seconds=TRAFFIC_WINDOW_S))
            for broker in BROKERS:
                used = _count_traffic(own, broker, window)
                if used["connections"]:
                    yield used | {
                        "cluster_id": cluster_id,
                        "principal": principal,
                        "client_id": client_id,
                        "broker_id": broker,
                        "window_start": start,
                        "window_ms": TRAFFIC_WINDOW_S * 1000,
                        "client_software_name": SOFTWARE_NAMES[own[-1].family],
                        "client_software_version": own[-1].software_version,
                        "received_at": window.end,
                        "api_versions": [],
                        "push_ids": [f"sample-traffic-{start:%H%M}"],
                        "topic": _TRAFFIC_TOPIC,
                        "partition": 0,
                        "offset": offset,
                    }


def _count_traffic(
    instances: Sequence[Instance], broker: int, window: Span
) -> dict[str, Any]:
    """Return the traffic of a client at a broker in a window, over all instances."""
    sums = dict.fromkeys(
        (
            *("produced_bytes", "fetched_bytes", "produce_requests", "fetch_requests"),
            *("throttle_ms_sum", "throttle_ms_max", "throttled_answers"),
            *("connections", "produce_throttle_ms_sum"),
        ),
        0,
    )
    start_s = np.asarray(window.start.timestamp())
    for one in instances:
        is_idle = one.idle is not None and one.idle.start < window.end
        if window.end <= one.started or window.start >= one.ended or is_idle:
            continue
        part = one.part_of(broker)
        rate = one.records_per_s * follow_day(one, start_s)
        total = float(rate) * one.record_bytes * part * TRAFFIC_WINDOW_S
        requests = max(round(total / _BYTES_PER_REQUEST), 1)
        word = "produce" if one.client_type == PRODUCER else "fetch"
        name = "produced" if one.client_type == PRODUCER else "fetched"
        sums[f"{name}_bytes"] += round(total)
        sums[f"{word}_requests"] += requests
        sums["connections"] += 1
        for span, mean_ms in one.throttled.items():
            if span.start <= window.start and window.end <= span.end:
                sums["throttle_ms_sum"] += round(mean_ms) * requests
                sums["throttle_ms_max"] = max(
                    sums["throttle_ms_max"], round(2 * mean_ms)
                )
                sums["throttled_answers"] += requests
                if one.client_type == PRODUCER:
                    sums["produce_throttle_ms_sum"] += round(mean_ms) * requests
    sums["throttle_ms_max"] = min(sums["throttle_ms_max"], sums["throttle_ms_sum"])
    return sums
