"""The twelve clients of the site, which of them are wrong and how, and its quotas.

Of three families: Java's stock clients, of which the command push-config tells the
configuration as KIP-1324 has clients do it; confluent-kafka with the library
kafka_clientele, which pushes by itself; and confluent-kafka alone, of which is known
what passes the proxy. Each fault is one that a rule of conf/findings.toml names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from .clients import CONSUMER, PRODUCER, Quota


class Family(Enum):
    """What a client is made of."""

    JAVA = "Apache Kafka's Java client"
    LIBRARY = "confluent-kafka with kafka_clientele"
    STOCK = "confluent-kafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteClient:
    """One client of the site; it is right where it has no rule."""

    client_id: str
    family: Family
    client_type: str
    topic: str
    group_id: str | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    """What its user has set, in the words of its family."""
    records_per_s: float = 4.0
    """Of a producer."""
    records_at_once: int = 1
    value_bytes: int = 100
    rule: str = ""
    """The rule that finds its fault; empty: there is none."""
    fix: Mapping[str, str] = field(default_factory=dict)
    """What to set; none where the fix is not in the client."""

    def mended(self) -> "SiteClient":
        """Return the client as its finding wants it."""
        return replace(self, configs={**self.configs, **self.fix})


REPLICAS, PARTITIONS = 3, 3
TOPICS = {"orders": PARTITIONS, "payments": PARTITIONS, "clicks": 1}
"""Name to partitions; each partition is on all three brokers."""
BROKER_PROPERTIES = {"default.replication.factor": "3", "min.insync.replicas": "2"}
NEW_BROKER_PROPERTIES = {"num.replica.fetchers": "2"}
"""What is being rolled out: brokers 2 and 3 have it, 1 not yet."""
ROLLED_BROKERS = (2, 3)

_SAFE = {"acks": "all", "enable.idempotence": "true", "linger.ms": "50"}
_EARLIEST = {"auto.offset.reset": "earliest"}

CLIENTS = (
    SiteClient(
        client_id="orders",
        family=Family.LIBRARY,
        client_type=PRODUCER,
        topic="orders",
        configs=_SAFE,
    ),
    SiteClient(
        client_id="audit",
        family=Family.LIBRARY,
        client_type=PRODUCER,
        topic="orders",
        configs={"acks": "1", "linger.ms": "50"},
        rule="producer-acks-not-all",
        fix={"acks": "all", "enable.idempotence": "true"},
    ),
    SiteClient(
        client_id="archive",
        family=Family.LIBRARY,
        client_type=PRODUCER,
        topic="orders",
        configs={**_SAFE, "delivery.timeout.ms": "5000"},
        rule="producer-gives-up-early",
        fix={"delivery.timeout.ms": "300000"},
    ),
    SiteClient(
        client_id="billing",
        family=Family.LIBRARY,
        client_type=CONSUMER,
        topic="orders",
        group_id="billing",
        configs={**_EARLIEST, "session.timeout.ms": "6000"},
        rule="consumer-session-timeout-short",
        fix={"session.timeout.ms": "45000"},
    ),
    SiteClient(
        client_id="shipping",
        family=Family.LIBRARY,
        client_type=CONSUMER,
        topic="orders",
        group_id="shipping",
        configs=_EARLIEST,
    ),
    SiteClient(
        client_id="reports",
        family=Family.LIBRARY,
        client_type=CONSUMER,
        topic="payments",
        group_id="reports",
        configs=_EARLIEST,
    ),
    SiteClient(
        client_id="payments",
        family=Family.STOCK,
        client_type=PRODUCER,
        topic="payments",
        configs=_SAFE,
    ),
    SiteClient(
        client_id="clickstream",
        family=Family.JAVA,
        client_type=PRODUCER,
        topic="clicks",
        configs={"linger.ms": "0"},
        records_per_s=240,
        records_at_once=4,
        rule="producer-tiny-batches",
        fix={"linger.ms": "100"},
    ),
    SiteClient(
        client_id="search-index",
        family=Family.JAVA,
        client_type=CONSUMER,
        topic="clicks",
        group_id="search-index",
        configs={**_EARLIEST, "fetch.min.bytes": "1"},
        rule="consumer-fetch-storm",
        fix={"fetch.min.bytes": "4096"},
    ),
    SiteClient(
        client_id="fraud",
        family=Family.JAVA,
        client_type=CONSUMER,
        topic="payments",
        group_id="fraud",
        configs=_EARLIEST,
    ),
    SiteClient(
        client_id="inventory",
        family=Family.STOCK,
        client_type=PRODUCER,
        topic="payments",
        configs=_SAFE,
    ),
    SiteClient(
        # Of Java, as librdkafka takes a whole core while a quota holds it back.
        client_id="export",
        family=Family.JAVA,
        client_type=PRODUCER,
        topic="payments",
        configs=_SAFE,
        records_per_s=20,
        value_bytes=500,
        rule="client-throttled-by-quota",
    ),
)
ROLLED = {
    "orders": {"linger.ms": "20", "compression.type": "lz4"},
    "shipping": {"fetch.min.bytes": "1024"},
}
"""The rolling change: clients that are made anew, one after the other, with this
set."""

# Of export's some 3.5 kB/s a broker; a lower one would hold its pushes back as well.
QUOTAS = (
    Quota(entity={"client-id": "export"}, key="producer_byte_rate", value=2_800.0),
    Quota(entity={"client-id": "orders"}, key="producer_byte_rate", value=10_000_000.0),
    Quota(entity={"user": None}, key="consumer_byte_rate", value=50_000_000.0),
)
MENDED_QUOTAS = (
    Quota(entity={"client-id": "export"}, key="producer_byte_rate", value=100_000.0),
)
