"""Good rows of all tables, and for each expectation rows that make it fail."""

from pipelines.quality.suites import CONTRACTS, key_of
from tests.support.spark.quality_tables import config_push, hour, points, push, span

UUID = "kBZc0hOYQyW9l0CjwLuNhQ"
SECRET = "hunter2"
STATIC = {"cluster_id": "c", "broker_id": 1, "incarnation_id": "i", "config_name": "a"}
CONFIG = {"cluster_id": "c", "resource_type": "topic", "resource_name": "t"}
CONFIG |= {"config_name": "a", "config_value": "1", "status": "set"}
SUBSCRIPTION = {"cluster_id": "c", "name": "all"}
QUOTA = {"cluster_id": "c", "entity_path": "users/alice", "user_name": "alice"}
QUOTA |= {"quota_key": "producer_byte_rate", "quota_value": 7.0}
DYNAMIC = {"user_name": "alice", "client_id": "", "config_key": "acks"}
HELD = {"logical_client": "l", "config_key": "acks", "value_id": "v"}
HELD |= {"client_instance_ids": ["one"]}


def entry(value, status, **typed):
    """Return what client_configs has of one key."""
    names = ("value_boolean", "value_long", "value_double", "value_list")
    return (
        *(value, "STRING", status == "default", status),
        *(typed.get(name) for name in (*names, "value_string")),
    )


GOOD = {
    "client_pushes": [push(0), push(1), push(2)],
    "client_metrics": [*points(0), *points(1), *points(2)],
    "quarantine": [{"topic": "bad", "offset": 3, "partition": 0}],
    "client_instances": [{"client_instance_id": UUID, "first_seen": hour(1)}],
    "client_config_pushes": [config_push(0), config_push(1)],
    "client_configs": [
        {
            "client_instance_id": UUID,
            "configs": {
                "acks": entry("all", "overridden", value_string="all"),
                "linger.ms": entry(None, "default"),
                "ssl.key.password": entry(None, "redacted"),
            },
        }
    ],
    "client_config_history": [HELD | span(0, 1), HELD | span(1)],
    "config_defaults": [
        {"client_type": "", "config_key": "linger.ms", "default_value": "0"}
    ],
    "config_violations": [
        config_push(0)
        | {"action": "redacted", "found_by": "bridge", "client_instance_id": UUID}
    ],
    "client_wire_configs": [{"wire_client": "w", "config_key": "acks"}],
    "client_traffic": [{"principal": "good"}],
    "cluster_changes": [
        {"topic": "c", "offset": 0, "source": "admin_api", "valid_from": hour(1)},
        # A log has the time of a change, however long ago that was.
        {"topic": "c", "offset": 1, "source": "file", "valid_from": hour(1)}
        | {"observed_at": hour(12)},
        {"topic": "c", "offset": 2, "source": "metadata_log", "observed_at": hour(1)},
    ],
    "broker_registrations": [
        STATIC | {"is_current": True, "registered_at": hour(1), "ended_at": hour(2)}
    ],
    "broker_static_configs": [STATIC | span(0, 1), STATIC | span(1)],
    "resource_configs": [CONFIG | span(0, 1), CONFIG | span(1)],
    "client_metrics_subscriptions": [SUBSCRIPTION | span(0, 1), SUBSCRIPTION | span(1)],
    "client_quotas": [QUOTA | span(0, 1), QUOTA | span(1)],
    "effective_quotas": [
        {"cluster_id": "c", "principal": "User:alice", "client_id": "a", "level": 3}
        | {"entity_path": "users/alice", "quota_key": "producer_byte_rate"}
        | {"limit": 7.0}
    ],
    "dynamic_client_configs": [DYNAMIC | span(0, 1), DYNAMIC | span(1)],
    "client_supported_configs": [{"user_name": "u", "config_keys": ["a", "b"]}],
    "dynamic_client_config_changes": [{"topic": "d", "record_type": "alteration"}],
    "client_findings": [{"cluster_id": "c", "severity": "error"}],
    "finding_runs": [{"run_id": "r", "clients": 2, "not_evaluated": 1}],
    "maintenance_runs": [{"run_id": "r", "outcome": "done"}],
    "quality_results": [{"run_id": "r", "success": True, "failed_rows": 0}],
}
TYPE_2 = {
    "client_config_history": HELD,
    "broker_static_configs": STATIC,
    "resource_configs": CONFIG,
    "client_metrics_subscriptions": SUBSCRIPTION,
    "client_quotas": QUOTA,
    "dynamic_client_configs": DYNAMIC,
}
VARIED = {
    "client_config_history": "logical_client",
    "broker_static_configs": "config_name",
    "resource_configs": "config_name",
    "client_metrics_subscriptions": "name",
    "client_quotas": "cluster_id",
    "dynamic_client_configs": "config_key",
}
"""A column of the key that tells planted rows apart."""


# Expectation to the key that it must name, and rows of tables that make it fail.
ROW_FAULTS = {
    "client_pushes": {
        "date_is_that_of_received_at": push(50, event_date=hour(-24).date()),
        "instance_id_is_a_uuid": push(51, client_instance_id="short"),
        "client_type_is_known": push(52, client_type="robot"),
        "offset_is_no_less_than_0": push(-5),
        "points_are_of_decoded_pushes": push(53, decode_status="too_large"),
    },
    "client_metrics": {
        "date_is_that_of_received_at": points(60, 0, event_date=hour(-24).date())[0],
        "value_fits_kind": points(65, 0, value_long=1)[0],
        "time_is_near_received_at": points(66, 0, time=hour(-30))[0],
        "time_is_that_of_the_point": points(67, 0, time=hour(10))[0],
        "start_is_before_time": points(68, 0, start_time_unix_nano=2**62)[0],
    },
    "client_instances": {
        "instance_id_is_a_uuid": {"client_instance_id": "short"},
        "client_type_is_known": {"client_instance_id": "t", "client_type": "robot"},
        "first_seen_is_before_the_end": {
            "client_instance_id": "e",
            "first_seen": hour(2),
            "terminated_at": hour(1),
        },
    },
    "client_config_pushes": {
        "date_is_that_of_received_at": config_push(50, event_date=hour(-24).date()),
        "instance_id_is_a_uuid": config_push(51, client_instance_id="short"),
        "client_type_is_known": config_push(52, client_type="robot"),
        "decoded_pushes_have_a_hash": config_push(53, content_hash=None),
    },
    "client_configs": {
        "instance_id_is_a_uuid": {"client_instance_id": "short"},
        "client_type_is_known": {"client_instance_id": "t", "client_type": "robot"},
        "no_value_is_left_where_redacted": {
            "client_instance_id": "left",
            "configs": {"sasl.jaas.config": entry(SECRET, "redacted")},
        },
        "status_is_known": {
            "client_instance_id": "status",
            "configs": {"acks": entry("1", "guessed")},
        },
    },
    "client_config_history": {
        "someone_held_the_value": HELD
        | {"logical_client": "nobody", "client_instance_ids": []}
        | span(0),
    },
    "config_defaults": {
        "someone_told_the_default": {"config_key": "untold", "evidence_count": 0},
        "conflicts_are_other_values": {
            "config_key": "same",
            "default_value": "1",
            "conflicting_values": ["1"],
        },
    },
    "config_violations": {
        "date_is_that_of_received_at": config_push(50, event_date=hour(-24).date()),
        "instance_id_is_a_uuid": config_push(51, client_instance_id="short"),
        "client_type_is_known": config_push(52, client_type="robot"),
        "action_is_known": config_push(53, action="kept"),
        "finder_is_known": config_push(54, found_by="chance"),
    },
    "client_wire_configs": {
        "client_type_is_known": {"wire_client": "t", "client_type": "robot"},
    },
    "client_traffic": {
        "counts_are_no_less_than_0": {"principal": "less", "produced_bytes": -1},
        "requests_have_bytes": {"principal": "none", "produce_requests": 0},
    },
    "cluster_changes": {
        "date_is_that_of_valid_from": {"offset": 50, "event_date": hour(-24).date()},
        "source_is_known": {"offset": 51, "source": "rumour"},
    },
    "broker_registrations": {
        "end_is_after_the_registration": STATIC
        | {"broker_id": 5, "registered_at": hour(2), "ended_at": hour(1)},
    },
    "broker_static_configs": {
        "broker_is_known": STATIC | {"broker_id": 9} | span(0),
    },
    "resource_configs": {
        "resource_type_is_known": CONFIG | {"resource_type": "shelf"} | span(0),
        "no_value_is_left_where_redacted": CONFIG
        | {"config_name": "left", "config_value": SECRET, "status": "redacted"}
        | span(0),
    },
    "client_metrics_subscriptions": {
        "name_is_not_empty": SUBSCRIPTION | {"name": ""} | span(0),
    },
    "client_quotas": {
        "quota_key_is_kafkas": QUOTA | {"quota_key": "favour"} | span(0),
        "entity_can_be_resolved": QUOTA | {"entity_path": "ips/10.0.0.1"} | span(0),
    },
    "effective_quotas": {
        "quota_is_known": GOOD["effective_quotas"][0]
        | {"client_id": "b", "limit": 8.0},
        "level_has_an_entity": GOOD["effective_quotas"][0]
        | {"client_id": "c", "level": None},
    },
    "dynamic_client_configs": {
        "entity_can_be_resolved": DYNAMIC | {"user_name": ""} | span(0),
    },
    "client_supported_configs": {
        "keys_are_sorted": {"user_name": "v", "config_keys": ["b", "a"]},
    },
    "dynamic_client_config_changes": {
        "record_type_is_known": {"offset": 51, "record_type": "rumour"},
    },
    "client_findings": {
        "times_are_in_order": {"cluster_id": "d", "severity": "fatal"},
    },
    "finding_runs": {
        "some_clients_were_asked_or_not": {"run_id": "s", "not_evaluated": 3},
    },
    "maintenance_runs": {
        "outcome_is_known": {"run_id": "s", "outcome": "maybe"},
    },
    "quality_results": {
        "failures_are_told": {"run_id": "s", "success": True, "failed_rows": 3},
    },
}
OTHER_INSTANCE = "spzDWnpUR5Cqacwr1O5FOA"
GONE = hour(-24 * 100)
LONG_AGO = {"received_at": GONE, "event_date": GONE.date()}
"""Longer than points and rejected records are kept."""
FRAME_ROWS = {
    "client_pushes": [
        *(push(31), push(31)),
        *(push(32, point_count=3), push(33)),
        push(34, client_instance_id=OTHER_INSTANCE),
        *(push(offset, topic="gaps", point_count=0) for offset in (0, 1, 3)),
        *(push(offset, topic="twice", point_count=0) for offset in (0, 1)),
        push(1, topic="twice", point_count=0, push_id="again"),
        *(push(offset, topic="lost", point_count=0) for offset in (0, 5)),
        *(push(offset, topic="rejected", point_count=0) for offset in (0, 2)),
        *(push(offset, topic="anew", point_count=0) for offset in (0, 1, 2, 3)),
        push(0, topic="anew", point_count=0, push_id="again"),
        push(0, topic="without points", **LONG_AGO),
        *(push(offset, topic="foreign", point_count=0) for offset in (0, 2)),
    ],
    "client_metrics": [
        *(*points(30), *points(31), *points(32), *points(33, 0, 0), *points(34)),
        *points(1000),
        *points(62, 0, metric="Records Sent"),
        *points(63, 0, kind="guess"),
        *points(64, 0, temporality="delta"),
    ],
    "quarantine": [
        {"topic": "lost", "partition": 0, "offset": 4, "reason": "data_loss"},
        {"topic": "rejected", "partition": 0, "offset": 1, "reason": "too_large"},
        {"topic": "rejected", "partition": 0, "offset": 9, "reason": "too_large"},
        {"topic": "anew", "partition": 0, "offset": 2, "reason": "topic_made_anew"},
        {"topic": "foreign", "partition": 0, "offset": 1, "event_date": GONE.date()},
    ],
    "client_config_pushes": [
        *(config_push(offset, topic="config gaps") for offset in (0, 1, 3)),
        *(config_push(0, topic="config twice", push_id=name) for name in ("a", "b")),
        *(config_push(at, topic="rejected long ago", **LONG_AGO) for at in (0, 2)),
    ],
    "client_configs": [
        {"client_instance_id": "ref", "configs": {"new": entry(None, "default")}}
    ],
}
FRAME_KEYS = {
    ("pushes_and_points", "push_of_each_point_is_there"): {"offset": 30},
    ("pushes_and_points", "push_stands_there_once"): {"offset": 31},
    ("pushes_and_points", "point_count_matches"): {"offset": 32},
    ("pushes_and_points", "points_stand_there_once"): {"offset": 33},
    ("metric_names", "metric_has_kafkas_form"): {"metric": "Records Sent"},
    ("metric_names", "kind_is_known"): {"kind": "guess"},
    ("metric_names", "temporality_fits_kind"): {"temporality": "delta"},
    ("topic_offsets", "no_offset_is_missing"): {"topic": "gaps", "first_missing": 2},
    ("topic_offsets", "no_offset_is_repeated"): {"topic": "twice"},
    ("config_topic_offsets", "no_offset_is_missing"): {
        "topic": "config gaps",
        "first_missing": 2,
    },
    ("config_topic_offsets", "no_offset_is_repeated"): {"topic": "config twice"},
    ("default_references", "default_is_known"): {"config_key": "new"},
}
WITHOUT_KEYS = {
    ("client_pushes", "written_to_of_late"),
    ("cluster_changes", "written_to_of_late"),
    ("cluster_changes", "observed_of_late"),
}


def as_text(value):
    is_time = hasattr(value, "isoformat") and hasattr(value, "hour")
    return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if is_time else value


def key_in(row, columns):
    """Return what a planted row says of its key, as an example has it."""
    return {name: as_text(row[name]) for name in columns if name in row}


def plant_by_contract(name):
    """Yield expectation, key and rows that break what the contract says."""
    contract, good = CONTRACTS[name], GOOD[name][0]
    key = key_of(contract)
    rows = [good | {column: None} for column in contract.merge_key]
    yield "key_is_there", {contract.merge_key[-1]: None}, rows
    required = [one.name for one in contract.columns if not one.is_nullable]
    row = good | vary(contract, "required") | {required[-1]: None}
    yield "required_columns_are_there", key_in(row, key), [row]
    if name != "client_metrics":
        row = good | vary(contract, "twice")
        yield "key_is_unique", key_in(row, key), [row, row]
    if name in TYPE_2:
        column = VARIED[name]
        row = TYPE_2[name] | {column: "current"}
        yield "one_row_is_current", {column: "current"}, [row | span(0), row | span(1)]
        row = TYPE_2[name] | {column: "overlap"}
        rows = [row | span(0, 2), row | span(1, 3)]
        yield "times_do_not_overlap", key_in(rows[0], key), rows
        row = TYPE_2[name] | {column: "ended"} | span(1, 0)
        yield "current_rows_have_no_end", key_in(row, key), [row]
    if name == "broker_registrations":
        row = good | {"broker_id": 7, "is_current": True}
        rows = [row, row | {"incarnation_id": "j"}]
        yield "one_row_is_current", {"broker_id": 7}, rows


def vary(contract, word):
    """Return a part of a key that no other row has."""
    columns = {one.name: one.sql_type for one in contract.columns}
    for name in key_of(contract):
        if columns[name] == "STRING" and name != "topic":
            return {name: word}
    return {"offset": 700 + len(word)}


def plant():
    """Return the rows of all tables, and (suite, expectation) to the key it names."""
    rows = {name: [*good] for name, good in GOOD.items()}
    planted = dict(FRAME_KEYS)
    for name, contract in CONTRACTS.items():
        for expectation, row in ROW_FAULTS.get(name, {}).items():
            rows[name].append(GOOD[name][0] | row)
            planted[name, expectation] = key_in(GOOD[name][0] | row, key_of(contract))
        for expectation, key, bad in plant_by_contract(name):
            rows[name] += bad
            planted[name, expectation] = key
        rows[name] += FRAME_ROWS.get(name, [])
    return rows, planted
