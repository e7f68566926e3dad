"""Tables of a made-up site that has something to see in each notebook.

Two hours of two dozen clients: an upgrade from 3.9.2 to 4.3.1 under way, a broker that
becomes slow in the second hour, a group that rebalances all the time, a producer that is
throttled, one that is configured unlike its peers, records that could not be read.
"""

# Longer than 400 lines: rows of eighteen tables of one site, which fit together.

import math
from datetime import UTC, datetime, timedelta
from random import Random

from pipelines.settings import CONF_PATH, load_settings
from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    CLIENT_METRICS_SUBSCRIPTIONS,
    CLIENT_QUOTAS,
    CLUSTER_CHANGES,
    EFFECTIVE_QUOTAS,
)
from pipelines.tables.configs import CLIENT_CONFIG_CONTRACTS
from pipelines.tables.quality import QUALITY_RESULTS
from pipelines.tables.telemetry import (
    CLIENT_INSTANCES,
    CLIENT_METRICS,
    CLIENT_PUSHES,
    QUARANTINE,
    TELEMETRY_CONTRACTS,
)
from pipelines.tables.traffic import CLIENT_TRAFFIC
from tests.support.spark.config_rows import held
from tests.support.spark.empty_tables import make_tables
from tests.support.spark.table_rows import append_rows
from tests.support.spark.writer_option import writer_override

PUSH = (
    CONF_PATH.parent / "tests/golden/telemetry/java-3.9.2/producer_2_none.bin"
).read_bytes()
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
MINUTES = 120
STEP = 2
"""Minutes between two pushes of a client."""
_P, _C = "org.apache.kafka.producer.", "org.apache.kafka.consumer."
OTHER_CONTRACTS = (
    *CLIENT_CONFIG_CONTRACTS,
    *(CLIENT_QUOTAS, EFFECTIVE_QUOTAS, CLIENT_TRAFFIC, QUALITY_RESULTS),
    *(BROKER_REGISTRATIONS, BROKER_STATIC_CONFIGS, CLUSTER_CHANGES),
    CLIENT_METRICS_SUBSCRIPTIONS,
)


class Client:
    """One client instance."""

    def __init__(self, number, client_id, principal, kind, software, group=None):
        self.number, self.kind, self.group = number, kind, group
        self.client_id = client_id
        name, _, version = software.partition(" ")
        self.who = {
            "client_instance_id": f"{number * 7919:06d}galleryOfClients",
            "client_id": client_id,
            "principal": principal,
            "client_type": kind,
            "client_software_name": name,
            "client_software_version": version,
            "client_source_address": f"10.0.0.{number}",
            "cluster_id": CLUSTER,
            "broker_id": 1 + number % 3,
        }

    @property
    def logical_client(self):
        return f"{self.who['principal']} {self.client_id} {self.kind}"


def plan_clients():
    """Return two dozen clients."""
    java, old, native = (
        "apache-kafka-java 4.3.1",
        "apache-kafka-java 3.9.2",
        "librdkafka 2.10.1",
    )
    producers = [
        *(("orders", "User:shop", java), ("orders", "User:shop", old)),
        *((f"{name}-writer", "User:shop", java) for name in ("cart", "price", "stock")),
        *(
            (f"{name}-writer", "User:web", old)
            for name in ("click", "search", "session")
        ),
        *((f"{name}-writer", "User:lab", native) for name in ("trial", "model")),
        *((f"{name}-writer", "User:web", java) for name in ("page", "ad")),
    ]
    consumers = [
        *(("billing", "User:bank", java, "billing") for _ in range(4)),
        *(("billing", "User:bank", old, "billing") for _ in range(2)),
        *(("restless", "User:lab", old, "restless") for _ in range(3)),
        *(("search-reader", "User:web", java, "search") for _ in range(3)),
    ]
    made = [(*one[:2], "producer", one[2], None) for one in producers]
    made += [(*one[:2], "consumer", *one[2:]) for one in consumers]
    return [Client(number, *one) for number, one in enumerate(made, 1)]


class GalleryTables:
    """The tables of one folder."""

    def __init__(self, spark, folder, *, is_whole=True):
        """Make the tables; all of them, or those of telemetry alone."""
        self.root = f"tables.root_path={folder}/tables"
        self.settings = load_settings("local", [self.root, writer_override()])
        self.now = datetime.now(tz=UTC).replace(second=0, microsecond=0)
        self.clients = plan_clients()
        self._random = Random(7)  # noqa: S311 - the same numbers each time
        contracts = (*TELEMETRY_CONTRACTS, *(OTHER_CONTRACTS if is_whole else ()))
        make_tables(spark, self.settings.tables, contracts)
        self._write_telemetry()
        if is_whole:
            self._write_configs()
            self._write_quotas()
            self._write_brokers()
            self._write_quality()

    def ago(self, **span):
        return self.now - timedelta(**span)

    def append(self, contract, rows):
        """Append rows, some of which hold what other tables have as well."""
        known = [
            {name: row[name] for name in contract.column_names if name in row}
            for row in rows
        ]
        append_rows(self.settings.tables, contract, *known, moment=self.now)

    def _write_telemetry(self):
        pushes, points, instances = [], [], []
        for client in self.clients:
            first = 60 if client.client_id == "ad-writer" else 0
            last = 70 if client.client_id == "trial-writer" else MINUTES
            for minute in range(first, last, STEP):
                at = self.ago(minutes=MINUTES - minute, seconds=client.number)
                push = self._push(client, minute, at)
                values = list(self._values(client, minute))
                pushes.append(push | {"point_count": len(values)})
                points += [
                    push | point | {"point_index": place}
                    for place, point in enumerate(map(self._point(at), values))
                ]
            ended = last < MINUTES
            instances.append(
                client.who
                | {"group_id": client.group, "push_interval_ms": STEP * 60_000}
                | {"first_seen": self.ago(minutes=MINUTES - first)}
                | {"terminated_at": self.ago(minutes=MINUTES - last) if ended else None}
            )
        self.append(CLIENT_METRICS, points)
        self.append(CLIENT_INSTANCES, instances)
        self.append(CLIENT_PUSHES, pushes)
        self.append(
            QUARANTINE,
            [
                {"event_date": at.date(), "kafka_timestamp": at, "reason": reason}
                | {"source_job": "client_telemetry_to_delta", "offset": 10**6 + place}
                | {"detail": f"a sentence on {reason}"}
                for place, (minutes, reason) in enumerate(
                    [(minutes, "wrong_codec") for minutes in range(20, 110, 3)]
                    + [(40, "too_large"), (41, "too_large"), (90, "truncated_otlp")]
                )
                for at in [self.ago(minutes=minutes)]
            ],
        )

    def _push(self, client, minute, at):
        return client.who | {
            "topic": "clientele.telemetry",
            "partition": 0,
            "offset": client.number * 1000 + minute,
            "event_date": at.date(),
            "received_at": at,
            "push_id": f"push-{client.number}-{minute}",
            "push_interval_ms": STEP * 60_000,
            "compression_type": "none",
            "decode_status": "ok",
            "group_id": client.group,
            "body": PUSH if client.client_id == "orders" else b"",
        }

    @staticmethod
    def _point(at):
        def make(value):
            metric, number, labels = value
            is_sum = metric.endswith(".total")
            made_at = at - timedelta(milliseconds=400)
            sums = {"temporality": "delta", "is_monotonic": True} if is_sum else {}
            return {
                "metric": metric,
                "kind": "sum" if is_sum else "gauge",
                "value_double": number,
                "time": made_at,
                "time_unix_nano": int(made_at.timestamp() * 10**9),
                "attributes": [],
                **sums,
                **labels,
            }

        return make

    def _values(self, client, minute):
        """Return metric, value and labels of what a client says at a minute."""
        wave = 1 + 0.3 * math.sin(minute / 12 + client.number)
        noise = self._random.uniform(0.9, 1.1)
        is_new = client.who["client_software_version"] == "4.3.1"
        base = (4 if is_new else 7) * wave * noise
        slow = 9 if minute >= MINUTES // 2 else 1
        prefix = _P if client.kind == "producer" else _C
        for broker in (1, 2, 3):
            latency = (
                base * (slow if broker == 2 else 1) * self._random.uniform(0.9, 1.1)
            )
            for word, times in (("avg", 1), ("max", 3)):
                metric = f"{prefix}node.request.latency.{word}"
                node = {"node_id": str(broker), "node_role": "broker"}
                yield metric, latency * times, node
        yield f"{prefix}connection.creation.total", float(minute % 10 == 0), {}
        of_kind = self._produced if client.kind == "producer" else self._consumed
        for metric, number in of_kind(client, minute, base, slow):
            yield prefix + metric, number, {}

    @staticmethod
    def _produced(client, minute, base, slow):
        is_throttled = client.client_id == "orders" and 40 <= minute < 80
        yield "request.latency.avg", base * (2 + slow) / 3
        yield "record.queue.time.avg", base / 2
        yield "outgoing.byte.rate", 20_000.0 * client.number * (1 + 0.1 * base)
        yield "record.error.rate", 0.0
        yield "record.retry.rate", 0.5 if slow > 1 else 0.0
        yield "batch.size.avg", 4_000.0 + 10 * base
        for word, times in (("avg", 1), ("max", 2)):
            wait = 150.0 * times if is_throttled else 0.0
            yield f"produce.throttle.time.{word}", wait

    @staticmethod
    def _consumed(client, minute, base, slow):
        is_restless = client.group == "restless"
        rebalances = float(is_restless and minute % 6 == 0) or float(minute == 60)
        yield "fetch.manager.fetch.latency.avg", 300 + base
        yield "fetch.manager.bytes.consumed.rate", 15_000.0 * base
        yield "fetch.manager.records.lag.max", minute * 30.0 if is_restless else base
        yield "coordinator.commit.latency.avg", base
        yield "coordinator.assigned.partitions", float(4 if is_restless else 2)
        yield "coordinator.rebalance.total", rebalances
        yield "coordinator.failed.rebalance.total", 0.0
        yield "coordinator.rebalance.latency.total", rebalances * 2_500
        yield "coordinator.rebalance.latency.max", 3_000.0 if rebalances else math.nan
        yield "poll.idle.ratio.avg", 0.1 if is_restless else 0.8
        yield "time.between.poll.max", 250.0 * slow

    def _write_configs(self):
        configs, history, pushes, seen = [], [], [], set()
        for client in self.clients:
            entries = dict(self._entries(client))
            typed = {key: held(*entry) for key, entry in entries.items()}
            logical = {"logical_client": client.logical_client}
            at = self.ago(minutes=MINUTES, seconds=client.number)
            place = {"received_at": at, "event_date": at.date(), "content_hash": "h"}
            names = ("config_value", "config_type", "is_default", "status")
            names += ("value_boolean", "value_long", "value_double", "value_list")
            stored = [
                (key, dict(zip((*names, "value_string"), entry, strict=True)))
                for key, entry in typed.items()
            ]
            configs.append(client.who | logical | place | {"configs": stored})
            told = [
                dict(zip(("config_key", *names[:3]), (key, *entry[:3]), strict=True))
                for key, entry in typed.items()
            ]
            push = {"offset": client.number, "decode_status": "ok", "configs": told}
            pushes.append(client.who | logical | place | push)
            if client.logical_client not in seen:
                seen.add(client.logical_client)
                history += self._history(client, typed, at)
        for contract in CLIENT_CONFIG_CONTRACTS:
            rows = {
                "client_configs": configs,
                "client_config_history": history,
                "client_config_pushes": pushes,
            }.get(contract.name)
            if rows:
                self.append(contract, rows)

    @staticmethod
    def _entries(client):
        """Return key to value and type of what a client set itself."""
        if client.kind == "producer":
            yield (
                "acks",
                ("1" if client.client_id == "click-writer" else "all", "STRING"),
            )
            yield (
                "linger.ms",
                ("0" if client.client_id == "click-writer" else "5", "LONG"),
            )
            if "rdkafka" not in client.who["client_software_name"]:
                yield "compression.type", ("zstd", "STRING")
            return
        yield "group.id", (client.group, "STRING")
        is_long = client.number % 4 == 1 and client.group == "billing"
        yield "session.timeout.ms", ("10000" if is_long else "45000", "INT")
        yield "auto.offset.reset", ("earliest", "STRING")

    def _history(self, client, typed, at):
        for key, (value, kind, is_default, *_) in typed.items():
            row = client.who | {
                "logical_client": client.logical_client,
                "config_key": key,
                "config_type": kind,
                "is_default": is_default,
                "client_instance_ids": [client.who["client_instance_id"]],
            }
            now = {"config_value": value, "value_id": value, "is_current": True}
            if key == "linger.ms":
                changed = self.ago(minutes=50)
                former = {"config_value": "50", "value_id": "50", "is_current": False}
                yield row | former | {"valid_from": at, "valid_to": changed}
                yield row | now | {"valid_from": changed, "valid_to": None}
            else:
                yield row | now | {"valid_from": at, "valid_to": None}

    def _write_quotas(self):
        key, wide = "producer_byte_rate", 2_000_000.0
        quota = {"cluster_id": CLUSTER, "quota_key": key, "is_current": True}
        quota |= {"valid_to": None, "is_default_user": False}
        rows = [
            quota
            | {"entity_path": f"users/{user}", "user_name": user, "quota_value": value}
            | {"valid_from": self.ago(minutes=minutes)}
            for user, value, minutes in (
                *(("shop", 100_000.0, 60), ("web", wide, 600), ("lab", wide, 900)),
            )
        ]
        former = {"quota_value": 500_000.0, "is_current": False}
        former |= {"valid_from": self.ago(days=2), "valid_to": self.ago(minutes=60)}
        self.append(CLIENT_QUOTAS, [*rows, rows[0] | former])
        limits = {f"User:{row['user_name']}": row["quota_value"] for row in rows}
        producers = [one for one in self.clients if one.kind == "producer"]
        self.append(
            EFFECTIVE_QUOTAS,
            [
                one.who
                | {"quota_key": key, "limit": limits[one.who["principal"]], "level": 3}
                | {
                    "entity_path": f"users/{one.who['principal'][5:]}",
                    "live_brokers": 3,
                }
                | {"quota_id": one.who["principal"], "reason": "level 3"}
                | {"cluster_limit": 3 * limits[one.who["principal"]]}
                | {"reported_rate": 24_000.0 * one.number}
                | {"reported_throttle_ms_max": 300.0 * (one.client_id == "orders")}
                for one in producers
            ],
        )
        self.append(
            CLIENT_TRAFFIC,
            [
                one.who
                | {"window_start": self.ago(minutes=minute), "window_ms": 300_000}
                | {"produced_bytes": 300 * 24_000 * one.number * is_producer}
                | {"fetched_bytes": 300 * 50_000 * (not is_producer)}
                | {"throttle_ms_sum": 0, "produce_throttle_ms_sum": 0}
                for one in self.clients
                for is_producer in [one.kind == "producer"]
                for minute in range(0, MINUTES, 5)
            ],
        )

    def _write_brokers(self):
        place = {"cluster_id": CLUSTER, "is_current": True, "source": "admin_api"}
        self.append(
            BROKER_REGISTRATIONS,
            [
                place
                | {
                    "broker_id": broker,
                    "incarnation_id": f"i{broker}",
                    "rack": f"r{broker}",
                }
                | {
                    "registered_at": self.ago(days=broker),
                    "static_configs": "described",
                }
                | {"is_fenced": False}
                for broker in (1, 2, 3)
            ],
        )
        values = {
            "num.io.threads": ("8", "2", "8"),
            "log.retention.hours": ("168", "168", "72"),
            "message.max.bytes": ("1048588", "1048588", "10485880"),
            "num.network.threads": ("3", "3", "3"),
        }
        self.append(
            BROKER_STATIC_CONFIGS,
            [
                place
                | {
                    "broker_id": broker,
                    "incarnation_id": f"i{broker}",
                    "config_name": name,
                }
                | {"config_value": value, "effective_value": value, "is_default": False}
                | {"effective_source": "static", "report": "describe_configs"}
                | {"valid_from": self.ago(days=1)}
                for name, of_brokers in values.items()
                for broker, value in enumerate(of_brokers, 1)
            ],
        )
        self.append(
            CLUSTER_CHANGES,
            [
                {"cluster_id": CLUSTER, "source": "metadata_log", "offset": offset}
                | {"record_type": kind, "entity": entity, "change": change}
                | {"valid_from": at, "event_date": at.date(), "decode_status": "ok"}
                for offset, (days, kind, entity, change) in enumerate(
                    [
                        *(
                            (day, "ClientQuota", "users/shop", f"{day}")
                            for day in range(6)
                        ),
                        *(
                            (day, "Config", "topics/a", "x 1")
                            for day in (0, 0, 2, 4, 4)
                        ),
                        (1, "RegisterBroker", "brokers/2", "registered"),
                    ]
                )
                for at in [self.ago(days=days, minutes=5)]
            ],
        )
        self.append(
            CLIENT_METRICS_SUBSCRIPTIONS,
            [
                place
                | {"name": "all", "metrics": ["org.apache.kafka."], "match": None}
                | {"interval_ms": STEP * 60_000, "valid_from": self.ago(days=3)}
            ],
        )

    def _write_quality(self):
        self.append(
            QUALITY_RESULTS,
            [
                {
                    "run_id": "run",
                    "checked_at": self.ago(hours=1),
                    "table": "client_pushes",
                }
                | {"event_date": self.now.date(), "expectation": f"rule-{number}"}
                | {"meaning": "what it expects", "success": number > 0}
                | {"failed_rows": 3 * (number == 0), "examples": []}
                for number in range(4)
            ],
        )
