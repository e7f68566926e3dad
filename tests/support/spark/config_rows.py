"""Rows of the tables of client configurations, that say only what matters."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from udfs.configs.value_columns import type_values

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""A moment in the past."""
HALF_A_DAY_AGO = datetime.now(tz=UTC) - timedelta(hours=12)
JAVA = {
    "client_software_name": "apache-kafka-java",
    "client_software_version": "4.3.1",
}
TYPED = ("value_boolean", "value_long", "value_double", "value_list", "value_string")


def hours(number):
    """Return a moment some hours after NOON."""
    return NOON + timedelta(hours=number)


def recent(number):
    """Return a moment some hours after half a day ago: clients of it are active."""
    return HALF_A_DAY_AGO + timedelta(hours=number)


def entry(key, value, config_type="STRING", *, is_default=False):
    """Return an entry of client_config_pushes."""
    return (key, value, config_type, is_default)


def held(value, config_type="STRING", status="overridden", *, is_default=False):
    """Return what client_configs has of one key, typed as the job types it."""
    columns = pa.array([value], pa.string()), pa.array([config_type], pa.string())
    row = type_values(*columns).to_pylist()[0]
    typed = (row[name] for name in TYPED)
    return (value, config_type, is_default or status == "default", status, *typed)


def instance(name, configs, **fields):
    """Return a row of client_configs of a producer of the logical client `app`."""
    known = {"client_instance_id": name, "client_id": "app", "principal": "User:a"}
    known |= {"client_type": "producer", "logical_client": "app"}
    return known | JAVA | {"configs": configs} | fields


def span(key, value, start, end=None, **fields):
    """Return a row of client_config_history of `app`, times in hours after NOON."""
    known = {"logical_client": "app", "principal": "User:a", "client_id": "app"}
    known |= {"client_type": "producer", "config_key": key, "config_value": value}
    known |= {"value_id": "-" if value is None else f"id of {value}"}
    known |= {"config_type": "STRING", "is_default": False, "is_current": end is None}
    known |= {
        "valid_from": hours(start),
        "valid_to": None if end is None else hours(end),
    }
    return known | {"client_instance_ids": ["one"]} | fields
