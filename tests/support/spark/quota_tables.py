"""Tables that quotas are worked out of, with rows that say only what matters."""

from datetime import UTC, datetime, timedelta

from pipelines.settings import load_settings
from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_QUOTAS,
    EFFECTIVE_QUOTAS,
)
from pipelines.tables.configs import CLIENT_CONFIGS
from pipelines.tables.telemetry import CLIENT_METRICS, CLIENT_PUSHES
from pipelines.tables.wire_configs import CLIENT_WIRE_CONFIGS
from tests.support.quotas.quota_rows import entity_rows
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows
from tests.support.spark.writer_option import writer_override

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLUSTER = "cluster-1"
CONTRACTS = (
    CLIENT_QUOTAS,
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_PUSHES,
    CLIENT_METRICS,
    CLIENT_CONFIGS,
    CLIENT_WIRE_CONFIGS,
    EFFECTIVE_QUOTAS,
)
PRODUCER = "org.apache.kafka.producer."


def ago(**span):
    return NOW - timedelta(**span)


class QuotaTables:
    """The tables of one folder; rows are written when somebody asks where they are."""

    def __init__(self, spark, folder, contracts=CONTRACTS, now=NOW):
        self._root = f"tables.root_path={folder}/tables"
        self.spark = spark
        self.now = now
        self._settings = load_settings("local", [self._root, writer_override()])
        self._count = 0
        self._added = {}
        make_tables(spark, self._settings.tables, contracts)

    @property
    def root(self):
        """The setting that names the tables, which hold what was added."""
        self._write()
        return self._root

    @property
    def settings(self):
        """Settings with the tables, which hold what was added."""
        self._write()
        return self._settings

    def read(self, contract):
        path = f"{self.settings.tables.root_path}/{contract.name}"
        return self.spark.read.format("delta").load(path)

    def add(self, contract, *rows):
        self._added.setdefault(contract.name, (contract, []))[1].extend(rows)

    def _write(self):
        """Append what was added, at once: a commit takes longer than its rows."""
        added, self._added = self._added, {}
        for contract, rows in added.values():
            append_rows(self._settings.tables, contract, *rows)

    def set_quotas(self, *quotas, cluster_id=CLUSTER, **fields):
        """Add current rows of client_quotas, from pairs as entity_rows has them."""
        rows = []
        for path, value in quotas:
            for row in entity_rows([(path, value)]):
                known = {
                    "cluster_id": cluster_id,
                    "entity_path": path,
                    "valid_from": self.now - timedelta(days=1),
                    "is_current": True,
                }
                rows.append(known | row | fields)
        self.add(CLIENT_QUOTAS, *rows)

    def end_quota(self, path, key, at, **fields):
        """Add a row of client_quotas that is over."""
        (row,) = entity_rows([(path, {key: fields.pop("value")})])
        known = {"cluster_id": CLUSTER, "entity_path": path, "is_current": False}
        self.add(CLIENT_QUOTAS, known | row | {"valid_to": at} | fields)

    def register_brokers(self, *fenced, cluster_id=CLUSTER):
        """Add brokers 1, 2, …; each is told whether it is fenced."""
        self.add(
            BROKER_REGISTRATIONS,
            *(
                {
                    "cluster_id": cluster_id,
                    "broker_id": number,
                    "incarnation_id": f"i{number}",
                    "is_current": True,
                    "is_fenced": is_fenced,
                }
                for number, is_fenced in enumerate(fenced, 1)
            ),
        )

    def configure_broker(self, name, value, **fields):
        known = {"cluster_id": CLUSTER, "is_current": True, "config_name": name}
        self.add(BROKER_STATIC_CONFIGS, known | {"config_value": value} | fields)

    def push(self, principal, client_id, *, at=None, values=None, **fields):
        """Add a push of one instance, and points by the ends of their names."""
        self._count += 1
        received = at or self.now - timedelta(seconds=10)
        instance = fields.pop("instance", f"instance-{self._count}")
        known = {
            "client_instance_id": instance,
            "principal": principal,
            "client_id": client_id,
            "client_source_address": "10.0.0.1",
            "received_at": received,
            "event_date": received.date(),
            "push_id": f"push-{self._count}",
            "push_interval_ms": 30_000,
            "terminating": False,
        }
        row = known | fields
        self.add(CLIENT_PUSHES, row)
        shared = {name: row[name] for name in ("push_id", "received_at", "event_date")}
        points = [
            shared | {"metric": metric, "value_double": value, "point_index": place}
            for place, (metric, value) in enumerate((values or {}).items())
        ]
        if points:
            self.add(CLIENT_METRICS, *points)
        return row
