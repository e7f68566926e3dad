"""Cases of causes, clusters and the proxy: rules that others could mistake."""

from pipelines.tables.cluster import EFFECTIVE_QUOTAS
from pipelines.tables.traffic import CLIENT_TRAFFIC
from tests.support.spark.finding_cases_c import (
    BETWEEN,
    HELD,
    LATENCY_LIMIT,
    LIBRDKAFKA,
    POLL,
    POLLS,
    QUOTED,
    SHARES,
    SLOWEST,
    TIMEOUT,
    consumer,
    producer,
    quota_row,
    stream,
)
from tests.support.spark.finding_fleet import ago, client, hit, miss

SENDS = "producer-sends-uncompressed"

CASES = (
    hit(SENDS, stream(None, 1.0, wire={"compression.type": "none"})),
    hit(
        SENDS,
        client(
            "raw",
            wire={"compression.type": "none", "acks": "all"},
            software=LIBRDKAFKA,
            pushes=0,
        ),
        severity="advice",
    ),
    miss(SENDS, stream(None, 1.0, wire={"compression.type": "none"}, out=1e6)),
    miss(SENDS, stream(None, 0.4, wire={"compression.type": "lz4"})),
    miss(SENDS, stream("none", 1.0, wire={"compression.type": "none"})),
    # The quota is the cause, and a longer timeout no help.
    miss(
        TIMEOUT,
        producer(
            LATENCY_LIMIT, {SLOWEST: 29_000, f"{HELD}.avg": 80, f"{HELD}.max": 400}
        ),
    ),
    hit(
        POLLS,
        consumer(
            {"max.poll.interval.ms": "6000"},
            {BETWEEN: 8_000, POLL: 0.1},
            group_id="g",
            client_id="short interval",
        ),
    ),
    miss("consumer-poll-interval-short", subject="short interval"),
    # The quota is of another user, and of another cluster.
    miss(
        SHARES,
        client("producer-2", principal="User:d", **QUOTED),
        client("producer-3", principal="User:c"),
        subject="client-id/producer-2",
    ),
    miss(SHARES, subject="client-id/producer-3"),
)

MORE = (
    (
        CLIENT_TRAFFIC,
        {
            "cluster_id": "cluster-1",
            "principal": "User:alice",
            "client_id": "raw",
            "window_start": ago(minutes=10),
            "window_ms": 60_000,
            "produced_bytes": 4_000_000_000,
            "received_at": ago(minutes=9),
        },
    ),
    (
        EFFECTIVE_QUOTAS,
        *(
            quota_row(
                client_id,
                principal,
                quota_id=f"{principal}:{client_id}",
                entity_path=f"users/{principal}/clients/{client_id}",
                client_id_tag=client_id,
            )
            for client_id, principal in (
                ("producer-2", "User:e"),
                ("producer-3", "User:c"),
            )
        ),
    ),
)
"""Traffic of clients, and quotas of others."""
