"""Cases of group C: rules over configuration, telemetry, quotas, brokers, the wire."""

from pipelines.tables.cluster import (
    BROKER_REGISTRATIONS,
    BROKER_STATIC_CONFIGS,
    EFFECTIVE_QUOTAS,
)
from tests.support.spark.finding_fleet import ago, client, hit, miss, unknown

LIBRDKAFKA = ("librdkafka", "2.15.0")
TINY, CODEC = "producer-tiny-batches", "producer-compression-mismatch"
TIMEOUT, THROTTLED = "request-latency-near-timeout", "client-throttled-by-quota"
HEADROOM, SHARES = "quota-headroom-small", "default-client-id-shares-quota"
POLLS, STORM = "consumer-poll-interval-at-risk", "consumer-fetch-storm"
LARGER, LIMITS = "producer-larger-than-broker-accepts", "timeouts-outside-broker-limits"
ISR, LOCK = "acks-all-without-min-isr", "share-consumer-slower-than-its-lock"
SENT = "producer.record.send.total"
OUT, RATE = "producer.outgoing.byte.total", "producer.compression.rate.avg"
SLOWEST = "producer.request.latency.max"
HELD = "producer.produce.throttle.time"
BETWEEN, POLL = "consumer.time.between.poll.max", "consumer.poll.idle.ratio.avg"
SHARE_BETWEEN = "consumer.share.time.between.poll.max"
CREATED = "producer.connection.creation.total"
LATENCY_LIMIT = {"request.timeout.ms": "30000"}
POLL_LIMIT = {"max.poll.interval.ms": "300000", "max.poll.records": "500"}
QUOTED = {"cluster_id": "quoted"}


def producer(config=None, metrics=(), **known):
    return client(config=config, metrics=dict(metrics), **known)


def consumer(config=None, metrics=(), **known):
    return client("", "consumer", config=config, metrics=dict(metrics), **known)


def sender(config=None, *, a_request=2.0, sent=100_000, **more):
    metrics = {
        "producer.records.per.request.avg": a_request,
        "producer.batch.size.avg": 400,
        SENT: [sent] * 4,
    } | {f"producer.{k.replace('_', '.')}": v for k, v in more.items()}
    return producer({"batch.size": "16384"} | (config or {}), metrics)


def stream(codec, rate=None, *, out=1e9, **known):
    metrics = {OUT: [out] * 4} | ({} if rate is None else {RATE: rate})
    config = None if codec is None else {"compression.type": codec}
    return producer(config, metrics, **known)


def held(avg, most, config=None, **known):
    metrics = {f"{HELD}.avg": avg, f"{HELD}.max": most}
    return producer(config or LATENCY_LIMIT, metrics, **known)


def fetcher(config, rate=200.0, size=300.0):
    name = "consumer.fetch.manager"
    metrics = {
        f"{name}.fetch.rate": rate,
        f"{name}.fetch.size.avg": size,
        f"{name}.bytes.consumed.rate": rate * size,
        "consumer.connection.count": 3,
    }
    return consumer(config, metrics)


CASES = (
    hit(TINY, sender(), severity="advice"),
    hit(TINY, sender(sent=500_000), severity="warning"),
    hit(TINY, sender(produce_throttle_time_avg=50), severity="warning"),
    miss(TINY, sender(a_request=90.0)),
    miss(TINY, sender(sent=1_000)),
    miss(TINY, sender({"linger.ms": "50"})),
    miss(TINY, sender({"batch.size": "500"})),
    # The application waits for every record.
    miss(
        TINY,
        sender(a_request=1.0, requests_in_flight=1, record_queue_time_avg=0.1),
    ),
    unknown(TINY, producer({"batch.size": "16384"}, {SENT: [100_000] * 4})),
    unknown(TINY, sender({"batch.size": (None, "redacted")})),
    hit(CODEC, stream("none", 1.0)),
    hit(CODEC, stream("zstd", 0.99)),
    hit(CODEC, stream(None, 0.99, wire={"compression.type": "zstd"})),
    miss(CODEC, stream("lz4", 0.4)),
    miss(CODEC, stream("none", 1.0, out=1e6)),
    miss(CODEC, stream("lz4")),
    # Whatever the codec is, a batch that would not become smaller goes as none.
    unknown(CODEC, stream(None, 1.0, wire={"compression.type": "none"})),
    unknown(CODEC, producer({"compression.type": "none"}, {SENT: [1] * 4})),
    unknown(CODEC, stream((None, "redacted"), 1.0)),
    hit(TIMEOUT, producer(LATENCY_LIMIT, {SLOWEST: 29_000})),
    hit(
        TIMEOUT,
        producer({"socket.timeout.ms": "60000"}, {SLOWEST: 59e3}, software=LIBRDKAFKA),
    ),
    # Once, and not near.
    miss(TIMEOUT, producer(LATENCY_LIMIT, {SLOWEST: [29_000, 90, 90, 90]})),
    miss(TIMEOUT, producer(LATENCY_LIMIT, {SLOWEST: 20_000})),
    unknown(TIMEOUT, producer(LATENCY_LIMIT, {SENT: [1] * 4})),
    hit(THROTTLED, held(80, 400), severity="advice"),
    hit(
        THROTTLED,
        held([80, 80, 0, 0], 400, principal="User:held", name="held 1", **QUOTED),
        severity="warning",
    ),
    hit(
        THROTTLED,
        held(80, 400, principal="User:held", name="held 2", **QUOTED),
        severity="error",
    ),
    hit(
        THROTTLED,
        held([80, 80, 0, 0], 30_000, principal="User:held", name="held 3", **QUOTED),
        severity="error",
    ),
    hit(
        THROTTLED,
        consumer(metrics={"consumer.fetch.manager.fetch.throttle.time.avg": 50}),
    ),
    miss(THROTTLED, held([80, 0, 0, 0], 400)),
    miss(THROTTLED, held(5, 9)),
    unknown(THROTTLED, held(80, 90, software=("kgo", "v1.21.3"))),
    unknown(THROTTLED, producer(LATENCY_LIMIT, {SENT: [1] * 4})),
    hit(HEADROOM, subject="quota/producer_byte_rate/near:"),
    miss(HEADROOM, subject="quota/producer_byte_rate/far:"),
    miss(HEADROOM, subject="quota/producer_byte_rate/held:"),
    hit(
        SHARES,
        *(client("rdkafka", principal=p) for p in ("User:a", "User:b")),
        subject="client-id/rdkafka",
        severity="advice",
    ),
    hit(
        SHARES,
        client("producer-1", principal="User:c", **QUOTED),
        subject="client-id/producer-1",
        severity="warning",
    ),
    miss(SHARES, client("sarama", principal="User:a"), subject="client-id/sarama"),
    miss(
        SHARES,
        *(client("orders", principal=p) for p in ("User:a", "User:b")),
        subject="client-id/orders",
    ),
    hit(
        POLLS,
        consumer(POLL_LIMIT, {BETWEEN: 250_000, POLL: 0.1}, group_id="g"),
        severity="warning",
    ),
    hit(
        POLLS,
        consumer(POLL_LIMIT, {BETWEEN: 310_000, POLL: 0.1}, group_id="g"),
        severity="error",
    ),
    # It polls with a long timeout, is in no group, and is in time.
    miss(POLLS, consumer(POLL_LIMIT, {BETWEEN: 250_000, POLL: 0.99}, group_id="g")),
    miss(POLLS, consumer(POLL_LIMIT, {BETWEEN: 250_000, POLL: 0.1})),
    miss(POLLS, consumer(POLL_LIMIT, {BETWEEN: 90_000, POLL: 0.1}, group_id="g")),
    unknown(POLLS, consumer(POLL_LIMIT, {POLL: 0.1}, group_id="g")),
    unknown(POLLS, consumer({"max.poll.interval.ms": (None, "redacted")}, {POLL: 0.1})),
    hit(STORM, fetcher({"fetch.min.bytes": "1"})),
    miss(STORM, fetcher({"fetch.min.bytes": "1024"})),
    miss(STORM, fetcher({"fetch.min.bytes": "1", "fetch.max.wait.ms": "20"})),
    miss(STORM, fetcher({"fetch.min.bytes": "1"}, rate=30.0)),
    miss(STORM, fetcher({"fetch.min.bytes": "1"}, size=50_000.0)),
    unknown(STORM, consumer({"fetch.min.bytes": "1"}, {POLL: 0.1})),
    hit(
        LARGER,
        producer(None, {"producer.batch.size.max": 2e6}, cluster_id="two"),
        severity="error",
    ),
    hit(LARGER, producer({"max.request.size": "5000000"}, cluster_id="two")),
    hit(
        LARGER,
        producer(
            {"message.max.bytes": "5000000"}, software=LIBRDKAFKA, cluster_id="two"
        ),
        severity="warning",
    ),
    hit(
        LARGER,
        producer(None, {"producer.batch.split.total": [0, 2, 0, 0]}, cluster_id="two"),
        severity="error",
    ),
    miss(
        LARGER, producer({"max.request.size": ("1048576", "default")}, cluster_id="two")
    ),
    # Before it was compressed.
    miss(
        LARGER,
        producer(
            {"compression.type": "zstd"},
            {"producer.record.size.max": 2e6},
            cluster_id="two",
        ),
    ),
    miss(LARGER, producer({"max.request.size": "5000000"}, cluster_id="none known")),
    hit(
        LIMITS,
        producer(
            {"transaction.timeout.ms": "9000000"},
            transactional_id="t",
            cluster_id="two",
        ),
        severity="error",
    ),
    miss(LIMITS, producer({"transaction.timeout.ms": "9000000"}, cluster_id="two")),
    hit(
        LIMITS,
        consumer({"session.timeout.ms": "3000"}, group_id="g", cluster_id="two"),
        severity="error",
    ),
    miss(
        LIMITS,
        consumer(
            {"session.timeout.ms": "3000", "group.protocol": "consumer"},
            group_id="g",
            cluster_id="two",
        ),
    ),
    miss(
        LIMITS,
        consumer({"session.timeout.ms": "45000"}, group_id="g", cluster_id="two"),
    ),
    hit(
        LIMITS,
        producer(
            {"connections.max.idle.ms": "600000"}, {CREATED: [1] * 4}, cluster_id="two"
        ),
        severity="advice",
    ),
    # Nobody sees it, or it begins.
    miss(
        LIMITS,
        producer(
            {"connections.max.idle.ms": "600000"}, {CREATED: [0] * 4}, cluster_id="two"
        ),
    ),
    miss(
        LIMITS,
        producer(
            {"connections.max.idle.ms": "600000"},
            {CREATED: [1] * 4},
            cluster_id="two",
            first_seen=ago(minutes=20),
        ),
    ),
    miss(
        LIMITS,
        producer(
            {"connections.max.idle.ms": "540000"}, {CREATED: [1] * 4}, cluster_id="two"
        ),
    ),
    hit(
        ISR,
        producer({"acks": "all"}, cluster_id="two"),
        producer({"acks": "-1"}, cluster_id="two"),
        subject="cluster/two",
        severity="warning",
    ),
    hit(
        ISR,
        producer({"acks": "all"}, cluster_id="single copies"),
        subject="cluster/single copies",
        severity="advice",
    ),
    miss(ISR, producer({"acks": "1"}, cluster_id="lazy"), subject="cluster/lazy"),
    miss(ISR, producer({"acks": "all"}, cluster_id="safe"), subject="cluster/safe"),
    miss(ISR, producer({"acks": "all"}, cluster_id="one"), subject="cluster/one"),
    hit(
        LOCK,
        client("", "share_consumer", metrics={SHARE_BETWEEN: 29e3}, cluster_id="two"),
    ),
    miss(
        LOCK,
        client("", "share_consumer", metrics={SHARE_BETWEEN: 9e3}, cluster_id="two"),
    ),
    miss(
        LOCK,
        client(
            "",
            "share_consumer",
            metrics={SHARE_BETWEEN: 29e3, "consumer.share.poll.idle.ratio.avg": 0.99},
            cluster_id="two",
        ),
    ),
    unknown(LOCK, client("", "share_consumer", metrics={POLL: 0.1}, cluster_id="two")),
)

_CLUSTERS = {
    # cluster: brokers, min.insync.replicas, default.replication.factor
    "two": (2, 1, 3),
    "single copies": (2, 1, 1),
    "lazy": (2, 1, 3),
    "safe": (3, 2, 3),
    "one": (1, 1, 1),
}
_CONFIGS = {
    "message.max.bytes": "1048588",
    "transaction.max.timeout.ms": "900000",
    "group.min.session.timeout.ms": "6000",
    "group.max.session.timeout.ms": "1800000",
    "connections.max.idle.ms": "600000",
    "group.share.record.lock.duration.ms": "30000",
}


def quota_row(client_id, principal="User:a", **fields):
    return {
        "cluster_id": "quoted",
        "principal": principal,
        "client_id": client_id,
        "client_source_address": "",
        "quota_key": "producer_byte_rate",
        "limit": 1e6,
        "as_of": ago(minutes=1),
    } | fields


MORE = (
    (
        BROKER_REGISTRATIONS,
        *(
            {
                "cluster_id": cluster_id,
                "broker_id": broker,
                "incarnation_id": f"i{broker}",
                "is_current": True,
            }
            for cluster_id, (brokers, _, _) in _CLUSTERS.items()
            for broker in range(brokers)
        ),
    ),
    (
        BROKER_STATIC_CONFIGS,
        *(
            {
                "cluster_id": cluster_id,
                "broker_id": broker,
                "incarnation_id": f"i{broker}",
                "config_name": name,
                "config_value": str(value),
                "report": "describe_configs",
                "is_current": True,
            }
            for cluster_id, (brokers, in_sync, copies) in _CLUSTERS.items()
            for broker in range(brokers)
            for name, value in (
                *_CONFIGS.items(),
                ("min.insync.replicas", in_sync),
                ("default.replication.factor", copies),
            )
        ),
    ),
    (
        EFFECTIVE_QUOTAS,
        quota_row(
            "near", quota_id="near:", entity_path="users/a", use=0.9, used_rate=9e5
        ),
        quota_row(
            "far", quota_id="far:", entity_path="users/b", use=0.2, used_rate=2e5
        ),
        quota_row("hot", quota_id="held:", use=0.9, throttled_ms=40.0),
        quota_row(
            "producer-1",
            "User:c",
            quota_id=":producer-1",
            entity_path="clients/producer-1",
            client_id_tag="producer-1",
        ),
        *(
            quota_row(
                f"held {number}",
                "User:held",
                quota_id="held:",
                entity_path="users/held",
                shared_by=3,
            )
            for number in (1, 2, 3)
        ),
    ),
)
"""Brokers of several clusters, and quotas."""
