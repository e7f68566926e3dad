"""Tables of a small site, for reports: two producers, a consumer, one proxy's client."""

from datetime import UTC, datetime, timedelta

from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_QUOTAS,
    CLUSTER_CHANGES,
    EFFECTIVE_QUOTAS,
)
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS, CLIENT_CONFIGS
from pipelines.tables.configs import CLIENT_CONFIG_HISTORY as HISTORY
from pipelines.tables.findings import CLIENT_FINDINGS, FINDING_RUNS
from pipelines.tables.quality import QUALITY_RESULTS
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    TELEMETRY_CONTRACTS,
)
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows

NOW = datetime.now(tz=UTC).replace(microsecond=0)
SINCE = NOW - timedelta(hours=24)
HOSTILE = "</script><script>window.ran=1</script>\u202egnp.\x00'\""
INTERVAL_MS = 600_000
_CLUSTER = "4L6g3nShT-eMCtK--X86sw"
_CLIENTS = {
    "a": ("User:orders", "orders-1", "producer", "apache-kafka-java", "3.9.2"),
    "b": ("User:orders", HOSTILE, "producer", HOSTILE, "4.3.1"),
    "c": ("User:billing", "billing-1", "consumer", "librdkafka", "2.15.0"),
}


def ago(minutes):
    return NOW - timedelta(minutes=minutes)


def fill_tables(spark, settings):
    """Make the tables of all jobs that such a site has run, client_findings apart."""
    contracts = [
        *(*TELEMETRY_CONTRACTS, *CLIENT_CONFIG_CONTRACTS, CLIENT_WIRE_CONFIGS),
        *(CLIENT_QUOTAS, EFFECTIVE_QUOTAS, BROKER_REGISTRATIONS),
        *(BROKER_STATIC_CONFIGS, CLUSTER_CHANGES, QUALITY_RESULTS),
    ]
    make_tables(spark, settings.tables, contracts)
    _fill_telemetry(settings)
    _fill_configs(settings)
    _fill_cluster(settings)
    append_rows(settings.tables, QUALITY_RESULTS,
        {"run_id": "r", "checked_at": NOW, "table": "client_pushes", "meaning": "m"},
        {"run_id": "old", "checked_at": ago(9), "table": "quarantine"},
    )  # fmt: skip


def _who(instance):
    principal, client_id, kind, software, version = _CLIENTS[instance]
    return {
        "client_instance_id": instance,
        "principal": principal,
        "client_id": client_id,
        "client_type": kind,
        "client_software_name": software,
        "client_software_version": version,
        "cluster_id": _CLUSTER,
        "client_source_address": "10.0.0.7",
    }


def _fill_telemetry(settings):
    append_rows(settings.tables, CLIENT_INSTANCES,
        *(
            _who(one)
            | {"push_interval_ms": INTERVAL_MS, "first_seen": ago(3000)}
            for one in "ac"
        ),
        _who("b") | {"push_interval_ms": INTERVAL_MS, "first_seen": ago(90)},
        # The same client as "a" is, by another version, before.
        _who("a")
        | {"client_instance_id": "a0", "client_software_version": "3.7.1"}
        | {"first_seen": ago(9000), "terminated_at": ago(3001)},
    )  # fmt: skip
    append_rows(settings.tables, CLIENT_PUSHES,
        *(
            _who(one)
            | {"received_at": ago(minutes), "event_date": ago(minutes).date()}
            | {"offset": minutes, "push_id": f"{one}{minutes}", "point_count": 4}
            for one in "abc"
            for minutes in ((1, 50) if one != "c" else (50, 200))
        ),
    )  # fmt: skip
    points = {
        "a": {
            "producer.request.latency.avg": (12.5, 40.0),
            "producer.record.queue.time.avg": (3.0, 5.0),
            "producer.produce.throttle.time.max": (0.0, 80.0),
            "producer.record.retry.total": (10.0, 14.0),
        },
        "c": {
            "consumer.poll.idle.ratio.avg": (0.9, 0.2),
            "consumer.fetch.manager.records.lag.max": (10.0, 5000.0),
            "consumer.coordinator.rebalance.total": (1.0, 2.0),
        },
        "b": {
            "producer.node.request.latency.avg": (5.0, float("nan")),
            HOSTILE: (1.0, 1.0),
        },
    }
    times, of_points = (45, 1), CLIENT_METRICS.column_names
    append_rows(settings.tables, CLIENT_METRICS,
        *(
            {name: told for name, told in _who(one).items() if name in of_points}
            | {"received_at": ago(minutes), "event_date": ago(minutes).date()}
            | {"metric": f"org.apache.kafka.{metric}", "value_double": value}
            | {"kind": "sum" if metric.endswith("total") else "gauge"}
            | {"temporality": "cumulative", "is_monotonic": True}
            | {"node_id": node, "attributes": {}, "push_id": f"{one}{minutes}"}
            for one, metrics in points.items()
            for metric, values in metrics.items()
            for minutes, value in zip(times, values, strict=True)
            for node in (_NODES if "node" in metric else (None,))
        ),
    )  # fmt: skip


# Of two brokers, as Java and librdkafka send them; older tables have them like this.
_NODES = ("node-1", "2", "node-2147483646", "node--1", "-1")


def _fill_configs(settings):
    def entry(value, status="overridden", **more):
        known = {"config_value": value, "config_type": None, "is_default": False}
        known |= {"status": status, "value_boolean": None, "value_long": None}
        known |= {"value_double": None, "value_list": None, "value_string": None}
        return known | more

    append_rows(settings.tables, CLIENT_CONFIGS,
        _who("a")
        | {"logical_client": "la", "received_at": ago(1)}
        | {
            "configs": {
                "linger.ms": entry("5"),
                "sasl.jaas.config": entry(None, "redacted"),
            }
        },
        # What it ran with before counts no more.
        _who("a")
        | {"client_instance_id": "a0", "client_software_version": "3.7.1"}
        | {"logical_client": "la", "received_at": ago(3002)}
        | {"configs": {"linger.ms": entry("0")}},
        _who("b")
        | {"logical_client": "lb", "received_at": ago(1)}
        | {"configs": {"linger.ms": entry(HOSTILE)}},
        *(
            _who("a")
            | {"logical_client": f"p{one}", "received_at": ago(1)}
            | {"client_instance_id": f"p{one}", "client_id": f"peer-{one}"}
            | {"configs": {"linger.ms": entry("0" if one == 5 else "5")}}
            for one in range(6)
        ),
    )  # fmt: skip
    held = {
        "principal": "User:orders",
        "client_id": "orders-1",
        "config_key": "linger.ms",
    }
    held |= {"logical_client": "la", "client_type": "producer"}
    append_rows(settings.tables, HISTORY,
        held
        | {"config_value": "0", "value_id": "1", "valid_from": ago(3000)}
        | {"valid_to": ago(60), "client_instance_ids": ["a"]},
        held
        | {"config_value": "5", "value_id": "2", "valid_from": ago(60)}
        | {"is_current": True, "client_instance_ids": ["a"]},
    )  # fmt: skip
    append_rows(settings.tables, CLIENT_WIRE_CONFIGS,
        {"principal": "User:legacy", "client_id": None, "client_type": "consumer"}
        | {"logical_client": "lw", "config_key": "group.protocol", "other_names": []}
        | {"config_value": "classic", "received_at": ago(5), "cluster_id": _CLUSTER}
        | {"is_exact": True},
    )  # fmt: skip


def _fill_cluster(settings):
    append_rows(settings.tables, EFFECTIVE_QUOTAS,
        {"principal": "User:orders", "client_id": "orders-1", "limit": 1000.0}
        | {"cluster_id": _CLUSTER, "quota_key": "producer_byte_rate", "shared_by": 1}
        | {"quota_id": "orders:", "used_rate": 950.0, "use": 0.95, "throttled_ms": 80.0},
        # Four clients share a limit, and no proxy counts them.
        *(
            {"principal": "User:shared", "client_id": f"shared-{number}"}
            | {"cluster_id": _CLUSTER, "quota_key": "producer_byte_rate"}
            | {"quota_id": "shared:", "shared_by": 4, "limit": 1000.0}
            | {"live_brokers": 3, "cluster_limit": 3000.0, "reported_rate": 900.0}
            for number in range(4)
        ),
    )  # fmt: skip
    append_rows(settings.tables, BROKER_REGISTRATIONS,
        *(
            {"cluster_id": _CLUSTER, "broker_id": broker, "is_current": True}
            | {"registered_at": ago(9000), "valid_from": ago(9000), "endpoints": []}
            for broker in (1, 2)
        ),
    )  # fmt: skip
    append_rows(settings.tables, BROKER_STATIC_CONFIGS,
        *(
            {"cluster_id": _CLUSTER, "broker_id": broker, "is_current": True}
            | {"config_name": "num.io.threads", "config_value": str(8 * broker)}
            | {"valid_from": ago(9000), "report": "registration"}
            for broker in (1, 2)
        ),
    )  # fmt: skip


_COVERED = {"family": "java", "client_type": "producer", "lacks": "", "clients": 2}


def fill_findings(spark, settings):
    """Make client_findings, with a finding of each state."""
    shared = {"cluster_id": _CLUSTER, "logical_client": "la", "rule": "linger-zero"}
    shared |= {"severity": "warning", "client_type": "producer", "instances": 1}
    shared |= {"principal": "User:orders", "client_id": "orders-1", "since": ago(600)}
    shared |= {"sentence": "linger.ms is 0.", "setting": "linger.ms"}
    shared |= {"current_value": "0", "suggested_value": "20", "why": "because"}
    shared |= {"evidence": {}}
    rows = [
        shared,
        shared
        | {"rule": "acks-one", "severity": "error", "client_id": HOSTILE}
        | {"sentence": HOSTILE, "logical_client": "lb", "why": HOSTILE},
        shared | {"rule": "closed", "until": ago(30)},
        shared | {"rule": "held-once", "since": ago(20), "until": ago(20)},
        shared | {"rule": "silent", "silenced_until": NOW.date() + timedelta(days=9)},
        shared | {"rule": "old", "silenced_until": NOW.date() - timedelta(days=9)},
    ]
    make_tables(spark, settings.tables, [CLIENT_FINDINGS, FINDING_RUNS])
    append_rows(settings.tables, CLIENT_FINDINGS, *rows)
    append_rows(settings.tables, FINDING_RUNS,
        *(
            {"run_id": str(minutes), "evaluated_at": ago(minutes), "rule": "linger-zero"}
            | {"event_date": ago(minutes).date(), "missing": {}}
            | {"coverage": [_COVERED, _COVERED | {"client_type": "consumer"}]}
            for minutes in (2, 12)
        ),
        {"run_id": "2", "evaluated_at": ago(2), "rule": "of-java"}
        | {"event_date": ago(2).date(), "missing": {}}
        | {"coverage": [_COVERED | {"lacks": "software"}]},
    )  # fmt: skip
