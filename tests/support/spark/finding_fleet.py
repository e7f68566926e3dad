"""A fleet of clients that rules of findings are asked of, all at once.

A case is about one rule and one subject: who it should be found of, who not, and of
whom it could not be asked. The tables are written once, and evaluated once.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from pipelines.settings import load_settings
from pipelines.settings.rules import read_finding_rules
from pipelines.tables.cluster import BROKER_REGISTRATIONS
from pipelines.tables.configs import (
    CLIENT_CONFIG_HISTORY,
    CLIENT_CONFIGS,
    CONFIG_DEFAULTS,
)
from pipelines.tables.telemetry import CLIENT_INSTANCES, CLIENT_METRICS, CLIENT_PUSHES
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.spark.config_rows import held
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows
from tests.support.spark.writer_option import writer_override
from udfs.configs.logical_clients import hash_logical_clients
from udfs.configs.wire_keys import is_exact_value

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLUSTER = "cluster-1"
PREFIX = "org.apache.kafka."
HIT, MISS, UNKNOWN = "hit", "miss", "unknown"
INTERVAL_MS = 300_000
PUSHES = 4
CONTRACTS = (
    *(CLIENT_INSTANCES, CLIENT_PUSHES, CLIENT_METRICS, CLIENT_CONFIGS),
    *(CLIENT_CONFIG_HISTORY, CONFIG_DEFAULTS, CLIENT_WIRE_CONFIGS),
    BROKER_REGISTRATIONS,
)


def ago(**span):
    return NOW - timedelta(**span)


@dataclass(kw_only=True)
class Client:
    """One client instance, and what is known of it."""

    name: str = ""
    """client_id where fields do not say it; the client instance id is made of it."""
    client_type: str = "producer"
    software: tuple = ("apache-kafka-java", "4.3.1")
    config: dict | None = None
    """Pushed: key to a value that the user has set, or to (value, status)."""
    references: bool = False
    """Whether client_configs leaves values of defaults to config_defaults."""
    pushed_again: bool = False
    """Whether it has pushed its configuration a second time lately."""
    wire: dict | None = None
    """Seen by the proxy: key to value."""
    metrics: dict = field(default_factory=dict)
    """Name without prefix to a gauge, to a list of delta sums or to a tuple of
    cumulative sums, one a push."""
    points: tuple = ()
    """More points, as fields of client_metrics."""
    pushes: int = PUSHES
    """Of telemetry; 0: none, then the client is known by what it pushed otherwise."""
    is_live: bool = True
    fields: dict = field(default_factory=dict)
    """Other columns of client_instances."""


def client(name="", client_type="producer", **known):
    """Return a client; other words than its fields are columns of its instance."""
    own = {k: known.pop(k) for k in list(known) if k in Client.__dataclass_fields__}
    return Client(name=name, client_type=client_type, fields=known, **own)


@dataclass(frozen=True, eq=False)
class Case:
    """One expectation."""

    rule: str
    expects: str
    clients: tuple
    subject: str = ""
    """client_id, or the entity of a finding that is about no one client."""
    severity: str = ""
    """Of the finding; empty: not looked at."""


def hit(rule, *clients, subject="", severity=""):
    return Case(rule, HIT, clients, subject, severity)


def miss(rule, *clients, subject=""):
    return Case(rule, MISS, clients, subject)


def unknown(rule, *clients, subject=""):
    return Case(rule, UNKNOWN, clients, subject)


def logical_client(principal, client_id, client_type):
    columns = [
        pa.array([one], pa.string()) for one in (principal, client_id, client_type)
    ]
    return hash_logical_clients(*columns)[0].as_py()


class Fleet:
    """Tables of one folder that hold the clients of some cases."""

    def __init__(self, spark, folder, cases=(), more=()):
        overrides = [f"tables.root_path={folder}/tables", writer_override()]
        self.settings = load_settings("local", overrides)
        self.subjects = {}
        self._rows = {one.name: (one, []) for one in CONTRACTS}
        make_tables(spark, self.settings.tables, CONTRACTS)
        for place, case in enumerate(cases):
            names = [self.add(one, f"{case.rule} {place}") for one in case.clients]
            self.subjects[case] = case.subject or names[0]
        for contract, *rows in more:
            self._rows.setdefault(contract.name, (contract, []))[1].extend(rows)
            make_tables(spark, self.settings.tables, [contract])
        self.write()

    def write(self):
        for contract, rows in self._rows.values():
            if rows:
                append_rows(self.settings.tables, contract, *rows)
                rows.clear()

    def put(self, contract, row):
        self._rows[contract.name][1].append(row)

    def add(self, one, usual_name):
        """Add the rows of a client; return its client id."""
        count = self._count = getattr(self, "_count", 0) + 1
        name = one.name or usual_name
        software_name, software_version = one.software
        known = {
            "client_instance_id": f"instance-{count}",
            "client_id": name,
            "principal": "User:alice",
            "client_source_address": f"10.0.{count // 250}.{count % 250}",
            "client_type": one.client_type,
            "client_software_name": software_name,
            "client_software_version": software_version,
            "cluster_id": CLUSTER,
            "push_interval_ms": INTERVAL_MS,
            "first_seen": ago(hours=5),
        } | one.fields
        known["logical_client"] = logical_client(
            known["principal"], known["client_id"], known["client_type"]
        )
        if one.pushes:
            self._push(known, one)
        if one.config is not None:
            self._configure(known, one)
        for key, value in (one.wire or {}).items():
            row = {
                "wire_client": f"wire-{count}",
                "config_key": key,
                "config_value": value,
                "is_exact": is_exact_value(key, value, known["client_software_name"]),
                "received_at": ago(minutes=10),
            }
            self.put(CLIENT_WIRE_CONFIGS, _only(CLIENT_WIRE_CONFIGS, known) | row)
        return known["client_id"]

    def _push(self, known, one):
        row = known | ({} if one.is_live else {"terminated_at": ago(minutes=1)})
        self.put(CLIENT_INSTANCES, _only(CLIENT_INSTANCES, row))
        interval_ms = known["push_interval_ms"]
        for number in range(one.pushes):
            at = ago(milliseconds=30_000 + interval_ms * (one.pushes - 1 - number))
            push = {
                "received_at": at,
                "event_date": at.date(),
                "push_id": f"{known['client_instance_id']}/{number}",
                "terminating": not one.is_live and number == one.pushes - 1,
            }
            self.put(CLIENT_PUSHES, _only(CLIENT_PUSHES, known) | push)
            points = [_point(*item, number) for item in one.metrics.items()]
            points += [dict(point) for point in one.points]
            for index, point in enumerate(p for p in points if p is not None):
                self.put(
                    CLIENT_METRICS,
                    _only(CLIENT_METRICS, known)
                    | {k: v for k, v in push.items() if k != "terminating"}
                    | {"point_index": index}
                    | point,
                )

    def _configure(self, known, one):
        configs = {
            key: held(value, status=status)
            for key, (value, status) in (
                (key, told if isinstance(told, tuple) else (told, "overridden"))
                for key, told in one.config.items()
            )
        }
        stored = {
            key: held(None, status=told[3])
            if one.references and told[3] == "default"
            else told
            for key, told in configs.items()
        }
        received_at = ago(minutes=5) if one.pushed_again else known["first_seen"]
        row = {"configs": stored, "received_at": received_at}
        self.put(CLIENT_CONFIGS, _only(CLIENT_CONFIGS, known) | row)
        for key, (value, *_) in configs.items():
            span = {
                "config_key": key,
                "config_value": value,
                "value_id": f"id of {value}",
                "valid_from": known["first_seen"],
                "is_current": True,
                "client_instance_ids": [known["client_instance_id"]],
            }
            self.put(CLIENT_CONFIG_HISTORY, _only(CLIENT_CONFIG_HISTORY, known) | span)

    def read_rules(self):
        """Return the rules of conf/findings.toml."""
        return read_finding_rules(self.settings)


def _point(metric, value, number):
    """Return the point of a push; null where the list has none for it."""
    point = {"metric": f"{PREFIX}{metric}", "kind": "gauge"}
    if isinstance(value, list | tuple):
        if number >= len(value) or value[number] is None:
            return None
        temporality = "delta" if isinstance(value, list) else "cumulative"
        point |= {"kind": "sum", "temporality": temporality, "is_monotonic": True}
        value = value[number]
    return point | {"value_double": float(value)}


def _only(contract, row):
    return {name: row[name] for name in contract.column_names if name in row}
